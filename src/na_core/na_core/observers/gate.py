# SPDX-License-Identifier: Apache-2.0
"""Dead band with hysteresis: the contact gate of an observer that knows only a force."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from na_core.observers.base import Array, ObserverError


@dataclass(frozen=True)
class DeadBand:
    """Opens after `dwell` ticks at or above `on`, closes after as many below `off`.

    Attributes:
        on: size of the force that opens the gate [N].
        off: size below which it closes [N], at most `on`.
        dwell: ticks in a row that are needed.
    """

    on: float
    off: float
    dwell: int = 3

    def __post_init__(self) -> None:
        if not 0.0 <= self.off <= self.on or self.dwell < 1:
            raise ObserverError(
                f"dead band: on {self.on!r} N, off {self.off!r} N, dwell {self.dwell!r}: expected "
                "0 <= off <= on and a dwell of at least 1 tick"
            )

    def step(self, state: tuple[bool, int], size: float) -> tuple[bool, int]:
        """Return (open, ticks against it in a row) after one force size [N]; NaN counts as 0."""
        is_open, count = state
        value = size if np.isfinite(size) else 0.0
        against = value < self.off if is_open else value >= self.on
        count = count + 1 if against else 0
        return (not is_open, 0) if count >= self.dwell else (is_open, count)

    def replay(self, force: Array) -> np.ndarray:  # type: ignore[type-arg]
        """Open or closed (T,) for forces (T, 3) [N] of one recording."""
        out = np.zeros(len(force), dtype=bool)
        state = (False, 0)
        for index, size in enumerate(np.linalg.norm(force, axis=-1)):
            state = self.step(state, float(size))
            out[index] = state[0]
        return out
