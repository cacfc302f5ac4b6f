# SPDX-License-Identifier: Apache-2.0
"""The steps of a calibration as small state machines over raw counts; no bus, no clock, no ROS."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

COUNTS = NDArray[np.int64]

TURN = 4096  # counts of one turn
STILL_READS = 15  # a pose is taken as the mean of this many reads
STILL_COUNTS = 6  # largest spread of a joint that counts as still (half a degree)
DIRECTION_COUNTS = 170  # a joint must move this far to tell its direction (15 degrees)
RIVAL_SHARE = 0.6  # another joint that moved more than this share of it is suspicious
JUMP_COUNTS = TURN // 2  # two reads further apart than this: the count went over the seam


class StepError(Exception):
    """A step went wrong: what was seen, and what to do; the run may be repeated."""


class PoseCapture:
    """Waits until every joint is still and takes the mean of the reads."""

    def __init__(self, n: int) -> None:
        """`n`: joints."""
        self._reads: deque[COUNTS] = deque(maxlen=STILL_READS)
        self._n = n

    def feed(self, raw: COUNTS) -> COUNTS | None:
        """Take one read (n,); return the pose (n,) once it is steady."""
        self._reads.append(np.asarray(raw, dtype=np.int64))
        if len(self._reads) < STILL_READS:
            return None
        window = np.stack(self._reads)
        if int(np.ptp(window, axis=0).max()) > STILL_COUNTS:
            return None
        pose: COUNTS = np.rint(window.mean(axis=0)).astype(np.int64)
        return pose


class DirectionCheck:
    """Which way counts go while a person moves one joint."""

    def __init__(self, names: tuple[str, ...], joint: int, start: COUNTS) -> None:
        """`start` (n,): pose before the motion."""
        self._names, self._joint = names, joint
        self._start = np.asarray(start, dtype=np.int64)

    def feed(self, raw: COUNTS) -> int | None:
        """Take one read; return +1 or -1 once the joint has moved far enough.

        StepError when another joint moved instead: ids or cables are swapped, or the wrong joint
        was moved.
        """
        moved = np.asarray(raw, dtype=np.int64) - self._start
        size = np.abs(moved)
        rival = int(np.argmax(np.where(np.arange(size.size) == self._joint, 0, size)))
        if size[rival] >= DIRECTION_COUNTS and size[self._joint] < RIVAL_SHARE * size[rival]:
            raise StepError(
                f"asked for {self._names[self._joint]}, but {self._names[rival]} moved "
                f"({int(size[rival])} counts against {int(size[self._joint])}): move only the "
                "joint named; if you did, two servos have each other's ids"
            )
        if size[self._joint] < DIRECTION_COUNTS:
            return None
        return 1 if moved[self._joint] > 0 else -1


@dataclass(frozen=True, slots=True)
class JointRange:
    """What a sweep found of one joint: counts as read, not folded into one turn."""

    low: int
    high: int

    @property
    def span(self) -> int:
        """Counts between the ends."""
        return self.high - self.low


class RangeSweep:
    """Lowest and highest count of every joint, followed over the encoder's seam."""

    def __init__(self, start: COUNTS) -> None:
        """`start` (n,): where the joints are now."""
        self._last = np.asarray(start, dtype=np.int64)
        self._low, self._high = self._last.copy(), self._last.copy()
        self._turns = np.zeros_like(self._last)
        self.longest_step = np.zeros_like(self._last)

    def feed(self, raw: COUNTS) -> None:
        """Take one read (n,); may be anything from one read to the next but half a turn."""
        now = np.asarray(raw, dtype=np.int64)
        step = now - self._last
        jump = np.where(step > JUMP_COUNTS, -TURN, np.where(step < -JUMP_COUNTS, TURN, 0))
        self._turns += jump
        self.longest_step = np.maximum(self.longest_step, np.abs(step + jump))
        self._last = now
        followed = now + self._turns
        self._low = np.minimum(self._low, followed)
        self._high = np.maximum(self._high, followed)

    @property
    def ranges(self) -> tuple[JointRange, ...]:
        """What was found so far, per joint."""
        return tuple(
            JointRange(int(low), int(high)) for low, high in zip(self._low, self._high, strict=True)
        )
