# SPDX-License-Identifier: Apache-2.0
"""Supervised fits of small networks: Adam, cosine rate, the weights of the best validation loss."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

Array = NDArray[np.float64]


@dataclass(frozen=True)
class FitSettings:
    """Settings of a supervised fit.

    Attributes:
        epochs: passes over the data.
        batch: rows per update; at most an eighth of the data.
        updates: at least so many updates, by more passes where the data are few.
        rate: learning rate at the start [1].
        weight_decay: of AdamW.
        seed: of weights and shuffling.
    """

    epochs: int = 60
    batch: int = 256
    rate: float = 3e-3
    weight_decay: float = 1e-4
    seed: int = 0
    updates: int = 0


def tensor(values: Array) -> Tensor:
    """A float32 copy of an array."""
    return torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32))


def fit(
    network: nn.Module,
    loss: Callable[[nn.Module, tuple[Tensor, ...]], Tensor],
    training: tuple[Tensor, ...],
    validation: tuple[Tensor, ...],
    settings: FitSettings,
) -> float:
    """Train in place; returns the best validation loss, whose weights are kept.

    Args:
        network: its parameters are trained.
        loss: of a batch of rows.
        training: tensors with the same number of rows.
        validation: likewise; decides which epoch is kept.
        settings: of the fit.
    """
    generator = torch.Generator().manual_seed(settings.seed)
    rows = len(training[0])
    batch = max(min(settings.batch, rows // 8), 1)
    each = max(rows // batch, 1)
    epochs = max(settings.epochs, -(-settings.updates // each))
    steps = each * epochs
    optimizer = torch.optim.AdamW(
        network.parameters(), lr=settings.rate, weight_decay=settings.weight_decay
    )
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    best, kept = float("inf"), copy.deepcopy(network.state_dict())
    for _ in range(epochs):
        network.train()
        order = torch.randperm(rows, generator=generator)
        for first in range(0, rows - batch + 1, batch):
            index = order[first : first + batch]
            optimizer.zero_grad(set_to_none=True)
            value = loss(network, tuple(part[index] for part in training))
            value.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            schedule.step()
        network.eval()
        with torch.set_grad_enabled(getattr(network, "needs_gradient", False)):
            score = float(loss(network, validation).detach())
        if score < best:
            best, kept = score, copy.deepcopy(network.state_dict())
    network.load_state_dict(kept)
    network.eval()
    return best


def mlp(inputs: int, outputs: int, width: int, layers: int, seed: int) -> nn.Sequential:
    """A fresh perceptron with Softsign hidden layers, weights from `seed`."""
    torch.manual_seed(seed)
    parts: list[nn.Module] = []
    size = inputs
    for _ in range(layers):
        parts += [nn.Linear(size, width), nn.Softsign()]
        size = width
    return nn.Sequential(*parts, nn.Linear(size, outputs))


def validation_rows(length: int, share: float = 0.15, block: int = 200) -> NDArray[np.bool_]:
    """Rows (length,) kept for validation: whole blocks, spread evenly, as neighbours are alike."""
    block = max(min(block, length // 12), 1)
    number = np.arange(length) // block
    every = max(round(1.0 / share), 2)
    return np.asarray(number % every == every // 2)
