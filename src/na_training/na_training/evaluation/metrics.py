# SPDX-License-Identifier: Apache-2.0
"""Definitions of every figure: force errors, gate, condition, and calibration of the variance."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]


def force_figures(force: Array, label: Array) -> dict[str, float]:
    """Errors over rows where both are known.

    Args:
        force: estimates (N, 3) [N].
        label: labels (N, 3) [N].

    Returns:
        frames; mae_x, mae_y, mae_z and mae (mean over components); vector (mean ‖f̂ − f‖); zero
        (the same for f̂ = 0).
    """
    known = np.isfinite(force).all(axis=1) & np.isfinite(label).all(axis=1)
    if not known.any():
        return {"frames": 0.0}
    error = force[known] - label[known]
    each = np.abs(error).mean(axis=0)
    return {
        "frames": float(known.sum()),
        **{f"mae_{axis}": float(value) for axis, value in zip("xyz", each, strict=True)},
        "mae": float(each.mean()),
        "vector": float(np.linalg.norm(error, axis=1).mean()),
        "zero": float(np.linalg.norm(label[known], axis=1).mean()),
    }


def gate_figures(state: Flags, contact: Array) -> dict[str, float]:
    """Precision, recall and share of false frames of a thresholded gate.

    Args:
        state: open or closed (N,).
        contact: 1, 0 or NaN (N,).
    """
    touching, free = contact == 1.0, contact == 0.0
    hits = float((state & touching).sum())
    false = float((state & free).sum())
    return {
        "precision": hits / (hits + false) if hits + false else math.nan,
        "recall": hits / float(touching.sum()) if touching.any() else math.nan,
        "false_share": false / float(free.sum()) if free.any() else math.nan,
    }


def openings(state: Flags, contact: Array) -> int:
    """How often the gate opens at a tick that is labelled free."""
    rising = np.flatnonzero(state & ~np.concatenate([[False], state[:-1]]))
    return int((contact[rising] == 0.0).sum())


def binary_figures(score: Array, label: Array, threshold: float = 0.5) -> dict[str, float]:
    """Accuracy, precision, recall and area under the ROC curve; rows with NaN are left out."""
    known = np.isfinite(score) & np.isfinite(label)
    score, truth = score[known], label[known] > 0.5
    if not truth.any() or truth.all():
        return {"frames": float(known.sum())}
    said = score >= threshold
    hits = float((said & truth).sum())
    return {
        "frames": float(known.sum()),
        "accuracy": float((said == truth).mean()),
        "precision": hits / float(said.sum()) if said.any() else math.nan,
        "recall": hits / float(truth.sum()),
        "auc": area_under_curve(score, truth),
    }


def area_under_curve(score: Array, truth: Flags) -> float:
    """Probability that a positive scores above a negative, ties counting half."""
    order = np.argsort(score, kind="stable")
    ordered = score[order]
    # Ranks, equal scores sharing their mean rank.
    edges = np.flatnonzero(np.diff(ordered) != 0.0) + 1
    starts = np.concatenate([[0], edges])
    stops = np.concatenate([edges, [len(ordered)]])
    ranks = np.empty(len(score))
    ranks[order] = np.repeat((starts + stops + 1) / 2.0, stops - starts)
    positive = int(truth.sum())
    negative = len(truth) - positive
    rank_sum = float(ranks[truth].sum()) - positive * (positive + 1) / 2.0
    return rank_sum / (positive * negative)


def coverage(force: Array, deviation: Array, label: Array) -> dict[str, float]:
    """Share of labels within the predicted 68 % and 95 % bands, per component together."""
    known = np.isfinite(force) & np.isfinite(label) & np.isfinite(deviation)
    if not known.any():
        return {}
    ratio = np.abs(force[known] - label[known]) / deviation[known]
    return {
        "within_68": float((ratio <= 0.9945).mean()),
        "within_95": float((ratio <= 1.9600).mean()),
    }


def error_by_deviation(
    force: Array, deviation: Array, label: Array, bins: int = 5
) -> list[tuple[float, float, int]]:
    """Mean predicted deviation ‖σ‖, mean vector error [N] and frames, in bins of equal count."""
    known = np.isfinite(force).all(axis=1) & np.isfinite(label).all(axis=1)
    known &= np.isfinite(deviation).all(axis=1)
    if known.sum() < bins:
        return []
    size = np.linalg.norm(deviation[known], axis=1)
    error = np.linalg.norm(force[known] - label[known], axis=1)
    order = np.array_split(np.argsort(size), bins)
    return [(float(size[i].mean()), float(error[i].mean()), len(i)) for i in order]
