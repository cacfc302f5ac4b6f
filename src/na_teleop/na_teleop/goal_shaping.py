# SPDX-License-Identifier: Apache-2.0
"""From the goal asked for to the goal sent: start ramp, clamp, rate limit, dither."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ShapedGoal:
    """One tick's goal at its stages; arrays (n,) [rad or m].

    Attributes:
        requested: as asked for, before anything was done to it.
        base: after ramp, clamp and rate limit, before dither.
        dither: what was added to `base` on purpose, zeros where nothing.
        sent: what goes to the bus.

    """

    requested: Array
    base: Array
    dither: Array
    sent: Array


@dataclass(frozen=True, slots=True)
class StartRamp:
    """Blend from where the arm stands to a moving target over a stated time."""

    start: Array  # (n,) [rad or m]
    began_s: float
    duration_s: float

    def share(self, now_s: float) -> float:
        """Return the target's share, 0 at the beginning, 1 at the end, smooth at both."""
        if self.duration_s <= 0.0:
            return 1.0
        x = min(1.0, max(0.0, (now_s - self.began_s) / self.duration_s))
        return x * x * (3.0 - 2.0 * x)

    def blend(self, target: Array, now_s: float) -> Array:
        """Return the goal (n,) between start and `target` at `now_s` [s]."""
        share = self.share(now_s)
        return np.asarray(self.start + share * (target - self.start), dtype=np.float64)

    def done(self, now_s: float) -> bool:
        """Return whether the target has its full share."""
        return now_s - self.began_s >= self.duration_s


class GoalShaper:
    """Clamps targets to the joint limits and limits how fast the goal moves.

    Only commands pass through here, never measurements. The goal starts wherever `reset` puts
    it, even outside the limits, and walks from there at bounded speed: no jump either way.
    """

    def __init__(
        self,
        lower: Array,
        upper: Array,
        velocity_limit: Array,
        *,
        longest_step_s: float,
        constrain: Callable[[Array, Array], Array] | None = None,
    ) -> None:
        """Limits are (n,) [rad or m, per s]; a gap between ticks counts as `longest_step_s`.

        `constrain(goal, last)` may move a goal further, e.g. into a box; not while parking.
        """
        self._constrain = constrain
        self.lower = np.array(lower, dtype=np.float64)
        self.upper = np.array(upper, dtype=np.float64)
        self.velocity_limit = np.array(velocity_limit, dtype=np.float64)
        self.longest_step_s = longest_step_s
        self._base: Array | None = None
        self._at = 0.0

    @property
    def base(self) -> Array:
        """The goal of the last tick before dither, (n,); RuntimeError before the first reset."""
        if self._base is None:
            raise RuntimeError("GoalShaper has no goal yet: call reset() with a position first")
        return self._base.copy()

    def reset(self, position: ArrayLike, now_s: float) -> None:
        """Put the goal at `position` (n,), exactly; NaN is refused with ValueError."""
        values = np.array(position, dtype=np.float64)
        if values.shape != self.lower.shape or not np.isfinite(values).all():
            raise ValueError(f"goal reset to {values}: expected {self.lower.size} finite positions")
        self._base = values
        self._at = now_s

    def hold(self, now_s: float, requested: Array | None = None) -> ShapedGoal:
        """Keep the goal where it is, without clamping it."""
        base = self.base
        self._at = now_s
        zeros = np.zeros_like(base)
        return ShapedGoal(base if requested is None else requested, base, zeros, base.copy())

    def shape(
        self,
        target: Array,
        now_s: float,
        *,
        requested: Array | None = None,
        speed: Array | None = None,
        dither: Array | None = None,
    ) -> ShapedGoal:
        """Move the goal towards `target` (n,) within limits.

        Args:
            target: where to go [rad or m].
            now_s: monotonic time [s].
            requested: what to report as asked for; default `target`.
            speed: tighter velocity limit for this tick (n,), e.g. while parking.
            dither: offset added after the rate limit (n,), kept inside the joint limits.

        Raises:
            ValueError: `target` is not finite; nothing moves.

        """
        if target.shape != self.lower.shape or not np.isfinite(target).all():
            raise ValueError(f"target {target}: expected {self.lower.size} finite positions")
        base = self.base
        dt = min(max(now_s - self._at, 0.0), self.longest_step_s)
        limit = self.velocity_limit if speed is None else np.minimum(speed, self.velocity_limit)
        step = limit * dt
        wanted = np.clip(target, self.lower, self.upper)
        goal = base + np.clip(wanted - base, -step, step)
        if self._constrain is not None and speed is None:
            way = self._constrain(goal, base) - base
            # All joints slowed alike, so that the way keeps its direction.
            goal = base + way / max(1.0, float((np.abs(way) / np.maximum(step, 1e-12)).max()))
        self._base = goal
        self._at = now_s
        asked = target if requested is None else requested
        if dither is None:
            zeros = np.zeros_like(base)
            return ShapedGoal(asked.copy(), self._base.copy(), zeros, self._base.copy())
        # A goal that is still walking in from outside keeps its place; dither never pushes out.
        low, high = np.minimum(self.lower, self._base), np.maximum(self.upper, self._base)
        sent = np.clip(self._base + dither, low, high)
        return ShapedGoal(asked.copy(), self._base.copy(), sent - self._base, sent)
