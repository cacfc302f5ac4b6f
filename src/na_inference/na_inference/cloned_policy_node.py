# SPDX-License-Identifier: Apache-2.0
"""Example: run a cloned policy on the follower; drives follower/goal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import rclpy
from numpy.typing import NDArray
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node

from na_inference.client import PolicyLoop, StateAndForce
from na_inference.cloned_policy import ClonedPolicy


class ClonedPolicyNode(Node):
    """A PolicyLoop around a ClonedPolicy; one with force keeps its goal while there is none."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__("cloned_policy_node", **kwargs)
        path = Path(str(self.declare_parameter("policy", "policy.npz").value))
        self.policy = ClonedPolicy(path)
        self._goal: NDArray[np.float64] | None = None
        self._loop = PolicyLoop(self, self.policy.names, self._decide)

    def _decide(self, dt: float, tick: StateAndForce) -> NDArray[np.float64]:
        order = [tick.names.index(name) for name in self.policy.names]
        position = tick.position[order]
        if self._goal is None:
            self._goal = position
        driven = bool(np.isfinite(tick.goal).all())  # torque is on
        if driven and (tick.valid or not self.policy.with_force):
            self._goal = self.policy.step(position, self._goal, tick.force, tick.in_contact)
        return self._goal


def main() -> None:
    """Entry point of the executable cloned_policy_node."""
    rclpy.init()
    try:
        rclpy.spin(ClonedPolicyNode())
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        rclpy.try_shutdown()


if __name__ == "__main__":
    main()
