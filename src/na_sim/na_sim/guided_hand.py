# SPDX-License-Identifier: Apache-2.0
"""A hand that moves an emulated arm where it is told, watching the arm as a person does."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from na_core.robot_spec import RobotSpec

Array = NDArray[np.float64]

SPEED = 1.6  # rad/s of the servo
LEAN_RATE = 2.0  # 1/s, how fast the hand makes up for an arm that hangs below where it should be
MAX_LEAN = 0.4  # rad of the servo
ARRIVED = 0.006  # rad of the servo, about four counts


class GuidedHand:
    """A compliant hand (na_sim.arm_plant) that visits poses one after the other.

    `see` returns the true joint positions (n,): a person sees the arm and leans against its
    weight until it is where it should be.
    """

    def __init__(self, robot: RobotSpec, see: Callable[[], Array] | None = None) -> None:
        """Rest at the robot's park pose."""
        self._unit = np.array([joint.ratio for joint in robot.joints])
        self._wanted = np.array(robot.home, dtype=np.float64)
        self._lean = np.zeros(robot.n)
        self._poses: list[Array] = []
        self._time = 0.0
        self.see = see

    def visit(self, *poses: Array) -> None:
        """Go to these poses (n,) [rad or m] in this order, instead of what was planned."""
        self._poses = [np.array(pose, dtype=np.float64) for pose in poses]

    @property
    def resting(self) -> bool:
        """Every pose was reached."""
        return not self._poses

    def __call__(self, time: float) -> Array:
        """Hand target (n,) [rad or m] at plant `time` [s]."""
        dt = min(max(time - self._time, 0.0), 0.1)
        self._time = max(time, self._time)
        if self._poses:
            step = SPEED * dt * self._unit
            self._wanted = self._wanted + np.clip(self._poses[0] - self._wanted, -step, step)
        seen = self._wanted if self.see is None else self.see()
        bound = MAX_LEAN * self._unit
        self._lean = np.clip(self._lean + LEAN_RATE * dt * (self._wanted - seen), -bound, bound)
        if self._poses and bool((np.abs(self._poses[0] - seen) < ARRIVED * self._unit).all()):
            self._poses.pop(0)
        return np.asarray(self._wanted + self._lean)
