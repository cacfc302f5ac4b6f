# SPDX-License-Identifier: Apache-2.0
"""Example controller: move the tip until it feels a force, then hold that force by admittance."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from na_core.kinematics import Kinematics

if TYPE_CHECKING:
    from na_core.robot_spec import RobotSpec

Array = NDArray[np.float64]

DAMPING = 0.02  # m/rad, of the least-squares inverse of the Jacobian near singular poses
LONGEST_STEP = 0.1  # s; after a longer pause the motion goes on slowly, not with a leap


class Phase(StrEnum):
    """What the controller is doing."""

    APPROACH = "approach"
    HOLD = "hold"
    WAIT = "wait"  # no valid force: nothing moves
    END = "end"  # travelled as far as allowed


@dataclass(frozen=True)
class PressSettings:
    """How to press.

    Attributes:
        direction: of the motion, base axes (3,), made a unit vector.
        force: wanted size of the reaction along the direction [N].
        speed: while nothing is touched, and at most [m/s].
        compliance: speed per force that is missing [m/s per N].
        travel: the goal moves at most this far from where it began [m].
    """

    direction: tuple[float, float, float] = (0.0, 0.0, -1.0)
    force: float = 4.0
    speed: float = 0.02
    compliance: float = 0.004
    travel: float = 0.15

    def __post_init__(self) -> None:
        """Raise ValueError where a number makes no sense."""
        for name in ("force", "speed", "compliance", "travel"):
            if not getattr(self, name) > 0.0:
                raise ValueError(f"{name} {getattr(self, name)}: expected a positive number")
        if not np.linalg.norm(self.direction) > 0.0:
            raise ValueError(f"direction {self.direction}: expected a vector other than zero")


class PressAndHold:
    """Goals for the arm's joints, one per measured tick.

    The environment pushes back, so the reaction along the motion is −direction · force. Until the
    contact gate opens the tip moves at `speed`; afterwards with compliance × (wanted − felt), which
    also yields when the surface comes closer. Without a valid force the goal stays where it is.
    Joints of the gripper keep theirs.
    """

    def __init__(self, spec: RobotSpec, settings: PressSettings | None = None) -> None:
        self.settings = settings or PressSettings()
        self.phase = Phase.WAIT
        self.travelled = 0.0
        self.felt = float("nan")
        self._kinematics = Kinematics(spec)
        self._arm = np.array([joint.role == "arm" for joint in spec.joints])
        self._lower = np.array([joint.lower for joint in spec.joints])
        self._upper = np.array([joint.upper for joint in spec.joints])
        direction = np.asarray(self.settings.direction, dtype=np.float64)
        self._direction = direction / np.linalg.norm(direction)
        self._goal: Array | None = None

    def step(self, dt: float, goal: Array, force: Array, in_contact: bool, valid: bool) -> Array:
        """Return the next goal (n,) [rad or m].

        Args:
            dt: since the last call [s].
            goal: the goal that the follower holds now (n,), taken over at the first call.
            force: gated, of the environment on the end effector (3,), base axes [N].
            in_contact, valid: of the same tick.
        """
        if self._goal is None:
            self._goal = np.array(goal, dtype=np.float64)
        if not valid:
            self.phase, self.felt = Phase.WAIT, float("nan")
            return self._goal
        wanted = self.settings
        self.felt = -float(self._direction @ force)
        speed = wanted.speed
        self.phase = Phase.APPROACH
        if in_contact:
            self.phase = Phase.HOLD
            missing = wanted.compliance * (wanted.force - self.felt)
            speed = float(np.clip(missing, -wanted.speed, wanted.speed))
        way = speed * min(dt, LONGEST_STEP)
        if self.travelled + way > wanted.travel:
            self.phase = Phase.END
            return self._goal
        self.travelled += way
        self._goal = np.clip(self._goal + self._joints(self._goal, way), self._lower, self._upper)
        return self._goal

    def _joints(self, goal: Array, way: float) -> Array:
        """Joint step (n,) that moves the tip by `way` [m] along the direction."""
        jacobian = np.asarray(self._kinematics.jacobian(goal))[:3] * self._arm
        inner = jacobian @ jacobian.T + DAMPING**2 * np.eye(3)
        step = jacobian.T @ np.linalg.solve(inner, way * self._direction)
        return np.asarray(step, dtype=np.float64)
