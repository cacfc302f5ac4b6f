# SPDX-License-Identifier: Apache-2.0
"""How far a tick lies from the training data, by the mean and scale that the model carries."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from na_core.onnx_metadata import ModelMetadata

Array = NDArray[np.float64]

TYPICAL = 4.0
"""Scaled features up to this are typical: score 0."""


class InputDistance:
    """Score of the basic features: 0 = typical, 1 = where the network's own clamp cuts them off.

    The largest scaled feature decides: beyond the clamp the network cannot see how far away the
    input is, so that its answer, variance included, means nothing.
    """

    def __init__(self, metadata: ModelMetadata) -> None:
        cut = metadata.feature_basic
        self._mean = metadata.feature_mean[:cut]
        self._scale = metadata.feature_scale[:cut]
        self._clamp = metadata.feature_clamp
        self._names = metadata.feature_order[:cut]
        self._buffer = np.empty(cut)

    def score(self, features: Array) -> float:
        """Return the score of the features (F,) of one tick."""
        self._fill(features)
        largest = float(self._buffer.max())
        return max(0.0, (largest - TYPICAL) / (self._clamp - TYPICAL))

    def worst(self, features: Array) -> str:
        """Name and size of the farthest feature, for people."""
        self._fill(features)
        index = int(self._buffer.argmax())
        return (
            f"{self._names[index]} = {features[index]:.4g}, {self._buffer[index]:.1f} deviations "
            f"from the training data's {self._mean[index]:.4g}"
        )

    def _fill(self, features: Array) -> None:
        cut = len(self._buffer)
        np.subtract(features[:cut], self._mean, out=self._buffer)
        np.divide(self._buffer, self._scale, out=self._buffer)
        np.abs(self._buffer, out=self._buffer)
