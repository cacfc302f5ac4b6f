# SPDX-License-Identifier: Apache-2.0
"""Rollouts that go on from update to update, so that short gradients see long-run states."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from na_training.data import Store
from na_training.model import WINDOW

Indices = NDArray[np.int64]


class CarriedRollouts:
    """A fixed number of rollouts; each goes on where the last update left it.

    A gradient over H ticks costs H ticks, but where a servo stands after ten seconds depends on
    where it stopped before. Here every rollout runs for up to `longest` ticks, a gradient through H
    of them at a time (truncated back-propagation through time), so that the states which the
    network meets are those of long rollouts.

    Args:
        store: training ticks.
        batch: number of rollouts.
        longest: ticks after which a rollout starts anew; each draws its own end below that.
        weights: relative share per category.
        columns: number of basic features.
    """

    def __init__(
        self, store: Store, batch: int, longest: int, weights: dict[str, float], columns: int
    ) -> None:
        self.store = store
        self.batch = batch
        self.longest = longest
        self.weights = weights
        self.stops = np.array([run.stop for run in store.runs])
        self.first = np.zeros(batch, dtype=np.int64)
        self.end = np.zeros(batch, dtype=np.int64)
        self.blind = np.zeros(batch, dtype=bool)
        self.carried = np.zeros(batch, dtype=bool)
        self.window = torch.zeros(batch, WINDOW, columns)

    def draw(self, rng: np.random.Generator, horizon: int, dropout: float) -> Indices:
        """Tick indices (batch, 9 + horizon) of the next stretch; ended rollouts start anew.

        Args:
            rng: draws new starts.
            horizon: ticks of this stretch.
            dropout: part of new rollouts without telemetry.
        """
        over = np.flatnonzero(self.first + WINDOW + horizon > self.end)
        if over.size:
            sampler = self.store.sampler(WINDOW + horizon, self.weights)
            start = sampler.draw(rng, over.size)[:, 0]
            span = rng.integers(horizon, max(self.longest, horizon) + 1, size=over.size)
            run_end = self.stops[np.searchsorted(self.stops, start, side="right")]
            self.first[over] = start
            self.end[over] = np.minimum(start + WINDOW + span, run_end)
            self.blind[over] = rng.random(over.size) < dropout
            self.carried[over] = False
        return self.first[:, None] + np.arange(WINDOW + horizon)

    def keep(self, window: Tensor, horizon: int) -> None:
        """Go on from the last nine rows (batch, 9, F) of a stretch; broken ones start anew."""
        window = window.detach().float()
        good = torch.isfinite(window).flatten(1).all(1).numpy()
        self.window = torch.where(torch.from_numpy(good)[:, None, None], window, 0.0)
        self.first = self.first + horizon
        self.carried[:] = True
        self.end[~good] = 0

    def state(self) -> dict[str, Any]:
        """All there is to go on from, for a checkpoint."""
        return {
            "first": torch.from_numpy(self.first.copy()),
            "end": torch.from_numpy(self.end.copy()),
            "blind": torch.from_numpy(self.blind.copy()),
            "carried": torch.from_numpy(self.carried.copy()),
            "window": self.window.clone(),
        }

    def load(self, state: dict[str, Any]) -> None:
        """Take over a `state()` of the same batch."""
        for name in ("first", "end", "blind", "carried"):
            setattr(self, name, state[name].numpy().copy())
        self.window = state["window"].clone()
