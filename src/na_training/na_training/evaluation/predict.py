# SPDX-License-Identifier: Apache-2.0
"""Runs a model over whole episodes on measured states, the regime of the live node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from na_core.features import FeatureSet
from na_training.data import Episode
from na_training.data.store import replay_groups
from na_training.model import WINDOW, Actuator

Array = NDArray[np.float64]
CHUNK = 512
OBSERVED = {"physics": "force_slow", "gears": "force_link"}
"""Forces without a network that stand beside the model's, and their features."""


@dataclass(frozen=True)
class Prediction:
    """Outputs for every tick of one episode; NaN where no full window precedes the tick.

    Attributes:
        effort: raw effort (T, n) [N·m or N].
        force: ungated force (T, 3) [N].
        gate: contact probability (T,).
        condition: probability that a joint is restricted (T, n).
        deviation: predicted standard deviation of each force component (T, 3) [N].
        physics: force by the momentum observer alone (T, 3) [N]; NaN without physics features.
        gears: force by the gear observer alone (T, 3) [N]; NaN without `hysteresis` features.
    """

    effort: Array
    force: Array
    gate: Array
    condition: Array
    deviation: Array
    physics: Array
    gears: Array


Predictor = Callable[[Episode], Prediction]


def predict(model: Actuator, features: FeatureSet, episode: Episode) -> Prediction:
    """Run the model over one episode; the memory starts anew in every run of good ticks."""
    return predict_all(model, features, [episode])[0]


def predict_all(
    model: Actuator, features: FeatureSet, episodes: Sequence[Episode]
) -> list[Prediction]:
    """Predictions of many episodes, in order."""
    model.eval()
    arrays = [_empty(episode) for episode in episodes]
    spans = [(index, a, b) for index, e in enumerate(episodes) for a, b in e.segments]
    observed = {
        name: columns
        for name, stem in OBSERVED.items()
        if (columns := force_columns(features, stem)) is not None
    }
    pieces = [episodes[index].ticks[a:b] for index, a, b in spans]
    for group, values in replay_groups(pieces, features):
        for number, rows in zip(group, values, strict=True):
            index, start, _ = spans[number]
            for name, columns in observed.items():
                arrays[index][name][start : start + len(rows)] = rows[:, columns]
            _run(model, rows, arrays[index], int(start))
    return [Prediction(gate=out.pop("gate")[:, 0], **out) for out in arrays]


def _empty(episode: Episode) -> dict[str, Array]:
    length, n = episode.ticks.shape
    widths = {"effort": n, "force": 3, "gate": 1, "condition": n, "deviation": 3}
    widths.update(dict.fromkeys(OBSERVED, 3))
    return {name: np.full((length, width), np.nan) for name, width in widths.items()}


def _run(model: Actuator, values: Array, out: dict[str, Array], start: int) -> None:
    """Fill in the outputs of one run of ticks whose first is tick `start` of the episode."""
    rows = torch.from_numpy(values.astype(np.float32))
    for first in range(0, len(rows) - WINDOW + 1, CHUNK):
        piece = rows[first : first + CHUNK + WINDOW - 1]
        with torch.no_grad():
            result = model.sequence(piece[None])
        at = slice(start + first + WINDOW - 1, start + first + len(piece))
        out["effort"][at] = result.effort[0].numpy()
        out["force"][at] = result.force[0].numpy()
        out["gate"][at] = torch.sigmoid(result.gate[0]).numpy()
        out["condition"][at] = torch.sigmoid(result.condition[0]).numpy()
        out["deviation"][at] = torch.exp(0.5 * result.log_variance[0]).numpy()


def force_columns(features: FeatureSet, stem: str) -> list[int] | None:
    """Columns of a force among the features; None where there are none."""
    names = [f"{stem}.{axis}" for axis in "xyz"]
    if any(name not in features.names for name in names):
        return None
    return [features.names.index(name) for name in names]


def gate_states(probability: Array, on: float, off: float, dwell: int = 3) -> NDArray[np.bool_]:
    """Thresholded gate with hysteresis: opens after `dwell` ticks at or above `on`, closes after
    as many below `off`. NaN counts as closed.

    Args:
        probability: (T,).
        on: opens at or above.
        off: closes below.
        dwell: ticks in a row that are needed.
    """
    state = np.zeros(len(probability), dtype=bool)
    is_open, count = False, 0
    for index, value in enumerate(np.nan_to_num(probability)):
        against = value < off if is_open else value >= on
        count = count + 1 if against else 0
        if count >= dwell:
            is_open, count = not is_open, 0
        state[index] = is_open
    return state
