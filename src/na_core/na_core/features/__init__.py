# SPDX-License-Identifier: Apache-2.0
"""Named, versioned feature sets, the same live and in replay: basic35, physics, hysteresis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from na_core.features.base import FeatureSet, State
from na_core.features.basic import BasicFeatures
from na_core.features.gears import GearModel, GearObserver, Variant
from na_core.features.hysteresis import HysteresisFeatures
from na_core.features.motor import MotorModel
from na_core.features.physics import PhysicsFeatures
from na_core.features.ticks import FeatureError, Ticks

if TYPE_CHECKING:
    from na_core.robot_spec import RobotSpec

FEATURE_SETS = ("basic35", "physics", "hysteresis")
"""Names of the feature sets; each contains the ones before it."""

__all__ = [
    "FEATURE_SETS",
    "BasicFeatures",
    "FeatureError",
    "FeatureSet",
    "GearModel",
    "GearObserver",
    "HysteresisFeatures",
    "MotorModel",
    "PhysicsFeatures",
    "State",
    "Ticks",
    "Variant",
    "feature_set_from_rule",
    "make_feature_set",
]


def make_feature_set(
    name: str,
    spec: RobotSpec,
    dt: float,
    motor: MotorModel | None = None,
    gears: GearModel | None = None,
) -> FeatureSet:
    """Return a new feature set for a robot.

    Args:
        name: one of `FEATURE_SETS`.
        spec: the robot.
        dt: seconds per tick.
        motor: calibrated constants for the physics sets; published ratings when None.
        gears: gears and friction for `hysteresis`; guesses from published ratings when None.

    Raises:
        FeatureError: no such name.
    """
    if name == BasicFeatures.name:
        return BasicFeatures(spec.names)
    if name == PhysicsFeatures.name:
        return PhysicsFeatures.for_robot(spec, dt, motor)
    if name == HysteresisFeatures.name:
        return HysteresisFeatures.for_robot(spec, dt, motor, gears)
    raise FeatureError(f"feature set {name!r}, expected one of {', '.join(FEATURE_SETS)}")


def feature_set_from_rule(rule: Mapping[str, Any], spec: RobotSpec) -> FeatureSet:
    """Rebuild the feature set that `FeatureSet.rule()` describes, as stored with a model.

    Raises:
        FeatureError: unknown name or version, or joints other than the robot's.
    """
    name = rule.get("name")
    if name == BasicFeatures.name:
        return BasicFeatures.from_rule(rule)
    for kind in (PhysicsFeatures, HysteresisFeatures):
        if name == kind.name:
            return kind.from_rule(rule, spec)
    raise FeatureError(f"feature rule: name is {name!r}, expected one of {FEATURE_SETS}")
