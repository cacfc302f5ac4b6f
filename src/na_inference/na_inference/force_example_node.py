# SPDX-License-Identifier: Apache-2.0
"""Example: a loop that uses state and force, and what it does while there is no force."""

from __future__ import annotations

import numpy as np
import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node

from na_inference.client import ForceSubscriber

PERIOD = 0.1  # s


class ForceExampleNode(Node):
    """Says ten times a second what a policy would see."""

    def __init__(self) -> None:
        super().__init__("force_example_node")
        self.force = ForceSubscriber(self)
        self.create_timer(PERIOD, self._on_timer)

    def _on_timer(self) -> None:
        latest = self.force.latest(max_age=0.1)
        if latest is None:
            text = "no tick within 0.1 s: a policy must stop pushing"
        elif not latest.valid:
            text = f"no force ({latest.validity.text}): a policy must not rely on it"
        elif latest.in_contact:
            sigma = np.sqrt(np.diag(latest.covariance))
            x, y, z = latest.force
            text = f"contact: [{x:+.2f}, {y:+.2f}, {z:+.2f}] N ± {sigma.max():.2f} N"
        else:
            text = f"free (probability of contact {latest.probability:.2f})"
        self.get_logger().info(text)


def main() -> None:
    """Entry point of the executable force_example_node."""
    rclpy.init()
    try:
        rclpy.spin(ForceExampleNode())
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        rclpy.try_shutdown()


if __name__ == "__main__":
    main()
