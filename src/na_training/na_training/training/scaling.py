# SPDX-License-Identifier: Apache-2.0
"""Scales of features and efforts, from the training split only."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from na_core.features import FeatureSet
from na_core.features.basic import CHANNELS
from na_core.robot_spec import RobotSpec

Array = NDArray[np.float64]

VOLTAGE_SCALE = 0.25  # V around nominal
TEMPERATURE_MEAN, TEMPERATURE_SCALE = 40.0, 8.0  # °C
EFFORT_SHARE = 0.25
"""A head output of one is this part of the effort limit."""


def feature_scales(
    features: FeatureSet, values: NDArray[np.float32], spec: RobotSpec
) -> tuple[Array, Array]:
    """Mean and scale of every feature (F,), from training rows (N, F).

    Position and goal share mean and deviation of the position; velocity, error and current are
    divided by their deviation about zero; voltage and temperature have fixed scales; memory
    features are centred and divided by their deviation.
    """
    rows = values if len(values) <= 200_000 else values[:: len(values) // 200_000 + 1]
    mean = rows.mean(axis=0, dtype=np.float64)
    deviation = rows.std(axis=0, dtype=np.float64)
    width = len(CHANNELS)
    nominal = spec.supply.nominal_voltage if spec.supply is not None else 0.0
    for joint in range(spec.n):
        at = {name: joint * width + index for index, name in enumerate(CHANNELS)}
        mean[at["goal"]], deviation[at["goal"]] = mean[at["q"]], deviation[at["q"]]
        for name in ("qd", "error", "current"):
            column = rows[:, at[name]].astype(np.float64)
            mean[at[name]], deviation[at[name]] = 0.0, np.sqrt(np.mean(column**2))
        mean[at["voltage"]], deviation[at["voltage"]] = nominal, VOLTAGE_SCALE
        mean[at["temperature"]] = TEMPERATURE_MEAN
        deviation[at["temperature"]] = TEMPERATURE_SCALE
    # A feature that never moved says nothing; a scale of one keeps it finite.
    deviation[deviation < 1e-7] = 1.0
    if not (np.isfinite(mean).all() and np.isfinite(deviation).all()):
        bad = features.names[int(np.flatnonzero(~np.isfinite(mean * deviation))[0])]
        raise ValueError(f"feature {bad}: its scale is not finite; is it measured at all?")
    return mean, deviation


def effort_scale(spec: RobotSpec) -> Array:
    """Effort of a head output of one (n,) [N·m or N]."""
    return EFFORT_SHARE * np.asarray(spec.effort_limit)


def pose_unit(spec: RobotSpec, degrees: float) -> Array:
    """Position error of `degrees` at the servo, in joint units (n,) [rad or m]."""
    ratio = np.array([joint.ratio for joint in spec.joints])
    return np.asarray(np.deg2rad(degrees) * ratio)
