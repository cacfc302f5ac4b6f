# SPDX-License-Identifier: Apache-2.0
"""Emulated six-axis force/torque sensor: cross-talk, bias, drift and noise at 100 Hz."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

FORCE_NOISE = 0.03  # N, standard deviation of one sample
TORQUE_NOISE = 0.002  # N m
FORCE_BIAS = 0.05  # N, left after taring
TORQUE_BIAS = 0.003  # N m
DRIFT = 0.02  # N over a minute
CROSS_TALK = 0.008  # relative, standard deviation of each matrix entry
SENSOR_SCALE = np.array([FORCE_NOISE] * 3 + [TORQUE_NOISE] * 3)


class ForceSensor:
    """One sensor with its own calibration error, from a seed."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        mix = np.eye(6) + CROSS_TALK * rng.standard_normal((6, 6))
        # Forces [N] leak into torques [N m] and back with the sensor's size of about 4 cm.
        mix[3:, :3] *= 0.04
        mix[:3, 3:] /= 0.04
        self.matrix = mix
        self.bias = np.concatenate(
            [rng.normal(0.0, FORCE_BIAS, 3), rng.normal(0.0, TORQUE_BIAS, 3)]
        )
        self.drift = np.concatenate([rng.normal(0.0, DRIFT, 3), np.zeros(3)]) / 60.0

    def measure(self, wrench: Array, times: Array) -> Array:
        """Readings (S, 6) of true wrenches (S, 6) in the sensor's frame at `times` (S,) [s]."""
        noise = self._rng.standard_normal(wrench.shape) * SENSOR_SCALE
        drift = times[:, None] * self.drift
        return np.asarray(wrench @ self.matrix.T + self.bias + drift + noise)
