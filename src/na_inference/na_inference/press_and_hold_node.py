# SPDX-License-Identifier: Apache-2.0
"""Example: press against a surface until a force is felt, and hold it; drives follower/goal."""

from __future__ import annotations

from typing import Any

import numpy as np
import rclpy
from numpy.typing import NDArray
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node

from na_core.robot_spec import load_robot_spec
from na_inference.client import PolicyLoop, StateAndForce
from na_inference.press_and_hold import PressAndHold, PressSettings


class PressAndHoldNode(Node):
    """Parameters and a PolicyLoop around PressAndHold."""

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
        self._phase = self.controller.phase
        self._loop = PolicyLoop(self, spec.names, self._decide)

    def _decide(self, dt: float, tick: StateAndForce) -> NDArray[np.float64]:
        goal = self.controller.step(dt, tick.position, tick.force, tick.in_contact, tick.valid)
        if self.controller.phase != self._phase:
            self._phase = self.controller.phase
            self.get_logger().info(f"{self._phase}: {self.controller.felt:.2f} N felt")
        return goal


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
