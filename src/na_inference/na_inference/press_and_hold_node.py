# SPDX-License-Identifier: Apache-2.0
"""Example: press against a surface until a force is felt, and hold it; drives /follower/goal."""

from __future__ import annotations

from typing import Any

import numpy as np
import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node

from na_core.robot_spec import load_robot_spec
from na_inference.client import ForceSubscriber
from na_inference.press_and_hold import PressAndHold, PressSettings
from na_msgs.msg import JointGoal

PERIOD = 1.0 / 60.0  # s between looks for a new tick


class PressAndHoldNode(Node):
    """One goal per tick of telemetry and force; silence of either is silence here.

    The follower must take its goals from the topic (`teleop.launch.py goal_source:=topic`). It
    holds and parks by itself when no goal comes.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__("press_and_hold_node", **kwargs)
        value = self.declare_parameter
        spec = load_robot_spec(str(value("robot", "omx").value))
        direction = value("direction", [0.0, 0.0, -1.0]).value
        self.controller = PressAndHold(
            spec,
            PressSettings(
                direction=(float(direction[0]), float(direction[1]), float(direction[2])),
                force=float(value("force", 4.0).value),
                speed=float(value("speed", 0.02).value),
                travel=float(value("travel", 0.15).value),
            ),
        )
        self._names = spec.names
        self._force = ForceSubscriber(self)
        self._goals = self.create_publisher(JointGoal, "follower/goal", 1)
        self._stamp = 0
        self._phase = self.controller.phase
        self.create_timer(PERIOD, self._on_timer)

    def _on_timer(self) -> None:
        latest = self._force.latest(max_age=0.1)
        if latest is None or latest.stamp_ns == self._stamp:
            return  # nothing new is known, so nothing new is asked for
        if not np.isfinite(latest.position).all():
            return  # a servo did not answer this tick
        dt = 1e-9 * (latest.stamp_ns - self._stamp) if self._stamp else 0.0
        self._stamp = latest.stamp_ns
        goal = self.controller.step(
            dt, latest.position, latest.force, latest.in_contact, latest.valid
        )
        self._goals.publish(
            JointGoal(name=list(self._names), position=[float(value) for value in goal])
        )
        if self.controller.phase != self._phase:
            self._phase = self.controller.phase
            self.get_logger().info(f"{self._phase}: {self.controller.felt:.2f} N felt")


def main() -> None:
    """Entry point of the executable press_and_hold_node."""
    rclpy.init()
    try:
        rclpy.spin(PressAndHoldNode())
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        rclpy.try_shutdown()


if __name__ == "__main__":
    main()
