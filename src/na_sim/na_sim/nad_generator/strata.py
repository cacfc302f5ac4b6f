# SPDX-License-Identifier: Apache-2.0
"""Even spread of nuisance quantities over the episodes of each kind.

Start temperature, supply and gripper style are not drawn independently for every episode: with few
episodes per kind, chance alone would tie them to loads. Each follows a sequence that fills 0..1
evenly over the index within a kind, from a start that depends on the kind and the seed.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np

# Irrational steps, one per quantity, so that quantities do not move together.
STEPS: dict[str, float] = {
    "temperature": 0.6180339887498949,
    "supply": 0.4142135623730951,
    "gripper": 0.7320508075688772,
    "grip_open": 0.3819660112501051,
    "grip_shut": 0.8284271247461903,
    "length": 0.23606797749978969,
    "lead_in": 0.6457513110645906,
}


def stratum(quantity: str, key: str, seed: int, index: int) -> float:
    """Number in 0..1 for episode `index` of the kind `key`; KeyError for an unknown quantity."""
    step = STEPS[quantity]
    start = zlib.crc32(f"{quantity}/{key}/{seed}".encode()) / 2**32
    return float((start + index * step) % 1.0)


def normal_quantile(share: float) -> float:
    """Standard normal value below which `share` (0..1) of all values lie, within 2.5 sigma."""
    from scipy.special import ndtri

    return float(np.clip(ndtri(np.clip(share, 1e-4, 1.0 - 1e-4)), -2.5, 2.5))


def choose(share: float, names: Sequence[str], weights: Sequence[float]) -> str:
    """Name at position `share` (0..1) of the cumulated `weights`."""
    cumulated = np.cumsum(np.asarray(weights) / np.sum(weights))
    return names[min(int(np.searchsorted(cumulated, share, side="right")), len(names) - 1)]
