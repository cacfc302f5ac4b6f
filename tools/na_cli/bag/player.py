# SPDX-License-Identifier: Apache-2.0
"""`./na bag play`: publish a bag with its original timing (the only action that needs rclpy)."""

from __future__ import annotations

import argparse
import importlib
import threading
import time
from pathlib import Path
from typing import Any

from na_core.nad.play import Due, LoopStart, Schedule, run
from na_core.nad.raw_bag import RawBag, RawTopic


def add(actions: Any) -> None:
    """Add the parser."""
    parser = actions.add_parser("play", help="publish a bag with its original timing")
    parser.add_argument("bag", type=Path)
    parser.add_argument("--rate", type=float, default=1.0, help="factor on the speed (default 1)")
    parser.add_argument("--loop", type=int, default=1, metavar="N", help="passes; 0: for ever")
    parser.add_argument(
        "--loop-gap", type=float, default=1.0, help="pause between passes [s] (default 1)"
    )
    parser.add_argument("--topics", default="", metavar="REGEX", help="only topics that match")
    parser.add_argument("--namespace", default="", help="put before every topic")
    parser.add_argument(
        "--reset-service",
        action="append",
        default=[],
        metavar="NAME",
        help="std_srvs/Trigger called at the start of every pass, so that a consumer forgets its "
        "history; may be repeated",
    )
    parser.add_argument("--wait", type=float, default=0.5, help="time for discovery [s]")
    parser.set_defaults(function=play)


def play(arguments: argparse.Namespace) -> int:
    """Publish every message as recorded; returns 0 also when interrupted."""
    schedule = Schedule(
        RawBag(arguments.bag), arguments.rate, arguments.loop, arguments.loop_gap, arguments.topics
    )
    import rclpy

    rclpy.init()
    node = rclpy.create_node("bag_player")
    stop = threading.Event()
    try:
        player = _Player(node, schedule.topics, arguments.namespace, arguments.reset_service)
        stop.wait(arguments.wait)
        count = run(
            schedule,
            player.publish,
            player.reset,
            time.monotonic,
            lambda seconds: not stop.wait(seconds) and rclpy.ok(),
        )
        print(f"{count} messages published")
    except KeyboardInterrupt:
        print("stopped")
    finally:
        node.destroy_node()
        rclpy.try_shutdown()
    return 0


class _Player:
    """Publishers of raw CDR, one per topic, with the QoS that was recorded as offered."""

    def __init__(
        self, node: Any, topics: list[RawTopic], namespace: str, reset_services: list[str]
    ) -> None:
        from std_srvs.srv import Trigger

        self._node = node
        self._publishers: dict[str, Any] = {}
        prefix = "/" + namespace.strip("/") if namespace.strip("/") else ""
        for topic in topics:
            package, _, name = topic.type.split("/")
            try:
                kind = getattr(importlib.import_module(f"{package}.msg"), name)
            except (ImportError, AttributeError):
                print(f"note: {topic.name} is not played: {topic.type} is not installed")
                continue
            qos = _profile(topic)
            self._publishers[topic.name] = node.create_publisher(kind, prefix + topic.name, qos)
        self._resets = [node.create_client(Trigger, name) for name in reset_services]
        self._request = Trigger.Request

    def publish(self, due: Due) -> None:
        """Publish the bytes as they were recorded: stamps are those of the measurement."""
        publisher = self._publishers.get(due.topic.name)
        if publisher is not None:
            publisher.publish(due.cdr)

    def reset(self, start: LoopStart) -> None:
        """Ask consumers to forget; one that does not answer within a second is named."""
        import rclpy

        for client in self._resets:
            if not client.wait_for_service(timeout_sec=1.0):
                print(f"note: no service {client.srv_name}; its history is not reset")
                continue
            future = client.call_async(self._request())
            rclpy.spin_until_future_complete(self._node, future, timeout_sec=1.0)
            if not future.done() or future.result() is None or not future.result().success:
                print(f"note: {client.srv_name} did not reset in pass {start.loop}")


def _profile(topic: RawTopic) -> Any:
    from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

    offered = topic.qos[0] if topic.qos else {}
    reliable = str(offered.get("reliability", "reliable")) not in ("best_effort", "2")
    latched = str(offered.get("durability", "volatile")) in ("transient_local", "1")
    depth = int(offered.get("depth") or 0)
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST,
        depth=max(depth, 1 if latched else 100),
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )
