# SPDX-License-Identifier: Apache-2.0
"""What to do about a leader that falls silent: first hold, then park."""

from __future__ import annotations

from enum import StrEnum


class LeaderState(StrEnum):
    """How the leader stands, from the age of its last accepted message."""

    NEVER = "never heard"
    ACTIVE = "active"
    HOLD = "silent: hold"
    PARK = "silent: park"


class LeaderWatchdog:
    """Age of the last accepted leader message against two thresholds."""

    def __init__(self, hold_after_s: float, park_after_s: float) -> None:
        """Hold after `hold_after_s` [s] of silence, park after `park_after_s` [s]."""
        if not 0.0 < hold_after_s < park_after_s:
            raise ValueError(
                f"leader silence: hold_after_s {hold_after_s} and park_after_s {park_after_s}; "
                "expected 0 < hold_after_s < park_after_s"
            )
        self.hold_after_s = hold_after_s
        self.park_after_s = park_after_s
        self._heard_s: float | None = None

    def feed(self, now_s: float) -> None:
        """Note an accepted message at monotonic `now_s` [s]."""
        self._heard_s = now_s

    def forget(self) -> None:
        """Wait for a new message, as at the start."""
        self._heard_s = None

    def silence_s(self, now_s: float) -> float:
        """Return the age of the last message [s]; infinite before the first."""
        return float("inf") if self._heard_s is None else now_s - self._heard_s

    def state(self, now_s: float) -> LeaderState:
        """Return the leader's state at monotonic `now_s` [s]."""
        if self._heard_s is None:
            return LeaderState.NEVER
        silence = now_s - self._heard_s
        if silence >= self.park_after_s:
            return LeaderState.PARK
        return LeaderState.HOLD if silence >= self.hold_after_s else LeaderState.ACTIVE
