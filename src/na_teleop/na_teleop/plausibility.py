# SPDX-License-Identifier: Apache-2.0
"""Positions that cannot be: jumps no arm can make, and places it cannot reach.

An encoder that wraps, or a servo that comes back from a restart in another turn, answers fast and
with a good checksum, yet is wrong by a whole turn. Such a position must neither be published nor
become a goal.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from na_core.robot_spec import RobotSpec
from na_teleop.buses.base import BusSample

Array = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

JUMP_RAD = 0.5  # of the servo: always believed within one tick
SPEED_MARGIN = 2.0  # over the servo's speed without load: a hand can drive it faster than it runs
LONGEST_GAP_S = 0.2  # a joint not heard of for longer is not believed to have gone farther
WORKING_LOAD = 0.5  # share of full drive from which a motor works hard
STILL_RAD = 0.02  # of the servo: less motion than this is none
OUTSIDE_RAD = 1.2  # of the servo: how far beyond its limits a joint can be found


class PositionCheck:
    """Judges positions (n,) of one arm from tick to tick.

    Attributes:
        trouble: what is wrong now, for people; '' when nothing is.

    """

    def __init__(self, spec: RobotSpec) -> None:
        """Take limits and servo speeds from `spec`; nothing is known of the arm yet."""
        self._names = spec.names
        self._ratio = np.abs(np.array([joint.ratio for joint in spec.joints]))
        servos = [joint.servo for joint in spec.joints if joint.servo is not None]
        self._speed = SPEED_MARGIN * np.array([servo.info.no_load_speed for servo in servos])
        self._low = np.asarray(spec.lower) - OUTSIDE_RAD * self._ratio
        self._high = np.asarray(spec.upper) + OUTSIDE_RAD * self._ratio
        self._last: Array = np.full(spec.n, np.nan)
        self._at: Array = np.zeros(spec.n)
        self.trouble = ""

    def forget(self) -> None:
        """Judge the next positions by the limits alone, e.g. after a fault was cleared."""
        self._last[:] = np.nan

    def judge(self, sample: BusSample, now_s: float) -> BusSample:
        """Return the sample without what cannot be true: those joints become invalid."""
        known = np.isfinite(self._last)
        elapsed = np.minimum(now_s - self._at, LONGEST_GAP_S)
        far = np.abs(sample.position - self._last) / self._ratio
        jumped = sample.valid & known & (far > JUMP_RAD + self._speed * elapsed)
        outside = (sample.position < self._low) | (sample.position > self._high)
        impossible = jumped | (sample.valid & ~known & outside)
        believed = sample.valid & ~impossible
        self._last = np.where(believed, sample.position, self._last)
        self._at = np.where(believed, now_s, self._at)
        if not impossible.any():
            self.trouble = ""
            return sample
        self.trouble = "; ".join(
            self._text(int(i), sample, bool(jumped[i])) for i in np.flatnonzero(impossible)
        )
        nan = np.where(impossible, np.nan, 0.0)
        return replace(
            sample,
            position=sample.position + nan,
            velocity=sample.velocity + nan,
            position_trajectory=sample.position_trajectory + nan,
            valid=believed,
            fresh=False,
        )

    def _text(self, joint: int, sample: BusSample, jumped: bool) -> str:
        position = float(sample.position[joint])
        if jumped:
            return (
                f"position of {self._names[joint]} jumped from {self._last[joint]:.3f} to "
                f"{position:.3f}, which no motion explains: the encoder wrapped or the servo "
                "restarted in another turn"
            )
        return (
            f"position of {self._names[joint]} is {position:.3f}, expected "
            f"{self._low[joint]:.3f} to {self._high[joint]:.3f}: the servo counts from another turn"
        )


class StallWatch:
    """Notices joints that stand still although their goal is far: blocked, or a stuck encoder.

    The gripper is left out: it is meant to be stopped by what it holds.

    Attributes:
        idle: stalled joints (n,) whose motor is not working hard: nothing blocks them, so that it
            is the position that does not move, not the joint.

    """

    def __init__(self, spec: RobotSpec, distance_rad: float, after_s: float) -> None:
        """Report after `after_s` [s] (0: never) at more than `distance_rad` [servo rad]."""
        self._names = spec.names
        self._ratio = np.abs(np.array([joint.ratio for joint in spec.joints]))
        self._watched = np.array([joint.role == "arm" for joint in spec.joints])
        self._distance = distance_rad
        self._after = after_s
        self._still_at: Array = np.full(spec.n, np.nan)
        self._since: Array = np.full(spec.n, np.inf)
        self.idle: BoolArray = np.zeros(spec.n, dtype=bool)

    def forget(self) -> None:
        """Begin anew, e.g. when torque went off."""
        self._since[:] = np.inf

    def update(self, sample: BusSample, goal: Array, now_s: float) -> str:
        """Take one tick's sample and goal (n,); return which joints stall, '' for none."""
        if self._after <= 0.0:
            return ""
        position = sample.position
        heard = sample.valid & ~sample.repeated
        far = np.abs(goal - position) / self._ratio > self._distance
        moved = ~(np.abs(position - self._still_at) / self._ratio < STILL_RAD)
        restart = heard & (moved | ~far | ~self._watched)
        self._still_at = np.where(restart, position, self._still_at)
        self._since = np.where(restart, now_s, np.minimum(self._since, now_s))
        stalled = heard & far & self._watched & (now_s - self._since >= self._after)
        self.idle = stalled & ~(np.abs(sample.load) >= WORKING_LOAD)
        if not stalled.any():
            return ""
        parts = []
        for mask, why in (
            (stalled & ~self.idle, "although its motor works hard: it is blocked"),
            (self.idle, "and its motor is idle: the encoder is stuck"),
        ):
            if mask.any():
                who = ", ".join(self._names[int(i)] for i in np.flatnonzero(mask))
                parts.append(f"{who} did not move {why}")
        return (
            f"{'; '.join(parts)} ({self._after:g} s, goal more than "
            f"{np.degrees(self._distance):.0f} degrees away)"
        )
