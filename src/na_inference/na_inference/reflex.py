# SPDX-License-Identifier: Apache-2.0
"""Reflex: what to ask of the follower when the force becomes too large. Off by default."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from na_inference.estimate import Estimate

Array = NDArray[np.float64]

RENEW = 0.2  # s between repeats of a request that still holds
HOLD_FOR = 0.5  # s that a request holds without being renewed
BEFORE = 0.5  # s before the contact: the pose to retreat to


class Reaction(StrEnum):
    """What to do on contact."""

    NONE = "none"
    HOLD = "hold"
    RETREAT = "retreat"


class Ask(StrEnum):
    """What to send to the follower now."""

    NOTHING = "nothing"
    HOLD = "hold"
    RETREAT = "retreat"
    RELEASE = "release"


@dataclass(frozen=True)
class Request:
    """A request to the follower.

    Attributes:
        ask: what.
        position: where to retreat to (n,), None otherwise.
        reason: why, for people.
    """

    ask: Ask
    position: Array | None = None
    reason: str = ""


NOTHING = Request(Ask.NOTHING)


class Reflex:
    """Fires when the gate is open and the force exceeds `threshold`; renewed while that lasts.

    It lets go once the force has stayed below half the threshold for `calm` seconds. An estimate
    that is not valid never fires it, and neither renews nor releases: the follower's own time-out
    ends the request.
    """

    def __init__(self, reaction: Reaction, threshold: float, *, calm: float = 0.3) -> None:
        """`threshold` [N]; raises ValueError unless positive."""
        if not threshold > 0.0:
            raise ValueError(f"reflex threshold {threshold} N: expected a positive force")
        self.reaction = reaction
        self.threshold = threshold
        self.fired = 0
        self._calm = calm
        self._active = False
        self._calm_since: float | None = None
        self._sent_at = 0.0
        self._back: Array | None = None
        self._poses: deque[tuple[float, Array]] = deque()

    def step(self, now: float, estimate: Estimate, position: Array) -> Request:
        """Decide at `now` [s] from an estimate and the measured pose (n,)."""
        if self.reaction is Reaction.NONE:
            return NOTHING
        self._remember(now, estimate, position)
        if not estimate.valid:
            return NOTHING
        size = float(np.linalg.norm(estimate.force))
        if not self._active:
            return self._fire(now, size) if size >= self.threshold else NOTHING
        if size >= 0.5 * self.threshold:
            self._calm_since = None
        elif self._calm_since is None:
            self._calm_since = now
        if self._calm_since is not None and now - self._calm_since >= self._calm:
            self._active = False
            self._calm_since = None
            return Request(Ask.RELEASE, None, f"force fell to {size:.1f} N")
        if now - self._sent_at >= RENEW:
            return self._send(now, f"force {size:.1f} N")
        return NOTHING

    def _remember(self, now: float, estimate: Estimate, position: Array) -> None:
        if self._active or estimate.in_contact:
            return
        self._poses.append((now, np.array(position)))
        while len(self._poses) > 2 and self._poses[1][0] <= now - BEFORE:
            self._poses.popleft()

    def _fire(self, now: float, size: float) -> Request:
        self._active = True
        self.fired += 1
        self._back = self._poses[0][1] if self._poses else None
        return self._send(now, f"force {size:.1f} N exceeds {self.threshold:g} N")

    def _send(self, now: float, reason: str) -> Request:
        self._sent_at = now
        if self.reaction is Reaction.RETREAT and self._back is not None:
            return Request(Ask.RETREAT, self._back, reason)
        return Request(Ask.HOLD, None, reason)
