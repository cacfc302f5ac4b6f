# SPDX-License-Identifier: Apache-2.0
"""Classical observers of external force, stepped the same way live and in replay."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from na_core.features.gears import GearModel
from na_core.features.motor import MotorModel
from na_core.observers.base import Observer, ObserverError
from na_core.observers.disturbance import DisturbanceObserver
from na_core.observers.estimator import Estimate, ForceEstimator, arm_of, build
from na_core.observers.force import force_from_effort
from na_core.observers.gate import DeadBand
from na_core.observers.gears import GearLoadObserver
from na_core.observers.id_friction import IdFriction
from na_core.observers.id_linear import IdLinear
from na_core.observers.kalman import KalmanObserver
from na_core.observers.momentum import MomentumObserver
from na_core.observers.momentum_memory import MomentumMemoryObserver

if TYPE_CHECKING:
    from na_core.robot_spec import RobotSpec

OBSERVERS: dict[str, type[Observer]] = {
    kind.name: kind
    for kind in (
        IdLinear,
        IdFriction,
        MomentumObserver,
        MomentumMemoryObserver,
        KalmanObserver,
        DisturbanceObserver,
        GearLoadObserver,
    )
}
"""Observers by name: id_linear, id_friction, gmo, gmo_memory, kalman, dob, gears."""

__all__ = [
    "OBSERVERS",
    "DeadBand",
    "DisturbanceObserver",
    "Estimate",
    "ForceEstimator",
    "GearLoadObserver",
    "IdFriction",
    "IdLinear",
    "KalmanObserver",
    "MomentumMemoryObserver",
    "MomentumObserver",
    "Observer",
    "ObserverError",
    "estimator_from_json",
    "force_from_effort",
    "make_estimator",
]

UNTUNED_GATE = DeadBand(1.0, 0.6)
"""Dead band of an estimator that was never tuned [N]."""


def make_estimator(
    name: str,
    spec: RobotSpec,
    dt: float,
    motor: MotorModel | None = None,
    gate: DeadBand = UNTUNED_GATE,
    gears: GearModel | None = None,
    **settings: float,
) -> ForceEstimator:
    """Return an estimator of one kind for a robot.

    Args:
        name: a key of `OBSERVERS`.
        spec: the robot.
        dt: seconds per tick.
        motor: calibrated constants; published ratings without friction when None.
        gate: dead band.
        gears: gears and friction, for `gears`; guesses from published ratings when None.
        settings: of the observer.

    Raises:
        ObserverError: unknown name or setting.
    """
    kind = _kind(name)
    motor = motor or MotorModel.published(spec)
    if kind.needs_gears and gears is None:
        gears = GearModel.guessed(spec)
    return ForceEstimator(arm_of(spec, motor), kind(motor, dt, gears, **settings), gate)


def estimator_from_json(values: Mapping[str, Any], spec: RobotSpec) -> ForceEstimator:
    """Rebuild what `ForceEstimator.to_json` describes; ObserverError where it does not fit."""
    return build(spec, _kind(str(values.get("name"))), values)


def _kind(name: str) -> type[Observer]:
    if name not in OBSERVERS:
        raise ObserverError(f"observer {name!r}: expected one of {', '.join(OBSERVERS)}")
    return OBSERVERS[name]
