# SPDX-License-Identifier: Apache-2.0
"""A network on top of an identified model: what rigid bodies and friction leave over, clipped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from na_training.classical.samples import Samples
from na_training.classical.torch_fit import FitSettings, fit, mlp, tensor, validation_rows

Array = NDArray[np.float64]
Predictor = Callable[[Samples], Array]

CLIP = 3.0
"""The network may add at most so many residual standard deviations per joint."""


def inputs_of(samples: Samples) -> Array:
    """Inputs (N, 5 n): sine, cosine, speed, acceleration, smooth sign of the speed."""
    sign = np.tanh(samples.qd / 0.05)
    return np.concatenate(
        [np.sin(samples.q), np.cos(samples.q), samples.qd, samples.qdd, sign], axis=1
    )


@dataclass(frozen=True)
class ResidualNetwork:
    """Base model plus clipped network.

    Attributes:
        base: the model below.
        network: from scaled inputs to residuals in units of `scale`.
        mean, spread: of the inputs (5 n,).
        scale: residual deviation per joint (n,) [N·m or N].
        clip: bound of the network's part in units of `scale`.
    """

    base: Predictor
    network: nn.Module
    mean: Array
    spread: Array
    scale: Array
    clip: float = CLIP

    def correction(self, samples: Samples) -> Array:
        """The network's part (N, n) [N·m or N], within ± clip · scale."""
        scaled = np.clip((inputs_of(samples) - self.mean) / self.spread, -8.0, 8.0)
        with torch.no_grad():
            out = self.network(tensor(scaled)).numpy().astype(np.float64)
        return np.asarray(np.clip(out, -self.clip, self.clip) * self.scale)

    def predict(self, samples: Samples) -> Array:
        """Efforts (N, n) [N·m or N]."""
        return self.base(samples) + self.correction(samples)


def fit_residual_network(
    base: Predictor,
    samples: Samples,
    *,
    width: int = 48,
    settings: FitSettings | None = None,
) -> ResidualNetwork:
    """Fit the network to what `base` leaves of the measured efforts.

    Args:
        base: identified model.
        samples: training recordings.
        width: of both hidden layers.
        settings: of the fit.
    """
    settings = settings or FitSettings(epochs=120, weight_decay=1e-2)
    left = samples.effort - base(samples)
    scale = np.maximum(left.std(axis=0), 1e-9)
    rows = inputs_of(samples)
    mean, spread = rows.mean(axis=0), np.maximum(rows.std(axis=0), 1e-6)
    held = validation_rows(len(rows))
    x, y = tensor((rows - mean) / spread), tensor(left / scale)
    n = samples.q.shape[1]
    network = mlp(rows.shape[1], n, width, 2, settings.seed)
    chosen = torch.from_numpy(held)
    fit(
        network,
        lambda net, part: nn.functional.smooth_l1_loss(net(part[0]), part[1]),
        (x[~chosen], y[~chosen]),
        (x[chosen], y[chosen]),
        settings,
    )
    return ResidualNetwork(base, network, mean, spread, scale)
