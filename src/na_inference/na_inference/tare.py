# SPDX-License-Identifier: Apache-2.0
"""Tare: the force that the model reads at rest without contact, taken off afterwards."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

REST_SPEED = 0.05  # servo rad/s below which a joint counts as at rest
REST_TRAVEL = 0.005  # servo rad within a second: three encoder counts
STEADY = 0.15  # N, standard deviation of the force at rest


@dataclass(frozen=True)
class TareResult:
    """Outcome of a request.

    Attributes:
        ok: whether a new bias is in force.
        text: what was done, or why nothing was.
    """

    ok: bool
    text: str


@dataclass(frozen=True)
class _Sample:
    stamp_ns: int
    force: Array
    position: Array
    goal: Array
    trouble: str


class Tare:
    """Remembers the last second of estimates and, on request, takes their mean as the bias.

    Refused while the arm moves, in contact, when the estimate is not valid (out of distribution
    included), while it still varies by more than `STEADY`, or when the bias would exceed `largest`:
    that much is not drift but something touching the arm.

    With a `reach` the bias fades with the distance from the pose where it was measured: what
    static friction leaves in a held pose is gone in the next one, while an unmodelled tool weighs
    the same everywhere.

    Attributes:
        bias: (3,) [N], base axes.
        stamp_ns: when it was measured; 0 for never.
        pose: joint positions at which it was measured (n,), None for never.
    """

    def __init__(
        self,
        ratio: Array,
        *,
        seconds: float = 1.0,
        dt: float = 1 / 60,
        largest: float = 1.5,
        reach: float = 0.0,
    ) -> None:
        """Nothing is taken off yet.

        Args:
            ratio: joint travel per servo travel (n,) [rad or m per rad].
            seconds: rest that a bias is the mean of [s].
            dt: of a tick [s].
            largest: bias that is believed [N].
            reach: servo travel over which the bias fades to nothing [rad]; 0: it holds everywhere.
        """
        self.bias = np.zeros(3)
        self.stamp_ns = 0
        self.pose: Array | None = None
        self._ratio = np.abs(np.asarray(ratio, dtype=np.float64))
        self._still = REST_SPEED * self._ratio
        self._reach = reach
        self._largest = largest
        self._seconds = seconds
        self._needed = max(2, round(seconds / dt))
        self._samples: deque[_Sample] = deque(maxlen=self._needed)

    def observe(
        self,
        stamp_ns: int,
        force: Array,
        position: Array,
        velocity: Array,
        goal: Array,
        *,
        contact: bool,
        trouble: str,
    ) -> None:
        """Take one tick into account.

        Args:
            stamp_ns: its stamp.
            force: estimate before gate and tare (3,) [N].
            position, velocity, goal: (n,).
            contact: whether the gate is open.
            trouble: why the estimate is not valid, "" when it is.
        """
        if not trouble and contact:
            trouble = "in contact"
        if not trouble and bool((np.abs(velocity) > self._still).any()):
            trouble = "moving"
        self._samples.append(
            _Sample(stamp_ns, np.array(force), np.array(position), np.array(goal), trouble)
        )

    def request(self) -> TareResult:
        """Take the mean of the last second as the bias, or say why not; the old one then stays."""
        if len(self._samples) < self._needed:
            return TareResult(
                False,
                f"not tared: {len(self._samples)} of {self._needed} ticks seen; "
                f"wait until the arm has been at rest for {self._seconds:g} s",
            )
        troubles = [sample.trouble for sample in self._samples if sample.trouble]
        if troubles:
            return TareResult(
                False,
                f"not tared: {troubles[-1]} within the last {self._seconds:g} s; "
                "leave the arm at rest without contact and try again",
            )
        # A goal that creeps is motion to come; one that flickers by an encoder count is not.
        goals = np.array([sample.goal for sample in self._samples])
        travel = float((np.ptp(goals, axis=0) / self._ratio).max())
        if travel > REST_TRAVEL:
            return TareResult(
                False,
                f"not tared: moving, a goal went over {travel:.4f} rad of its servo within the "
                f"last {self._seconds:g} s, expected at most {REST_TRAVEL:g}; leave the arm at "
                "rest without contact and try again",
            )
        forces = np.array([sample.force for sample in self._samples])
        spread = float(forces.std(axis=0).max())
        if spread > STEADY:
            return TareResult(
                False,
                f"not tared: the force at rest still varies by {spread:.2f} N, expected at most "
                f"{STEADY:g} N; leave the arm at rest a little longer and try again",
            )
        bias = forces.mean(axis=0)
        size = float(np.linalg.norm(bias))
        if size > self._largest:
            return TareResult(
                False,
                f"not tared: the force at rest is {size:.2f} N, expected at most "
                f"{self._largest:g} N; is something touching or held?",
            )
        last = self._samples[-1]
        self.bias, self.stamp_ns, self.pose = bias, last.stamp_ns, last.position
        text = ", ".join(f"{value:+.3f}" for value in bias)
        pose = ", ".join(f"{value:.3f}" for value in last.position)
        return TareResult(
            True,
            f"tared: bias [{text}] N (spread {spread:.3f} N over "
            f"{len(forces)} ticks) at pose [{pose}]",
        )

    def bias_at(self, position: Array) -> Array:
        """What to take off at joint positions (n,): (3,) [N], base axes."""
        if self._reach <= 0.0 or self.pose is None:
            return self.bias
        travel = float((np.abs(position - self.pose) / self._ratio).max())
        return self.bias * max(0.0, 1.0 - travel / self._reach)

    def age(self, stamp_ns: int) -> float:
        """Seconds since the bias was measured; NaN for never."""
        return 1e-9 * (stamp_ns - self.stamp_ns) if self.stamp_ns else float("nan")

    def distance(self, position: Array) -> float:
        """Largest joint distance from where the bias was measured [rad or m]; NaN for never."""
        return float("nan") if self.pose is None else float(np.max(np.abs(position - self.pose)))

    def interrupt(self) -> None:
        """Forget the last second: ticks have been missing."""
        self._samples.clear()
