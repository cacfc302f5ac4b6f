# SPDX-License-Identifier: Apache-2.0
"""Plays the follower's telemetry and labels of an episode once somebody listens, then ends."""

from __future__ import annotations

import importlib
import sys
import time
from pathlib import Path
from typing import Any

import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile

from na_core.nad.errors import NadError
from na_core.nad.play import Due, Schedule, run
from na_core.nad.raw_bag import RawBag
from na_inference.ros_helpers import declare

TELEMETRY = "/follower/telemetry"
WAIT = 30.0  # s for a listener; loading a model takes a while


class BagReplayNode(Node):
    """Publishers of raw messages, as recorded: stamps are those of the measurements."""

    def __init__(self, **kwargs: Any) -> None:
        """Raises ValueError or NadError when the bag cannot be played."""
        super().__init__("bag_replay_node", **kwargs)
        bag = declare(self, "bag", "", "folder of the episode")
        rate = declare(self, "rate", 1.0, "speed, 1 = as recorded", bounds=(0.01, 1000.0))
        only = declare(
            self, "topics", f"^({TELEMETRY}|/nad/label)$", "topics that match are played"
        )
        if not bag:
            raise ValueError("parameter bag is empty: give the folder of an episode")
        self.schedule = Schedule(RawBag(Path(bag)), rate, only=only)
        self._publishers_by_name: dict[str, Any] = {}
        for topic in self.schedule.topics:
            package, _, name = topic.type.split("/")
            kind = getattr(importlib.import_module(f"{package}.msg"), name)
            latched = topic.name.startswith("/nad/")
            durability = DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE
            qos = QoSProfile(depth=1 if latched else 1000, durability=durability)
            self._publishers_by_name[topic.name] = self.create_publisher(kind, topic.name, qos)

    def wait_for_listener(self, seconds: float = WAIT) -> bool:
        """Wait until somebody subscribes to the telemetry; False when nobody did."""
        publisher = self._publishers_by_name.get(TELEMETRY)
        deadline = time.monotonic() + seconds
        while publisher is not None and not publisher.get_subscription_count():
            if time.monotonic() > deadline:
                return False
            rclpy.spin_once(self, timeout_sec=0.05)
        return True

    def publish(self, due: Due) -> None:
        """Publish the bytes of one message."""
        self._publishers_by_name[due.topic.name].publish(due.cdr)

    def play(self) -> int:
        """Play once; returns the number of messages."""

        def wait(seconds: float) -> bool:
            time.sleep(seconds)
            return bool(rclpy.ok())

        return run(self.schedule, self.publish, lambda start: None, time.monotonic, wait)


def main() -> None:
    """Entry point of the executable bag_replay_node."""
    rclpy.init()
    code = 0
    try:
        node = BagReplayNode()
        if node.wait_for_listener():
            node.get_logger().info(f"{node.play()} messages played")
            for publisher in node._publishers_by_name.values():
                publisher.wait_for_all_acked()
        else:
            node.get_logger().error(f"nobody subscribed to {TELEMETRY} within {WAIT:g} s")
            code = 1
    except (ValueError, OSError, NadError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        code = 1
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        rclpy.try_shutdown()
    sys.exit(code)


if __name__ == "__main__":
    main()
