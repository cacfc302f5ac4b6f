# SPDX-License-Identifier: Apache-2.0
"""Goal dither of static holds: a small sine per joint, one period in eight control ticks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from na_sim.nad_generator.workshop import Workshop

Array = NDArray[np.float64]

PERIOD_TICKS = 8
AMPLITUDES = np.radians([0.55, 0.65, 0.75, 0.55])  # 1.3 x breakaway of the first four joints
PHASES = np.radians([0.0, 90.0, 180.0, 270.0])
FADE = 0.5  # s to fade in and out


def dither_path(
    shop: Workshop, rng: np.random.Generator, ticks: int, spans: list[tuple[float, float]]
) -> Array:
    """Dither (ticks, n) [rad] during the hold spans (start, end) [s], faded at their ends."""
    times = shop.times(ticks)
    gate = np.zeros(ticks)
    for start, end in spans:
        rise = np.clip((times - start - 0.3) / FADE, 0.0, 1.0)
        fall = np.clip((end - times) / FADE, 0.0, 1.0)
        gate = np.maximum(gate, np.minimum(rise, fall))
    out = np.zeros((ticks, shop.robot.n))
    scale = rng.uniform(0.85, 1.15)
    for order, joint in enumerate(shop.arm[: len(AMPLITUDES)]):
        wave = np.sin(2.0 * np.pi * np.arange(ticks) / PERIOD_TICKS + PHASES[order])
        out[:, joint] = scale * AMPLITUDES[order] * gate * wave
    return out
