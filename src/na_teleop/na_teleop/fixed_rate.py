# SPDX-License-Identifier: Apache-2.0
"""Deadlines at a fixed rate that neither drift nor pile up after a delay."""

from __future__ import annotations

import time
from collections.abc import Callable

#: Pieces of work served per tick even when there is no time for them: a tick that always takes
#: longer than the period (a silent servo costs time-outs) must not make the node deaf.
SERVED_WHEN_LATE = 4

#: Below this remaining time [s] the loop sleeps instead of serving callbacks: one callback may take
#: that long, and the deadline matters more.
QUIET_TIME = 0.0015


class FixedRate:
    """Waits for the deadlines start + k·period on a monotonic clock.

    A deadline that has already passed is taken at once; further ones that have also passed are
    skipped and counted, so that after a delay the loop goes on in phase instead of rushing.

    Attributes:
        missed: deadlines skipped so far.
        period_us: measured time between the last two ticks [µs]; 0 before the second.

    """

    def __init__(
        self,
        rate: float,
        *,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Start at once; `rate` in Hz. Raises ValueError unless it is positive."""
        if not rate > 0:
            raise ValueError(f"rate {rate} Hz: expected a positive number")
        self.period = 1.0 / rate
        self.missed = 0
        self.period_us = 0
        self._now = now
        self._sleep = sleep
        self._deadline = now() + self.period
        self._last_tick: float | None = None

    def wait(self, serve: Callable[[float], None]) -> None:
        """Call `serve(timeout)` until shortly before the deadline, then sleep until it.

        `serve` should return when it has done one piece of work or after `timeout` seconds. It is
        called at least SERVED_WHEN_LATE times.
        """
        served = 0
        while (remaining := self._deadline - self._now()) > QUIET_TIME:
            serve(remaining - QUIET_TIME)
            served += 1
        for _ in range(SERVED_WHEN_LATE - served):
            serve(0.0)
        remaining = self._deadline - self._now()
        if remaining > 0:
            self._sleep(remaining)
        tick = self._now()
        late = max(0, int((tick - self._deadline) / self.period))
        self.missed += late
        self._deadline += (late + 1) * self.period
        if self._last_tick is not None:
            self.period_us = round(1e6 * (tick - self._last_tick))
        self._last_tick = tick
