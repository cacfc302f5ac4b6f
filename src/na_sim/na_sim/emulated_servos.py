# SPDX-License-Identifier: Apache-2.0
"""The servos of a robot file as an emulated bus, in the protocol that the file names."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from na_core.control_tables import FEETECH_STS
from na_core.robot_spec import RobotSpec
from na_sim.dynamixel.bus_emulator import BusEmulator
from na_sim.dynamixel.servo_config import ServoConfig
from na_sim.feetech.bus_emulator import FeetechBusEmulator
from na_sim.feetech.servo_config import FeetechServoConfig
from na_sim.plant_interface import ArmPlant, IntArray
from na_sim.wire.emulated_bus import EmulatedBus
from na_sim.wire.kinematic_plant import (
    FEETECH_ACCELERATION_UNIT,
    FEETECH_VELOCITY_UNIT,
    KinematicPlant,
)
from na_sim.wire.wire_faults import WireFaults

Config = ServoConfig | FeetechServoConfig


def servo_configs(
    spec: RobotSpec, *, baud: int | None = None, return_delay_us: int = 0
) -> tuple[Config, ...]:
    """Return one healthy servo per joint of `spec`, in joint order; ValueError if it has none."""
    if spec.bus is None or spec.offline_only:
        raise ValueError(
            f"robot {spec.robot!r} has no servo bus (offline only); choose another, for example "
            "omx or so101"
        )
    rate = baud or spec.bus.baud
    joints = [joint.servo for joint in spec.joints if joint.servo is not None]
    match spec.bus.protocol:
        case "dynamixel2":
            return tuple(
                ServoConfig(
                    id=servo.id, model=servo.model, baud=rate, return_delay_us=return_delay_us
                )
                for servo in joints
            )
        case "feetech":
            return tuple(
                FeetechServoConfig(
                    id=servo.id,
                    model=servo.model,
                    baud=rate,
                    return_delay_us=return_delay_us,
                    registers=_supply_registers(spec),
                )
                for servo in joints
            )
        case other:
            raise ValueError(
                f"robot {spec.robot!r} speaks {other!r}, expected dynamixel2 or feetech"
            )


def _supply_registers(spec: RobotSpec) -> dict[str, int]:
    """Return the voltage limits with which an STS of this supply variant leaves the factory."""
    if spec.supply is None:
        return {}
    top = round(10.0 * spec.supply.max_voltage)
    return {"max_voltage_limit": max(top, FEETECH_STS["max_voltage_limit"].default or 0)}


def emulated_bus(
    configs: tuple[Config, ...],
    plant: ArmPlant,
    *,
    clock: Callable[[], float] = time.monotonic,
    faults: WireFaults | None = None,
    max_catch_up: float | None = None,
) -> EmulatedBus[Any]:
    """Return servos of one family in front of `plant`; ValueError for a mixture."""
    dynamixel = [c for c in configs if isinstance(c, ServoConfig)]
    feetech = [c for c in configs if isinstance(c, FeetechServoConfig)]
    if dynamixel and feetech:
        raise ValueError("servos of two families on one wire: they do not share a protocol")
    if feetech:
        return FeetechBusEmulator(
            feetech, plant, clock=clock, faults=faults, max_catch_up=max_catch_up
        )
    return BusEmulator(dynamixel, plant, clock=clock, faults=faults, max_catch_up=max_catch_up)


def kinematic_plant(spec: RobotSpec, positions: IntArray | None = None) -> KinematicPlant:
    """Return a plant without physics in the register units of the robot's servos."""
    if spec.bus is not None and spec.bus.protocol == "feetech":
        plant = KinematicPlant(
            spec.n,
            positions,
            velocity_unit=FEETECH_VELOCITY_UNIT,
            acceleration_unit=FEETECH_ACCELERATION_UNIT,
        )
    else:
        plant = KinematicPlant(spec.n, positions)
    if spec.supply is not None:
        plant.voltage = np.full(spec.n, round(10.0 * spec.supply.nominal_voltage), dtype=np.int64)
    return plant


def with_changes(
    configs: tuple[Config, ...], changes: dict[int, dict[str, Any]]
) -> tuple[Config, ...]:
    """Return `configs` with fields changed by servo id."""
    return tuple(replace(c, **changes.get(c.id, {})) for c in configs)
