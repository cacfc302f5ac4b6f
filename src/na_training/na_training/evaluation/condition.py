# SPDX-License-Identifier: Apache-2.0
"""Baselines of the condition score: a threshold, a support vector machine, a random forest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from na_training.data import Episode
from na_training.evaluation.metrics import binary_figures

Array = NDArray[np.float64]

SECONDS = 3.0
"""Length of the pieces that the baselines see [s]."""
ITEMS = ("mean |i|", "std i", "mean |error|", "std q", "mean |q̇|", "slope i over q")


def statistics(episode: Episode, joint: int) -> Array:
    """One row (6,) per piece of `SECONDS`: see `ITEMS`, in A, rad and rad/s."""
    length = max(int(SECONDS / episode.dt), 2)
    rows = []
    for start, stop in episode.segments:
        for first in range(start, stop - length + 1, length):
            cut = slice(first, first + length)
            q = episode.ticks.position[cut, joint]
            current = episode.ticks.current[cut, joint]
            error = episode.ticks.goal[cut, joint] - q
            deviation = q - q.mean()
            slope = (deviation * current).mean() / (np.mean(deviation**2) + 1e-4)
            speed = np.abs(episode.ticks.velocity[cut, joint]).mean()
            rows.append(
                [np.abs(current).mean(), current.std(), np.abs(error).mean(), q.std(), speed, slope]
            )
    return np.array(rows).reshape(-1, len(ITEMS))


def gather(episodes: Sequence[Episode], joint: int) -> tuple[Array, Array]:
    """Rows (N, 6) and labels (N,) of the supervised episodes."""
    rows, labels = [np.zeros((0, len(ITEMS)))], [np.zeros(0)]
    for episode in episodes:
        if np.isfinite(episode.restricted[joint]):
            piece = statistics(episode, joint)
            rows.append(piece)
            labels.append(np.full(len(piece), episode.restricted[joint]))
    return np.concatenate(rows), np.concatenate(labels)


def baseline_figures(
    training: Sequence[Episode], test: Sequence[Episode], joint: int, seed: int = 0
) -> dict[str, dict[str, float]]:
    """Figures of each baseline on `test`, fitted on `training`; empty where a class is missing."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    rows, labels = gather(training, joint)
    other, truth = gather(test, joint)
    if len(set(labels)) < 2 or len(set(truth)) < 2:
        return {}
    slope = len(ITEMS) - 1
    cut = _best_threshold(rows[:, slope], labels)
    scores = {"threshold on slope": other[:, slope] - cut + 0.5}
    machine = make_pipeline(StandardScaler(), SVC(class_weight="balanced", random_state=seed)).fit(
        rows, labels
    )
    scores["SVM"] = machine.decision_function(other) + 0.5
    forest = RandomForestClassifier(200, class_weight="balanced", random_state=seed)
    scores["random forest"] = forest.fit(rows, labels).predict_proba(other)[:, 1]
    return {name: binary_figures(score, truth) for name, score in scores.items()}


def _best_threshold(score: Array, labels: Array) -> float:
    """Threshold of the best balanced accuracy on the training rows."""
    values = np.quantile(score, np.linspace(0.02, 0.98, 97))
    positive = labels > 0.5
    balance = [
        (score[positive] >= value).mean() + (score[~positive] < value).mean() for value in values
    ]
    return float(values[int(np.argmax(balance))])
