# SPDX-License-Identifier: Apache-2.0
"""Gate thresholds, scale of the variance and windows for the parity check, from recordings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from na_training.data import Episode
from na_training.evaluation.predict import Prediction, predict_all
from na_training.model import WINDOW
from na_training.training.bundle import Bundle

FALSE_SHARE = 0.003
"""Share of free frames above the opening threshold that is aimed at."""
LOWEST, HIGHEST, GAP = 0.5, 0.97, 0.25
ONE_SIGMA = 0.9945
"""Deviations within which 68 % of a normal variable lies."""
ENOUGH = 300
"""Fewer labelled components than this do not calibrate a variance."""


def choose_thresholds(
    bundle: Bundle, episodes: Sequence[Episode], predictions: Sequence[Prediction] | None = None
) -> tuple[float, float]:
    """Return opening and closing thresholds: few free frames reach the first.

    Args:
        bundle: the model.
        episodes: recordings that are not used for any reported figure.
        predictions: of the model on them, made here when None.
    """
    if predictions is None:
        predictions = predict_all(bundle.model, bundle.features, episodes)
    scores = [
        prediction.gate[(episode.contact == 0.0) & np.isfinite(prediction.gate)]
        for episode, prediction in zip(episodes, predictions, strict=True)
    ]
    free = np.concatenate(scores) if scores else np.zeros(0)
    if not len(free):
        return bundle.gate_thresholds
    on = float(np.clip(np.quantile(free, 1.0 - FALSE_SHARE), LOWEST, HIGHEST))
    return round(on, 3), round(max(on - GAP, 0.25), 3)


def calibrate_variance(
    bundle: Bundle, episodes: Sequence[Episode], predictions: Sequence[Prediction]
) -> float:
    """Scale the predicted deviation so that 68 % of the contact labels lie within it.

    The variance learned on the training split is too small elsewhere, since part of the error is
    fitted there. Changes the bias of the log-variance head.

    Args:
        bundle: the model; changed.
        episodes: recordings that the model was not trained on.
        predictions: of the model on them.

    Returns:
        The factor on the deviation; 1 where there are too few labels.
    """
    ratios = []
    for episode, prediction in zip(episodes, predictions, strict=True):
        ratio = np.abs(prediction.force - episode.force) / prediction.deviation
        touching = episode.contact == 1.0
        ratios.append(ratio[touching & np.isfinite(ratio).all(axis=1)].ravel())
    every = np.concatenate(ratios) if ratios else np.zeros(0)
    if len(every) < ENOUGH:
        return 1.0
    factor = float(np.quantile(every, 0.68)) / ONE_SIGMA
    with torch.no_grad():
        bundle.model.heads.log_variance[-1].bias += 2.0 * np.log(factor)
    return factor


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
