# SPDX-License-Identifier: Apache-2.0
"""For tests: a clock that is set by hand."""

from __future__ import annotations


class FakeClock:
    """Seconds that pass only when told to."""

    def __init__(self, start: float = 100.0) -> None:
        self.now = start

    def __call__(self) -> float:
        """Return the time [s]."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds
