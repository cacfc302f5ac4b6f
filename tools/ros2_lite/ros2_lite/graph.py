# SPDX-License-Identifier: Apache-2.0
"""A short-lived node that looks at the ROS graph without any daemon."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSDurabilityPolicy, QoSProfile, QoSReliabilityPolicy
from rclpy.signals import SignalHandlerOptions

STEP = 0.05  # s; how long a signal may have to wait for us
SETTLED = 1.0  # s without a change after which the graph counts as known
PUBLISHERS = 0.5  # s in which the publishers of a known topic should be found


def add_arguments(parser: argparse.ArgumentParser, seconds: float = 5.0) -> None:
    """Declare the options that all graph verbs share."""
    parser.add_argument(
        "--spin-time",
        type=float,
        default=seconds,
        metavar="S",
        help="give discovery at most this long [s] (default %(default)s)",
    )
    parser.add_argument("--no-daemon", action="store_true", help="there is never one")


class Graph:
    """The node, and waiting with it."""

    def __init__(self, node: Node, executor: SingleThreadedExecutor, spin_time: float) -> None:
        self.node = node
        self.spin_time = spin_time
        self._executor = executor
        self._signal: int | None = None

    def end(self, signum: int, _: object) -> None:
        """Signal handler: the next turn of `spin` ends the command.

        An exception out of the handler itself may come up inside a destructor or a callback of
        rclpy, where it is lost; the second signal does raise, in case nothing is spinning.
        """
        if self._signal is not None:
            raise KeyboardInterrupt
        self._signal = signum

    def _heed(self) -> None:
        if self._signal == signal.SIGINT:
            raise KeyboardInterrupt
        if self._signal is not None:
            sys.exit(128 + self._signal)

    def spin(self, condition: Callable[[], object], seconds: float | None = None) -> bool:
        """Spin until the condition holds; False where it does not within `seconds`."""
        end = None if seconds is None else time.monotonic() + seconds
        while not condition():
            self._heed()
            if end is not None and time.monotonic() >= end:
                return False
            self._executor.spin_once(timeout_sec=STEP)
        return True

    def settle(self) -> None:
        """Wait until others were found and nothing new appears, at most the spin time."""
        last: list[Any] = [None, time.monotonic()]

        def unchanged() -> bool:
            now = (self.topics(hidden=True), self.services(hidden=True), self.nodes(hidden=True))
            if now != last[0]:
                last[:] = [now, time.monotonic()]
            # A node is known before its services are, and nearly every node has some.
            return len(now[2]) > 1 and bool(now[1]) and time.monotonic() - float(last[1]) >= SETTLED

        self.spin(unchanged, self.spin_time)

    def topics(self, *, hidden: bool = False) -> list[tuple[str, list[str]]]:
        """Return (topic, types) sorted by name."""
        found = self.node.get_topic_names_and_types()
        return sorted((n, list(t)) for n, t in found if hidden or not is_hidden(n))

    def services(self, *, hidden: bool = False) -> list[tuple[str, list[str]]]:
        """Return (service, types) sorted by name."""
        found = self.node.get_service_names_and_types()
        return sorted((n, list(t)) for n, t in found if hidden or not is_hidden(n))

    def nodes(self, *, hidden: bool = False) -> list[str]:
        """Return the full names of nodes, sorted."""
        found = self.node.get_node_names_and_namespaces()
        names = [f"{namespace.rstrip('/')}/{name}" for name, namespace in found]
        return sorted(name for name in names if hidden or not is_hidden(name))

    def type_of_topic(self, topic: str, seconds: float | None) -> str:
        """Return the type of a topic; RuntimeError where unknown after `seconds` (None: wait)."""

        def types() -> list[str]:
            return dict(self.topics(hidden=True)).get(topic, [])

        if seconds is None and not self.spin(types, self.spin_time):
            print(f"WARNING: topic [{topic}] does not appear to be published yet", flush=True)
        if not self.spin(types, seconds):
            known = ", ".join(name for name, _ in self.topics())
            raise RuntimeError(
                f"Could not determine the type for the passed topic '{topic}' within {seconds:g} s;"
                f" known topics: {known}"
            )
        if len(types()) > 1:
            raise RuntimeError(f"topic '{topic}' has several types: {', '.join(types())}")
        return types()[0]

    def matching_qos(self, topic: str, depth: int) -> QoSProfile:
        """
        Return a QoS profile that receives from every publisher of the topic, as the real one.

        Reliable (transient local) only where all publishers are so.
        """
        self.spin(lambda: self.node.count_publishers(topic), PUBLISHERS)
        offered = [info.qos_profile for info in self.node.get_publishers_info_by_topic(topic)]
        reliable = bool(offered) and all(
            qos.reliability == QoSReliabilityPolicy.RELIABLE for qos in offered
        )
        local = bool(offered) and all(
            qos.durability == QoSDurabilityPolicy.TRANSIENT_LOCAL for qos in offered
        )
        qos_ = QoSProfile(depth=depth)
        qos_.reliability = (
            QoSReliabilityPolicy.RELIABLE if reliable else QoSReliabilityPolicy.BEST_EFFORT
        )
        qos_.durability = (
            QoSDurabilityPolicy.TRANSIENT_LOCAL if local else QoSDurabilityPolicy.VOLATILE
        )
        return qos_


def is_hidden(name: str) -> bool:
    """Return whether any part of the name begins with an underscore."""
    return any(part.startswith("_") for part in name.split("/"))


def absolute(name: str) -> str:
    """Return `name` with a leading slash."""
    return name if name.startswith("/") else f"/{name}"


@contextlib.contextmanager
def graph(args: argparse.Namespace) -> Iterator[Graph]:
    """Join the ROS graph; SIGINT and SIGTERM leave it in good order."""
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    executor = SingleThreadedExecutor()
    before: dict[int, Any] = {}
    try:
        node = rclpy.create_node(
            f"_ros2_lite_{os.getpid()}", start_parameter_services=False, enable_rosout=False
        )
        executor.add_node(node)
        found = Graph(node, executor, args.spin_time)
        for signum in (signal.SIGINT, signal.SIGTERM):
            before[signum] = signal.signal(signum, found.end)
        yield found
        node.destroy_node()
    finally:
        executor.shutdown(timeout_sec=0.5)
        rclpy.try_shutdown()
        for number, handler in before.items():
            signal.signal(number, handler)
