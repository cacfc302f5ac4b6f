# SPDX-License-Identifier: Apache-2.0
"""Tell repeated values and restarted servos from the servos' own millisecond clock."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

MODULO = 32768  # Realtime Tick counts 0 to 32767 ms
LONGEST_GAP_S = 12.0  # beyond this the wrap makes the comparison meaningless
SLACK_MS = 60.0  # host jitter between request and stamp
DRIFT = 0.05  # the servos' oscillator against ours
SHORTEST_REPEAT_MS = 3.0  # within this the clock may honestly show the same count


class ServoClock:
    """Compares each servo's clock with ours from one read to the next."""

    def __init__(self, n: int) -> None:
        """Know nothing yet about `n` servos."""
        self._tick = np.full(n, -1, dtype=np.int64)
        self._at = np.zeros(n)

    def forget(self) -> None:
        """Start afresh, e.g. after the port was opened again."""
        self._tick[:] = -1

    def update(
        self, tick_ms: IntArray, valid: BoolArray, now_s: float
    ) -> tuple[BoolArray, BoolArray]:
        """Return (repeated, rebooted), each (n,), for a read at `now_s` [s].

        `tick_ms`: the servos' clocks (n,), looked at only where `valid`.
        """
        elapsed_ms = (now_s - self._at) * 1000.0
        known = valid & (self._tick >= 0) & (elapsed_ms < LONGEST_GAP_S * 1000.0)
        moved = (tick_ms - self._tick) % MODULO
        repeated = known & (moved == 0) & (elapsed_ms >= SHORTEST_REPEAT_MS)
        half = MODULO / 2
        error_ms = (moved - elapsed_ms + half) % MODULO - half
        rebooted = known & ~repeated & (np.abs(error_ms) > SLACK_MS + DRIFT * elapsed_ms)
        advanced = valid & ~repeated
        self._tick[advanced] = tick_ms[advanced]
        self._at[advanced] = now_s
        return repeated, rebooted
