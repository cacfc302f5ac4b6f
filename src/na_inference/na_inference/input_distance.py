# SPDX-License-Identifier: Apache-2.0
"""How far a tick lies from the training data, by the mean and scale that the model carries."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from na_core.onnx_metadata import ModelMetadata

Array = NDArray[np.float64]

TYPICAL = 4.0
"""Scaled features up to this are typical: score 0."""
OF_THE_POSE = (".gravity", "force_map.")
"""Parts of names of features that follow from the joint positions alone."""


class InputDistance:
    """Score of a tick: 0 = typical, 1 = where the network's own clamp cuts its features off.

    The largest scaled feature decides: beyond the clamp the network cannot see how far away the
    input is, so that its answer, variance included, means nothing. Measured values count, and what
    follows from the pose: every joint may be at a usual position and the arm in a pose that no
    recording visited. Features of the force do not: an unusual force is what one wants to know.
    """

    def __init__(self, metadata: ModelMetadata) -> None:
        order, basic = metadata.feature_order, metadata.feature_basic
        pose = [k for k, name in enumerate(order) if any(part in name for part in OF_THE_POSE)]
        self._columns = np.array([*range(basic), *(k for k in pose if k >= basic)])
        self._mean = metadata.feature_mean[self._columns]
        self._scale = metadata.feature_scale[self._columns]
        self._clamp = metadata.feature_clamp
        self._names = [order[k] for k in self._columns]
        self._buffer = np.empty(len(self._columns))

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
            f"{self._names[index]} = {features[self._columns[index]]:.4g}, "
            f"{self._buffer[index]:.1f} deviations from the training data's "
            f"{self._mean[index]:.4g}"
        )

    def _fill(self, features: Array) -> None:
        self._buffer[:] = features[self._columns]
        self._buffer -= self._mean
        self._buffer /= self._scale
        np.abs(self._buffer, out=self._buffer)
