# SPDX-License-Identifier: Apache-2.0
"""Statistics of arrival times, printed as `ros2 topic hz` prints them."""

from __future__ import annotations

import math
from collections import deque


class RateMeter:
    """Intervals between the last `window` + 1 arrivals."""

    def __init__(self, window: int = 10_000) -> None:
        self._intervals: deque[int] = deque(maxlen=window)
        self._last: int | None = None
        self._reported: int | None = None

    def add(self, stamp_ns: int) -> None:
        """Take the time [ns] of one arrival; a clock that jumped back starts anew."""
        if self._last is not None and stamp_ns < self._last:
            self._intervals.clear()
        elif self._last is not None:
            self._intervals.append(stamp_ns - self._last)
        self._last = stamp_ns

    def report(self) -> str | None:
        """Return the text once per second of arrivals, otherwise None."""
        if self._last is None or not self._intervals:
            return None
        if self._reported is None or self._last < self._reported:
            self._reported = self._last
            return None
        if self._last - self._reported < 1_000_000_000:
            return None
        self._reported = self._last
        n = len(self._intervals)
        mean = sum(self._intervals) / n
        deviation = math.sqrt(sum((x - mean) ** 2 for x in self._intervals) / n)
        rate = 1e9 / mean if mean > 0.0 else 0.0
        return (
            f"average rate: {rate:.3f}\n"
            f"\tmin: {min(self._intervals) * 1e-9:.3f}s max: {max(self._intervals) * 1e-9:.3f}s "
            f"std dev: {deviation * 1e-9:.5f}s window: {n}"
        )
