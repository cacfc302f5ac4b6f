# SPDX-License-Identifier: Apache-2.0
"""From where the leader is to where the follower shall be: joint, scaled, mirrored, with a clutch.

`joint` is absolute: the follower takes the leader's pose, and after the clutch was open it ramps
back to it. `scaled` and `mirrored` are relative to an anchor, taken whenever the clutch closes:
the follower repeats the leader's motion since then (smaller, larger, or mirrored), so that nothing
moves when it closes. The gripper is always absolute.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from na_core.kinematics import Kinematics
from na_core.robot_types import RobotSpec

Array = NDArray[np.float64]


class Mode(StrEnum):
    """How the follower follows."""

    JOINT = "joint"
    SCALED = "scaled"
    MIRRORED = "mirrored"


@dataclass(frozen=True, slots=True)
class Mapped:
    """One goal.

    Attributes:
        goal: for the follower (n,) [rad or m], not yet limited.
        ramp: the clutch has just closed in `joint` mode: blend from where the follower stands.

    """

    goal: Array
    ramp: bool = False


def mirror_signs(spec: RobotSpec) -> Array:
    """Sign per joint (n,) of the motion mirrored about the base's x-z plane.

    Mirroring keeps a turn about y and reverses turns about x and z; the axes are those of the
    joints at zero. ValueError for a joint whose axis has both kinds of components.
    """
    axes = Kinematics(spec).axes(np.zeros(spec.n))
    signs = np.ones(spec.n)
    for i, joint in enumerate(spec.joints):
        if joint.role == "gripper" or joint.type != "revolute":
            continue
        axis = axes[:, i]
        if abs(axis[1]) > 0.999:
            continue
        if abs(axis[1]) > 0.05:
            raise ValueError(
                f"joint {joint.name} of {spec.robot} turns about {np.round(axis, 2).tolist()}: "
                "mirrored teleoperation needs axes along y or across it; use mode joint or scaled"
            )
        signs[i] = -1.0
    return signs


class TeleopMap:
    """Maps leader positions to follower goals; holds anchor and clutch.

    Attributes:
        mode: how the follower follows.
        closed: the clutch is closed: the leader drives.

    """

    def __init__(self, spec: RobotSpec, mode: Mode = Mode.JOINT, scale: float = 1.0) -> None:
        """`scale`: of the motion in mode `scaled`. ValueError when it makes no sense."""
        if not 0.0 < scale <= 4.0:
            raise ValueError(f"teleop scale is {scale}, expected more than 0 and at most 4")
        if mode is Mode.JOINT and scale != 1.0:
            raise ValueError(f"teleop scale is {scale} in mode joint, expected 1: use mode scaled")
        self.mode, self.closed = mode, True
        self._gain = np.full(spec.n, scale)
        if mode is Mode.MIRRORED:
            self._gain = scale * mirror_signs(spec)
        self._absolute = np.array([joint.role == "gripper" for joint in spec.joints])
        self._anchor: tuple[Array, Array] | None = None  # leader, follower
        self._frozen: Array | None = None
        self._ramp = False

    def open_clutch(self, follower: Array) -> None:
        """Let go: the follower stays at `follower` (n,) whatever the leader does."""
        self.closed = False
        self._frozen = np.array(follower, dtype=np.float64)

    def close_clutch(self) -> None:
        """Take hold again with the next leader position."""
        if not self.closed:
            self.closed = True
            self._anchor = None
            self._ramp = self.mode is Mode.JOINT

    def forget(self) -> None:
        """Take a new anchor with the next leader position, as when torque goes on."""
        self._anchor = None

    def map(self, leader: Array, follower: Array) -> Mapped:
        """Return the goal for a leader at `leader` (n,).

        `follower` (n,): the follower's goal now; where an anchor is due it is taken there.
        """
        if not self.closed:
            return Mapped(follower.copy() if self._frozen is None else self._frozen.copy())
        if self.mode is Mode.JOINT:
            ramp, self._ramp = self._ramp, False
            return Mapped(np.array(leader, dtype=np.float64), ramp)
        if self._anchor is None:
            if not np.isfinite(follower).all():
                return Mapped(np.full(leader.size, np.nan))  # which nobody follows
            self._anchor = (np.array(leader, dtype=np.float64), np.array(follower))
        start, stood = self._anchor
        goal = stood + self._gain * (leader - start)
        return Mapped(np.where(self._absolute, leader, goal))
