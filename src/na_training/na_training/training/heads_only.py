# SPDX-License-Identifier: Apache-2.0
"""The last part of a run: encoder frozen and computed once, heads trained on single ticks."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from na_training.data import DataError, Store
from na_training.model import WINDOW, Actuator
from na_training.training.config import TrainConfig
from na_training.training.loss import Labels, estimate_losses

FROZEN = ("encoder.", "heads.effort.")
"""Weights that this part leaves alone: the closed loop stays as it was."""
CHUNK = 1024
ABSENT_SHARE = 0.15
"""Part of each batch whose memory features are hidden, as they are in a rollout."""


class HeadsObjective:
    """Losses of the estimates on ticks drawn one by one, far cheaper than whole pieces.

    Args:
        config: settings.
        store: training ticks.
        model: whose encoder is used as it is now.
    """

    def __init__(self, config: TrainConfig, store: Store, model: Actuator) -> None:
        self.config = config
        self.store = store
        self.latent = latents_of(model, store)
        given = config.category_weights
        names = sorted({run.kind(given) for run in store.runs if run.length >= WINDOW})
        weights = np.array([max(given.get(name, 1.0), 0.0) for name in names])
        if not names or weights.sum() <= 0.0:
            raise DataError(f"no run of {WINDOW} ticks in the categories that are sampled")
        self._edges = np.cumsum(weights / weights.sum())
        self._ticks = [
            np.concatenate(
                [
                    np.arange(run.start + WINDOW - 1, run.stop)
                    for run in store.runs
                    if run.kind(given) == name and run.length >= WINDOW
                ]
            )
            for name in names
        ]

    def draw(self, rng: np.random.Generator, count: int) -> NDArray[np.int64]:
        """Indices of ticks with a full window (count,), categories in their shares."""
        kinds = np.minimum(
            np.searchsorted(self._edges, rng.random(count), "right"), len(self._ticks) - 1
        )
        parts = [
            ticks[rng.integers(len(ticks), size=int((kinds == kind).sum()))]
            for kind, ticks in enumerate(self._ticks)
        ]
        return np.concatenate(parts)

    def losses(self, model: Actuator, rng: np.random.Generator) -> dict[str, Tensor]:
        """Weighted losses by name."""
        index = self.draw(rng, self.config.heads_batch)
        if self.config.heads_dropout:
            torch.manual_seed(int(rng.integers(2**31)))  # so that a resumed run drops the same
        latent = torch.from_numpy(self.latent[index].astype(np.float32))
        labels = Labels(
            torch.from_numpy(self.store.force[index]),
            torch.from_numpy(self.store.contact[index]),
            torch.from_numpy(self.store.restricted[index]),
        )
        if not model.layout.extras:
            estimates = model.estimates(latent, None)
            return _named("heads", estimate_losses(estimates, labels, self.config))
        features = torch.from_numpy(self.store.features[index])
        result = _named(
            "heads", estimate_losses(model.estimates(latent, features), labels, self.config)
        )
        few = torch.from_numpy(rng.random(len(index)) < ABSENT_SHARE)
        hidden = estimate_losses(model.estimates(latent[few], None), labels[few], self.config)
        for name, value in _named("hidden", hidden).items():
            result[name] = ABSENT_SHARE * value
        return result


def _named(prefix: str, losses: dict[str, Tensor]) -> dict[str, Tensor]:
    return {f"{prefix}/{name}": value for name, value in losses.items()}


def latents_of(model: Actuator, store: Store) -> NDArray[np.float16]:
    """Latents (N, width) of every tick with a full window; the others stay zero."""
    out = np.zeros((len(store), model.encoder.width), dtype=np.float16)
    cut = model.layout.basic
    with torch.no_grad():
        for run in store.runs:
            for first in range(run.start, run.stop - WINDOW + 1, CHUNK):
                stop = min(first + CHUNK + WINDOW - 1, run.stop)
                rows = torch.from_numpy(np.array(store.features[first:stop, :cut]))
                latent = model.encoder.latents(model.token(rows[None]))[0]
                out[first + WINDOW - 1 : stop] = latent.numpy()
    return out


def freeze(model: Actuator, dropout: float) -> None:
    """Let only the heads of the estimates be trained, with this dropout in them."""
    model.heads.dropout = dropout
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(not name.startswith(FROZEN))
