# SPDX-License-Identifier: Apache-2.0
"""Latency of the last minute: percentiles and missed deadlines, in memory of fixed size."""

from __future__ import annotations

import numpy as np


class LatencyMeter:
    """Ring of the last `size` latencies.

    Attributes:
        total: ticks measured.
        missed: ticks that took longer than the deadline.
    """

    def __init__(self, deadline: float, size: int = 4096) -> None:
        """`deadline` [s]: a tick that is later than this is a miss."""
        self.deadline = deadline
        self.total = 0
        self.missed = 0
        self._values = np.zeros(size)

    def add(self, seconds: float) -> None:
        """Take one latency [s] into account."""
        self._values[self.total % len(self._values)] = seconds
        self.total += 1
        self.missed += seconds > self.deadline

    def percentiles(self) -> tuple[float, float, float]:
        """Return p50, p99 and maximum [s] of what is remembered; NaN before the first."""
        values = self._values[: min(self.total, len(self._values))]
        if not len(values):
            return (float("nan"),) * 3
        p50, p99 = np.percentile(values, [50, 99])
        return float(p50), float(p99), float(values.max())
