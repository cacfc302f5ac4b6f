# SPDX-License-Identifier: Apache-2.0
"""A request, from outside, to stop following for a while; it can only make the arm do less."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from na_core.joint_order import JointOrder

Array = NDArray[np.float64]

LONGEST = 60.0
"""Longest time that one request may hold [s]; renew it for more."""


class HoldAction(IntEnum):
    """Constants of na_msgs/HoldRequest."""

    RELEASE = 0
    HOLD = 1
    RETREAT = 2


class HoldRequests:
    """The request in force, if any.

    Attributes:
        reason: why, for people.
        retreat: where to go (n,) [rad or m]; None: stay where the arm is.
        accepted: requests taken so far.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._order = JointOrder(names)
        self._until = -np.inf
        self.reason = ""
        self.retreat: Array | None = None
        self.accepted = 0

    def take(
        self,
        now: float,
        action: int,
        duration: float,
        names: Sequence[str] = (),
        positions: Sequence[float] = (),
        reason: str = "",
    ) -> str:
        """Take a request at monotonic `now` [s]; returns why it was refused, or ""."""
        if action not in set(HoldAction):
            return f"hold request: action {action}, expected 0 (release), 1 (hold) or 2 (retreat)"
        if action == HoldAction.RELEASE:
            self._until = -np.inf
            self.accepted += 1
            return ""
        if not 0.0 < duration <= LONGEST:
            return f"hold request: duration {duration} s, expected more than 0, at most {LONGEST:g}"
        target = None
        if action == HoldAction.RETREAT:
            try:
                found = self._order.reorder(list(names), list(positions))
            except ValueError as error:
                return f"hold request: {error}"
            if found.missing or found.unknown or not np.isfinite(found.values).all():
                return (
                    f"hold request: retreat to {dict(zip(names, positions, strict=True))}, "
                    f"expected a finite position of each of {', '.join(self._order.names)}"
                )
            target = found.values
        if not self.active(now):
            self.retreat = target
        self._until = now + duration
        self.reason = reason or "asked to hold"
        self.accepted += 1
        return ""

    def active(self, now: float) -> bool:
        """Whether a request is in force at `now` [s]."""
        return now < self._until

    def forget(self) -> None:
        """Drop the request."""
        self._until = -np.inf
