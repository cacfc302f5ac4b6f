# SPDX-License-Identifier: Apache-2.0
"""From parameters to a bus that is open and checked; nothing is switched on here."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass

from na_core.robot_spec import RobotSpec
from na_teleop.buses.base import ServoError
from na_teleop.buses.dynamixel import DynamixelBus, DynamixelOptions
from na_teleop.buses.dynamixel_settings import Role
from na_teleop.buses.feetech import FeetechBus, FeetechOptions
from na_teleop.preflight import require_preflight

#: A bus of one of the families that this version speaks.
ArmBus = DynamixelBus | FeetechBus


@dataclass(frozen=True, slots=True)
class ArmParameters:
    """What an arm node is told about its arm.

    Attributes:
        robot: name of a robot YAML, or a path to one.
        port: serial port.
        baud: rate [bit/s]; 0 takes the robot's own.
        port_wait: time that the port may take to appear [s].
        control_rate: ticks per second [Hz]; 0 takes the robot's own.
        calibration: calibration file of this arm; empty: the robot file's own figures.

    """

    robot: str
    port: str
    baud: int
    port_wait: float
    control_rate: float
    calibration: str = ""


def make_bus(spec: RobotSpec, arm: ArmParameters, role: Role) -> ArmBus:
    """Return the closed bus that fits the robot's protocol.

    Raises ServoError for a protocol that this version does not speak.
    """
    if not arm.port:
        raise ValueError(
            "parameter port is empty, expected the arm's serial port, for example "
            "port:=/dev/ttyUSB0"
        )
    protocol = "dynamixel2" if spec.bus is None else spec.bus.protocol
    if protocol == "feetech":
        return FeetechBus(spec, arm.port, FeetechOptions(baud=arm.baud or None, role=role))
    if protocol == "dynamixel2":
        return DynamixelBus(spec, arm.port, DynamixelOptions(baud=arm.baud or None, role=role))
    raise ServoError(
        f"robot {spec.robot!r} speaks {protocol!r}, which this version cannot drive",
        port=arm.port,
        remedy="use a robot with bus.protocol dynamixel2 or feetech, for example omx or so101",
    )


def wait_for_port(
    port: str,
    seconds: float,
    *,
    give_up: Callable[[], bool] = lambda: False,
    sleep: Callable[[float], None] = time.sleep,
    now: Callable[[], float] = time.monotonic,
) -> None:
    """Wait until a path exists, at most `seconds` [s]; opening it reports what is wrong."""
    deadline = now() + seconds
    while not os.path.exists(port) and now() < deadline and not give_up():
        sleep(0.05)


def start_bus(
    spec: RobotSpec,
    arm: ArmParameters,
    role: Role,
    *,
    give_up: Callable[[], bool] = lambda: False,
) -> ArmBus:
    """Open the port and check every servo; port closed again on failure.

    Raises BusError or PreflightError, whose text names port, ids and remedy.
    """
    bus = make_bus(spec, arm, role)
    wait_for_port(arm.port, arm.port_wait, give_up=give_up)
    bus.open()
    try:
        require_preflight(bus)
    except BaseException:
        bus.close()
        raise
    return bus
