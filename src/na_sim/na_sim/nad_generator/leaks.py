# SPDX-License-Identifier: Apache-2.0
"""Leak audit: can a small classifier tell contact or payload from channels that should not know?

It sees only (i) the gripper's channels, (ii) temperatures and voltages, or (iii) the time since the
start, and is judged on episode groups that it was not trained on. What it finds above chance is a
giveaway of the data set, unless physics makes it honest (a loaded arm does draw the supply down).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

CONTACT_FORCE = 0.5  # N, true force that counts as contact
STRIDE = 12  # every twelfth tick is looked at
WINDOW = 9  # ticks summarised per channel
HIDDEN = 192  # random hidden units of the classifier
RIDGE = 1e-2
FOLDS = 5
DIVISIONS = 4  # divisions into folds that are averaged
SHUFFLES = 8
ALLOWED = 0.05  # AUC above chance
SURE = 2.0  # standard deviations of chance, below which an excess proves nothing
UNCLEAR = "the excess is within what chance does with so few episodes; audit more minutes"
CHANNELS = ("gripper", "temperature_voltage", "temperature", "time")
TARGETS = ("contact", "payload")
HONEST = {
    "temperature_voltage": "what remains is physics: a loaded arm draws more current, which lowers "
    "the shared supply (0.25 ohm) and warms the motors within minutes",
}


@dataclass(frozen=True)
class EpisodeView:
    """The audit's view of one episode: features (F, d) per channel set, targets (F,), group."""

    name: str
    group: str
    features: dict[str, Array]
    targets: dict[str, NDArray[np.bool_]]


@dataclass(frozen=True)
class LeakRow:
    """One line of the audit: AUC with true and with shuffled episodes, and the verdict.

    `noise` is the standard deviation of the shuffled AUCs: what chance does with so few episodes.
    """

    channels: str
    target: str
    auc: float
    shuffled: float
    noise: float
    excess: float
    verdict: str
    note: str = ""


def windowed(values: Array, ticks: NDArray[np.int64]) -> Array:
    """Latest value, window mean and window range of (T, c) at `ticks`; (F, 3 c)."""
    index = ticks[:, None] - np.arange(WINDOW)[None, :]
    window = values[np.maximum(index, 0)]
    return np.concatenate([values[ticks], window.mean(axis=1), np.ptp(window, axis=1)], axis=1)


def view_of(path: Path) -> EpisodeView:
    """Load one episode and its truth; ValueError when a file lacks what is needed."""
    truth_path = path.parent / "truth" / path.name
    if not truth_path.exists():
        raise ValueError(f"{path}: no {truth_path}; the audit needs the truth beside the data")
    with np.load(path) as data, np.load(truth_path) as truth:
        info: dict[str, Any] = json.loads(str(data["info"]))
        position, goal = data["position"], data["goal_sent"]
        ticks = np.arange(WINDOW, len(position), STRIDE)
        gripper = np.stack(
            [
                position[:, -1],
                data["velocity"][:, -1],
                goal[:, -1],
                goal[:, -1] - position[:, -1],
                np.nan_to_num(data["current"][:, -1]),
            ],
            axis=1,
        )
        electric = np.concatenate([data["temperature"], data["voltage"]], axis=1)
        times = data["step_time"][ticks][:, None]
        force = np.linalg.norm(truth["force"], axis=1)
        label = np.nan_to_num(data["label_mass"])
        return EpisodeView(
            name=path.stem,
            group=info["split_group"] or path.stem,
            features={
                "gripper": windowed(gripper, ticks),
                "temperature_voltage": windowed(electric, ticks),
                "temperature": windowed(data["temperature"], ticks),
                "time": np.concatenate([times, np.sin(times / 3.0), np.cos(times / 3.0)], axis=1),
            },
            targets={
                "contact": np.asarray(force[ticks] > CONTACT_FORCE),
                "payload": np.asarray(label[ticks] > 0.01),
            },
        )


def load_data_set(folder: Path) -> list[EpisodeView]:
    """Views of all episodes of a data set written with `--format npz`."""
    paths = sorted(p for p in folder.rglob("*.npz") if p.parent.name != "truth")
    if not paths:
        raise ValueError(
            f"{folder}: no *.npz episodes; generate some with ./na nad generate --format npz"
        )
    return [view_of(path) for path in paths]


def area_under_curve(score: Array, truth: NDArray[np.bool_]) -> float:
    """Probability that a positive scores above a negative (ties count half); NaN without both."""
    positives = int(truth.sum())
    negatives = len(truth) - positives
    if positives == 0 or negatives == 0:
        return float("nan")
    order = np.argsort(score, kind="stable")
    ranks = np.empty(len(score))
    ranks[order] = np.arange(1, len(score) + 1)
    values, inverse, counts = np.unique(score, return_inverse=True, return_counts=True)
    sums = np.zeros(len(values))
    np.add.at(sums, inverse, ranks)
    ranks = (sums / counts)[inverse]
    return float((ranks[truth].sum() - positives * (positives + 1) / 2) / (positives * negatives))


class SmallClassifier:
    """Ridge regression on a layer of random tanh units: small, quick and deterministic."""

    def __init__(self, inputs: int, seed: int) -> None:
        rng = np.random.default_rng([seed, 0x1EAC])
        self._weights = rng.standard_normal((inputs, HIDDEN)) / np.sqrt(inputs)
        self._offsets = rng.uniform(-1.5, 1.5, HIDDEN)
        self._mean = np.zeros(inputs)
        self._scale = np.ones(inputs)
        self._out = np.zeros(HIDDEN + inputs + 1)

    def _hidden(self, x: Array) -> Array:
        z = np.clip((x - self._mean) / self._scale, -6.0, 6.0)
        units = np.tanh(1.5 * z @ self._weights + self._offsets)
        return np.concatenate([units, z, np.ones((len(x), 1))], axis=1)

    def fit(self, x: Array, y: NDArray[np.bool_]) -> SmallClassifier:
        """Fit to features (F, d) and labels (F,), both classes weighted alike."""
        self._mean, self._scale = x.mean(axis=0), x.std(axis=0) + 1e-9
        h = self._hidden(x)
        weight = np.where(y, 0.5 / max(y.mean(), 1e-6), 0.5 / max(1.0 - y.mean(), 1e-6))
        target = np.where(y, 1.0, -1.0)
        normal = (h * weight[:, None]).T @ h + RIDGE * len(x) * np.eye(h.shape[1])
        self._out = np.linalg.solve(normal, h.T @ (weight * target))
        return self

    def score(self, x: Array) -> Array:
        """Scores (F,), larger for more likely positive."""
        return np.asarray(self._hidden(x) @ self._out)


def _folds(views: Sequence[EpisodeView], seed: int) -> NDArray[np.int64]:
    groups = sorted({view.group for view in views})
    rng = np.random.default_rng([seed, 0xF01D])
    number = dict(zip(groups, rng.permutation(len(groups)) % FOLDS, strict=True))
    return np.array([number[view.group] for view in views])


def cross_validated_auc(
    views: Sequence[EpisodeView],
    channels: str,
    labels: Sequence[NDArray[np.bool_]],
    seed: int,
) -> float:
    """Mean AUC over folds of groups; `labels` holds one array per view."""
    folds = _folds(views, seed)
    found = []
    for fold in range(FOLDS):
        train = [k for k in range(len(views)) if folds[k] != fold]
        test = [k for k in range(len(views)) if folds[k] == fold]
        if not train or not test:
            continue
        x = np.concatenate([views[k].features[channels] for k in train])
        y = np.concatenate([labels[k] for k in train])
        if y.all() or not y.any():
            continue
        model = SmallClassifier(x.shape[1], seed).fit(x, y)
        score = np.concatenate([model.score(views[k].features[channels]) for k in test])
        found.append(area_under_curve(score, np.concatenate([labels[k] for k in test])))
    return float(np.nanmean(found)) if found else float("nan")


def _shuffled(
    views: Sequence[EpisodeView], target: str, rng: np.random.Generator
) -> list[NDArray[np.bool_]]:
    """Labels of other episodes, turned in time: what chance looks like with so few episodes."""
    order = rng.permutation(len(views))
    out = []
    for k, view in enumerate(views):
        other = views[order[k]].targets[target]
        turned = np.roll(other, int(rng.integers(len(other))))
        out.append(np.resize(turned, len(view.targets[target])))
    return out


def audit(
    views: Sequence[EpisodeView],
    *,
    seed: int = 0,
    divisions: int = DIVISIONS,
    shuffles: int = SHUFFLES,
) -> list[LeakRow]:
    """Audit every channel set against every target."""
    rng = np.random.default_rng([seed, 0x5FFE])
    rows = []
    for channels in CHANNELS:
        for target in TARGETS:
            labels = [view.targets[target] for view in views]
            auc = float(
                np.mean(
                    [
                        cross_validated_auc(views, channels, labels, seed + k)
                        for k in range(divisions)
                    ]
                )
            )
            by_chance = [
                cross_validated_auc(views, channels, _shuffled(views, target, rng), seed)
                for _ in range(shuffles)
            ]
            chance, noise = float(np.mean(by_chance)), float(np.std(by_chance))
            excess = auc - max(chance, 0.5)
            note = ""
            verdict = "ok"
            if excess > ALLOWED:
                note = HONEST.get(channels, "")
                verdict = "physics" if note else "leak"
                if excess < SURE * noise:
                    verdict, note = "unclear", UNCLEAR
            rows.append(LeakRow(channels, target, auc, chance, noise, excess, verdict, note))
    return rows
