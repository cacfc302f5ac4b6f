# SPDX-License-Identifier: Apache-2.0
"""A box that the tip of the arm does not leave: goals are moved to the nearest pose inside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from na_core.kinematics import Kinematics
from na_core.robot_types import RobotSpec

Array = NDArray[np.float64]

TOLERANCE = 0.001  # m outside that counts as inside
ITERATIONS = 8
DAMPING = 1e-4  # m², keeps the step small near singular poses


class WorkspaceBox:
    """Limits of the end effector's origin in base axes, applied to goals, never to readings.

    Attributes:
        lower, upper: corners (3,) [m].
        cut: number of goals that had to be moved.

    """

    def __init__(self, spec: RobotSpec, lower: Sequence[float], upper: Sequence[float]) -> None:
        """ValueError unless lower < upper and the park pose lies inside."""
        self.lower, self.upper = np.array(lower, dtype=float), np.array(upper, dtype=float)
        if self.lower.shape != (3,) or self.upper.shape != (3,):
            raise ValueError(f"workspace corners {lower} and {upper}: expected three numbers each")
        if not (self.lower < self.upper).all():
            raise ValueError(
                f"workspace corners {list(lower)} and {list(upper)}: expected lower < upper on "
                "every axis [m]"
            )
        self._kinematics = Kinematics(spec)
        self._arm = np.array([joint.role == "arm" for joint in spec.joints])
        self._low, self._high = spec.lower, spec.upper
        self.cut = 0
        home = self._kinematics.fk(spec.home).position
        if self._outside(home) > TOLERANCE:
            raise ValueError(
                f"workspace {self.lower.tolist()} to {self.upper.tolist()} m does not contain the "
                f"park pose of {spec.robot}, tip at {np.round(home, 3).tolist()}: widen it"
            )

    def _outside(self, tip: Array) -> float:
        """How far the tip is outside [m]; 0 inside."""
        return float(np.linalg.norm(tip - np.clip(tip, self.lower, self.upper)))

    def apply(self, goal: Array, last: Array) -> Array:
        """Return the goal (n,) whose tip is inside.

        Args:
            goal: asked for (n,) [rad or m].
            last: goal of the tick before (n,), where one may stay.

        Slides along the wall where that is possible, else goes as far from `last` towards `goal`
        as it can; from outside, only ways that lead in.

        """
        if self._outside(self._kinematics.fk(goal).position) <= TOLERANCE:
            return goal
        self.cut += 1
        slid = self._slide(goal)
        if slid is not None:
            return slid
        start = self._outside(self._kinematics.fk(last).position)
        good, bad = 0.0, 1.0
        for _ in range(12):
            middle = 0.5 * (good + bad)
            tip = self._kinematics.fk(last + middle * (goal - last)).position
            if self._outside(tip) <= max(TOLERANCE, start):
                good = middle
            else:
                bad = middle
        result = np.array(goal)
        result[self._arm] = (last + good * (goal - last))[self._arm]
        return result

    def _slide(self, goal: Array) -> Array | None:
        """Nearest pose whose tip is on the box, by damped least squares; None: not found."""
        pose = np.clip(goal, self._low, self._high)
        for _ in range(ITERATIONS):
            tip = self._kinematics.fk(pose).position
            error = np.clip(tip, self.lower, self.upper) - tip
            if float(np.linalg.norm(error)) <= TOLERANCE:
                return pose
            jacobian = self._kinematics.jacobian(pose)[:, self._arm]
            square = jacobian @ jacobian.T + DAMPING * np.eye(3)
            pose = pose.copy()
            pose[self._arm] += jacobian.T @ np.linalg.solve(square, error)
            pose = np.clip(pose, self._low, self._high)
        return None


def limited(spec: RobotSpec, velocity_share: float = 1.0, margin: float = 0.0) -> RobotSpec:
    """Return the robot with slower joints and narrower limits, for shaping commands.

    Args:
        spec: the robot.
        velocity_share: of every velocity limit, above 0 and at most 1.
        margin: kept clear of both joint limits [rad of the servo].

    Raises ValueError when nothing is left, or the park pose is cut off.

    """
    if not 0.0 < velocity_share <= 1.0:
        raise ValueError(f"velocity_share is {velocity_share}, expected above 0 and at most 1")
    joints = []
    for joint, home in zip(spec.joints, spec.home, strict=True):
        lower, upper = joint.lower + margin * joint.ratio, joint.upper - margin * joint.ratio
        if margin < 0.0 or not lower <= home <= upper:
            raise ValueError(
                f"limit_margin is {margin} rad: {joint.name} would keep {lower:.4g} to {upper:.4g} "
                f"without its park position {home:.4g}; expected a smaller one, 0 or more"
            )
        speed = joint.velocity_limit * velocity_share
        joints.append(replace(joint, lower=lower, upper=upper, velocity_limit=speed))
    return replace(spec, joints=tuple(joints))
