# SPDX-License-Identifier: Apache-2.0
"""A feature set with the constants of one arm, fitted to recordings of that arm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from na_core.features import (
    FeatureSet,
    HysteresisFeatures,
    MotorModel,
    PhysicsFeatures,
    make_feature_set,
)
from na_core.robot_spec import RobotSpec
from na_training.data.drive_fit import fit_drives
from na_training.data.episode import Episode
from na_training.data.motor_fit import fit_motor

OWN_SECONDS = 180.0
"""A unit with less than this in the training set has no constants of its own [s]."""


def calibrated_features(
    name: str,
    spec: RobotSpec,
    dt: float,
    episodes: Sequence[Episode],
    start: FeatureSet | None = None,
    *,
    near: bool = False,
) -> FeatureSet:
    """Feature set `name` with motor, gear and friction constants fitted to `episodes`.

    Args:
        name: one of `na_core.features.FEATURE_SETS`; `basic35` has no constants.
        spec: the robot.
        dt: seconds per tick.
        episodes: recordings of one arm.
        start: a set of another unit, whose gears the fit starts from, and its motors when `near`.
        near: hold the constants near those of that unit, for a few minutes of a new arm.
    """
    if name == "basic35":
        return make_feature_set(name, spec, dt)
    motor = fit_motor(spec, episodes)
    known = start.gears if isinstance(start, HysteresisFeatures) else None
    near = near and known is not None
    if near and isinstance(start, PhysicsFeatures):
        motor = _friction_halfway(start.motor, motor)
    motor, gears = fit_drives(spec, episodes, motor, known, near=near)
    return make_feature_set(
        name, spec, dt, motor, gears if name == HysteresisFeatures.name else None
    )


def _friction_halfway(old: MotorModel, new: MotorModel) -> MotorModel:
    """The motor of another unit with friction half way to what a few minutes of this one show.

    That friction is off by what little moved, the other unit's by what units of one make differ in.
    """
    return replace(
        old,
        coulomb=0.5 * (old.coulomb + new.coulomb),
        viscous=0.5 * (old.viscous + new.viscous),
    )


def main_unit(episodes: Sequence[Episode]) -> str:
    """The unit of which there are most ticks."""
    ticks: dict[str, int] = {}
    for episode in episodes:
        ticks[episode.unit] = ticks.get(episode.unit, 0) + episode.length
    return max(ticks, key=lambda unit: ticks[unit])


def other_units(episodes: Sequence[Episode], main: str) -> dict[str, list[Episode]]:
    """Recordings of every unit but `main` that has enough of them."""
    units: dict[str, list[Episode]] = {}
    for episode in episodes:
        if episode.unit != main:
            units.setdefault(episode.unit, []).append(episode)
    return {
        unit: found
        for unit, found in units.items()
        if float(np.nansum([e.length * e.dt for e in found])) >= OWN_SECONDS
    }
