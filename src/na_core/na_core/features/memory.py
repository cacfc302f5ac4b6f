# SPDX-License-Identifier: Apache-2.0
"""Elements of memory: play operators and exponential averages, over any leading axes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def play(state: Array, change: Array, radii: Array) -> Array:
    """Return the next state of play (backlash) operators: clip(p + Δx / r, −1, 1).

    After a stroke longer than 2 r the operator sits at ±1 and has forgotten all before it; shorter
    strokes leave it between, so operators of several radii tell loading from unloading.

    Args:
        state: (..., n, R) in −1…1.
        change: Δx of this tick (..., n), same unit as the radii.
        radii: (R,) or (n, R), positive.
    """
    return np.asarray(np.clip(state + change[..., None] / radii, -1.0, 1.0))


def average(state: Array, value: Array, seconds: float, dt: float) -> Array:
    """Return the next exponential average with time constant `seconds` [s], ticks of `dt` [s]."""
    return np.asarray(state + (1.0 - np.exp(-dt / seconds)) * (value - state))
