# SPDX-License-Identifier: Apache-2.0
"""Which ticks may follow each other in a window, judged by their stamps.

Rules, in this order; `dt` is the model's tick:

- a stamp equal to the last one is a **duplicate**: ignored, nothing is computed;
- a stamp before the last one means that the clock was set **back**: the window starts anew;
- a step longer than `gap` ticks (1.8) leaves out ticks. Up to `bridge` of them (3) in a window are
  **bridged**: the caller fills them in, so that the window keeps its spacing in time. More are a
  **gap**: the window starts anew;
- otherwise the tick is taken. A stale tick never gets here: the pause it leaves is what counts.

The rate is wrong when the mean step of the last second is more than 5 % off `dt`, or that of the
present window more than 15 %.
"""

from __future__ import annotations

from collections import deque
from enum import StrEnum

RATE_TOLERANCE = 0.05
WINDOW_RATE_TOLERANCE = 0.15
RATE_SECONDS = 1.0


class Arrival(StrEnum):
    """What became of a tick."""

    FIRST = "first tick"
    TAKEN = "taken"
    DUPLICATE = "duplicate stamp"
    BACKWARD = "clock went back"
    BRIDGED = "bridged"
    GAP = "gap"


class TickWindow:
    """Counts ticks that follow each other without a break.

    Attributes:
        count: ticks since the last break, at most `size`.
        counters: how often each `Arrival` happened.
        last_step: time since the tick before [s]; NaN at the first.
        missing: ticks to be filled in before the present one, when it was bridged.
    """

    def __init__(self, size: int, dt: float, gap: float = 1.8, bridge: int = 3) -> None:
        """`size` ticks of `dt` [s]; a step over `gap` ticks leaves out ticks; `bridge` of them may
        be filled in within a window.
        """
        if size < 1 or not dt > 0.0 or not gap > 1.0 or bridge < 0:
            raise ValueError(
                f"window of {size} ticks of {dt} s with gap {gap} and bridge {bridge}: expected at "
                "least 1 tick, a positive time, a gap of more than 1 tick, a bridge of at least 0"
            )
        self.size, self.dt, self.gap, self.bridge = size, dt, gap, bridge
        self.missing = 0
        #: For each tick of the window, whether it was filled in.
        self._filled: deque[bool] = deque(maxlen=size)
        self.count = 0
        self.counters = dict.fromkeys(Arrival, 0)
        self.last_step = float("nan")
        self._last: int | None = None
        self._steps: deque[float] = deque(maxlen=max(size - 1, round(RATE_SECONDS / dt)))

    def add(self, stamp_ns: int) -> Arrival:
        """Take the stamp of a fresh tick into account."""
        arrival = self._judge(stamp_ns)
        self.counters[arrival] += 1
        if arrival is Arrival.DUPLICATE:
            return arrival
        if arrival in (Arrival.TAKEN, Arrival.BRIDGED):
            added = self.missing + 1
            self.count = min(self.count + added, self.size)
            self._steps.extend([self.last_step / added] * added)
            self._filled.extend([True] * self.missing)
        else:
            self.count = 1
            self._steps.clear()
            self._filled.clear()
        self._filled.append(False)
        self._last = stamp_ns
        return arrival

    def _judge(self, stamp_ns: int) -> Arrival:
        self.missing = 0
        if self._last is None:
            return Arrival.FIRST
        self.last_step = 1e-9 * (stamp_ns - self._last)
        if self.last_step == 0.0:
            return Arrival.DUPLICATE
        if self.last_step < 0.0:
            return Arrival.BACKWARD
        if self.last_step <= self.gap * self.dt:
            return Arrival.TAKEN
        missing = max(1, round(self.last_step / self.dt) - 1)
        # Those that will still be in the window once the missing ones have been filled in.
        kept = list(self._filled)[missing + 1 :] if self.full else list(self._filled)
        if missing + sum(kept) > self.bridge:
            return Arrival.GAP
        self.missing = missing
        return Arrival.BRIDGED

    def clear(self) -> None:
        """Start anew with the next tick."""
        self.count = 0
        self._last = None
        self._steps.clear()
        self._filled.clear()

    @property
    def full(self) -> bool:
        """Whether the window holds `size` ticks."""
        return self.count >= self.size

    @property
    def mean_step(self) -> float:
        """Mean step of the last second without a break [s]; NaN before the second tick."""
        return sum(self._steps) / len(self._steps) if self._steps else float("nan")

    def rate_is_wrong(self) -> bool:
        """Whether ticks come at another rate than the model's."""
        if not self._steps:
            return False
        width = min(self.size - 1, len(self._steps))
        if width < self.size - 1:
            return False
        recent = sum(self._steps[index] for index in range(-width, 0)) / max(width, 1)
        return (
            abs(self.mean_step / self.dt - 1.0) > RATE_TOLERANCE
            or abs(recent / self.dt - 1.0) > WINDOW_RATE_TOLERANCE
        )
