# SPDX-License-Identifier: Apache-2.0
"""Gaussian process on a sample of the data: effort per joint with an error bar."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from na_training.classical.residual_network import Predictor, inputs_of
from na_training.classical.samples import Samples

Array = NDArray[np.float64]

SAMPLE = 500
"""Rows that the process remembers; cost grows with the cube."""


@dataclass(frozen=True)
class GaussianProcess:
    """One process per joint on what a base model leaves (or on all of the effort).

    Attributes:
        base: model below, None for none.
        processes: one scikit-learn regressor per joint.
        mean, spread: of the inputs (5 n,).
    """

    base: Predictor | None
    processes: tuple[Any, ...]
    mean: Array
    spread: Array

    def predict_with_deviation(self, samples: Samples) -> tuple[Array, Array]:
        """Efforts and their standard deviations, noise included, both (N, n) [N·m or N]."""
        rows = (inputs_of(samples) - self.mean) / self.spread
        pairs = [process.predict(rows, return_std=True) for process in self.processes]
        value = np.stack([pair[0] for pair in pairs], axis=1)
        if self.base is not None:
            value = value + self.base(samples)
        return value, np.stack([pair[1] for pair in pairs], axis=1)

    def predict(self, samples: Samples) -> Array:
        """Efforts (N, n) [N·m or N]."""
        return self.predict_with_deviation(samples)[0]


def fit_gaussian_process(
    samples: Samples, base: Predictor | None = None, *, size: int = SAMPLE, seed: int = 0
) -> GaussianProcess:
    """Fit on `size` random rows; kernel: amplitude, one length, white noise, by likelihood.

    Args:
        samples: training recordings.
        base: model whose remainder is learned; None learns the whole effort.
        size: rows that are kept.
        seed: of the draw.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    rng = np.random.default_rng(seed)
    chosen = rng.choice(len(samples), min(size, len(samples)), replace=False)
    some = samples[chosen]
    rows = inputs_of(samples)
    mean, spread = rows.mean(axis=0), np.maximum(rows.std(axis=0), 1e-6)
    left = some.effort - (base(some) if base is not None else 0.0)
    processes = []
    for joint in range(left.shape[1]):
        kernel = ConstantKernel(1.0, (1e-3, 1e3)) * RBF(5.0, (0.5, 100.0)) + WhiteKernel(
            0.1, (1e-4, 10.0)
        )
        process = GaussianProcessRegressor(kernel, normalize_y=True, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            processes.append(process.fit((rows[chosen] - mean) / spread, left[:, joint]))
    return GaussianProcess(base, tuple(processes), mean, spread)
