# SPDX-License-Identifier: Apache-2.0
"""Gate thresholds and real windows for the parity check, from recordings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from na_training.data import Episode
from na_training.evaluation.predict import predict
from na_training.model import WINDOW
from na_training.training.bundle import Bundle

FALSE_SHARE = 0.003
"""Share of free frames above the opening threshold that is aimed at."""
LOWEST, HIGHEST, GAP = 0.5, 0.97, 0.25


def choose_thresholds(bundle: Bundle, episodes: Sequence[Episode]) -> tuple[float, float]:
    """Return opening and closing thresholds: few free frames reach the first.

    Args:
        bundle: the model.
        episodes: recordings that are not used for any reported figure.
    """
    scores: list[NDArray[np.float64]] = []
    for episode in episodes:
        gate = predict(bundle.model, bundle.features, episode).gate
        scores.append(gate[(episode.contact == 0.0) & np.isfinite(gate)])
    free = np.concatenate(scores) if scores else np.zeros(0)
    if not len(free):
        return bundle.gate_thresholds
    on = float(np.clip(np.quantile(free, 1.0 - FALSE_SHARE), LOWEST, HIGHEST))
    return round(on, 3), round(max(on - GAP, 0.25), 3)


def real_windows(
    bundle: Bundle, episodes: Sequence[Episode], count: int = 256, seed: int = 0
) -> NDArray[np.float32]:
    """Windows (≤ count, 9, F) of recorded features, drawn evenly over the episodes."""
    rng = np.random.default_rng(seed)
    each = max(1, count // max(len(episodes), 1))
    windows = []
    for episode in episodes:
        for start, stop in episode.segments[:1]:
            values = bundle.features.replay(episode.ticks[start:stop])
            if len(values) < WINDOW:
                continue
            for first in rng.integers(0, len(values) - WINDOW + 1, each):
                windows.append(values[first : first + WINDOW])
        if len(windows) >= count:
            break
    return np.array(windows[:count], dtype=np.float32)
