# SPDX-License-Identifier: Apache-2.0
"""One physical unit of a robot: `arm k` draws all its parameters from seed k.

Arm 0 is the unit that training data comes from. Every other arm is another unit: friction about
45 % higher, hotter, worn backlash, and its own spread of everything else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from na_sim.servo.catalogue import nominal
from na_sim.servo.records import PARAMETER_DTYPE

if TYPE_CHECKING:
    from na_core.robot_spec import RobotSpec

SUPPLY_RESISTANCE = 0.25  # ohm, supply and cable (guess)
HIGH_SUPPLY = 9.0  # V, above which an STS3215 is the 12 V variant
SUPPLY_EXCESS = 12.1 / 12.0  # open-circuit voltage over nominal (guess)

# Relative spread (standard deviation) of a parameter between units of one make (guesses).
SPREAD: dict[str, float] = {
    "resistance": 0.03,
    "torque_constant": 0.02,
    "inertia": 0.03,
    "coulomb": 0.12,
    "stribeck": 0.15,
    "viscous": 0.12,
    "stribeck_velocity": 0.10,
    "load_motor": 0.12,
    "load_external": 0.12,
    "backlash": 0.15,
    "stiffness": 0.08,
    "heat_to_housing": 0.05,
    "heat_to_air": 0.08,
    "heat_housing": 0.05,
    "current_gain": 0.02,
}
OTHER_ARM_FRICTION = 1.45
OTHER_ARM_BACKLASH = 1.8
OTHER_ARM_AMBIENT = 7.0  # K hotter
FRICTION_FIELDS = ("coulomb", "stribeck", "viscous", "load_motor", "load_external")

# A gripper slide drives its fingers through a plastic linkage: softer than the gears (guess).
# The encoder sits on the servo's shaft, before the linkage.
GRIPPER_LINKAGE = {
    "stiffness": 3.0,
    "gear_damping": 0.0008,
    "link_damping": 0.0002,
    "encoder_on_rotor": 1,
}


@dataclass(frozen=True)
class Unit:
    """Parameters of one arm.

    Attributes:
        arm: number of the unit.
        servos: parameter records (n,) in canonical joint order.
        supply_voltage: open-circuit supply voltage [V].
        supply_resistance: supply and cable [ohm].
    """

    arm: int
    servos: NDArray[Any]
    supply_voltage: float
    supply_resistance: float


def _spread(servo: NDArray[Any], rng: np.random.Generator) -> None:
    for name, deviation in SPREAD.items():
        factor = float(np.clip(1.0 + deviation * rng.standard_normal(), 0.5, 1.6))
        servo[name] = servo[name] * factor
    servo["encoder_phase"] = rng.uniform(0.0, 2.0 * np.pi)
    servo["encoder_amplitude"] = servo["encoder_amplitude"] * rng.uniform(0.3, 1.2)
    servo["current_bias"] = servo["current_bias"] * rng.standard_normal()
    servo["voltage_bias"] = rng.normal(0.0, 0.04)
    servo["temperature_bias"] = rng.normal(0.0, 0.8)


def _overrides(robot: RobotSpec) -> Mapping[str, Any]:
    raw = robot.plant.get("servo", {})
    if not isinstance(raw, Mapping):
        raise ValueError(
            f"{robot.path}: plant.servo = {raw!r}: expected a mapping of servo parameter overrides"
        )
    return raw


def _variant(robot: RobotSpec, model: str) -> str:
    """Catalogue name of a servo: STS3215 exists for two supply voltages."""
    volts = robot.supply.nominal_voltage if robot.supply is not None else 0.0
    return "sts3215-12v" if model == "sts3215" and volts > HIGH_SUPPLY else model


def draw_unit(robot: RobotSpec, arm: int, *, overrides: Mapping[str, Any] | None = None) -> Unit:
    """Draw the parameters of unit `arm` (>= 0) of `robot`; the same arm is always the same.

    `overrides` replaces nominal servo parameters by name before the spread is drawn; the robot
    file may hold some under `plant.servo`. Raises ValueError for a robot without servos.
    """
    if arm < 0:
        raise ValueError(f"arm {arm}: expected a unit number of at least 0")
    rng = np.random.default_rng([arm, 0x5E2F0])
    servos = np.zeros(robot.n, PARAMETER_DTYPE)
    for j, joint in enumerate(robot.joints):
        if joint.servo is None:
            raise ValueError(
                f"robot '{robot.robot}' has no servo on joint '{joint.name}': it is offline only "
                "and cannot be emulated"
            )
        merged = {
            **(GRIPPER_LINKAGE if joint.type == "prismatic" else {}),
            **_overrides(robot),
            **(overrides or {}),
        }
        servo = nominal(_variant(robot, joint.servo.model), merged)
        servo["scale"] = joint.ratio
        servo["sign"] = joint.servo.sign
        servo["zero_count"] = joint.servo.zero_count
        _spread(servo, rng)
        if arm > 0:
            for name in FRICTION_FIELDS:
                servo[name] = servo[name] * OTHER_ARM_FRICTION
            servo["backlash"] = servo["backlash"] * OTHER_ARM_BACKLASH
            servo["ambient"] = servo["ambient"] + OTHER_ARM_AMBIENT
        servos[j] = servo
    volts = robot.supply.nominal_voltage if robot.supply is not None else 12.0
    return Unit(
        arm=arm,
        servos=servos,
        supply_voltage=volts * SUPPLY_EXCESS + float(rng.normal(0.0, 0.05)),
        supply_resistance=SUPPLY_RESISTANCE * float(rng.uniform(0.9, 1.1)),
    )
