# SPDX-License-Identifier: Apache-2.0
"""One tick as the estimator takes it, whichever messages it came from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from na_core.features import Ticks

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Reading:
    """Measurements of one tick in canonical joint order, each (n,).

    Attributes:
        stamp_ns: moment of the measurement.
        sequence: number of the tick, 0 where the source has none.
        ticks: position, velocity, goal in force, current (or load), voltage, temperature.
        stale: the values did not come from a fresh read.
        trouble: why the values cannot be used, "" when they can.
    """

    stamp_ns: int
    sequence: int
    ticks: Ticks
    stale: bool = False
    trouble: str = ""


def missing_values(ticks: Ticks, names: tuple[str, ...]) -> str:
    """Return what is not a finite number, for example "current of joint2", or ""."""
    for field in ("position", "velocity", "goal", "current", "voltage", "temperature"):
        finite = np.isfinite(getattr(ticks, field))
        if not finite.all():
            joints = ", ".join(n for n, ok in zip(names, finite, strict=True) if not ok)
            hint = " (torque off?)" if field == "goal" else ""
            return f"{field} of {joints} is not a number{hint}"
    return ""


def between_ticks(before: Ticks, after: Ticks, share: float) -> Ticks:
    """A tick at `share` (0…1) of the way from one to the next: measurements on a line between them,
    the goal still that of the one before.
    """

    def on_line(name: str) -> Array:
        first = getattr(before, name)
        return np.asarray(first + share * (getattr(after, name) - first))

    return Ticks(
        on_line("position"),
        on_line("velocity"),
        before.goal,
        on_line("current"),
        on_line("voltage"),
        on_line("temperature"),
    )
