# SPDX-License-Identifier: Apache-2.0
"""What each servo model calls itself, measures, and how much one register count is worth."""

from __future__ import annotations

import math
from dataclasses import dataclass

# One register count of Dynamixel X speed is 0.229 rev/min (e-manual, Present Velocity).
_RPM = 2.0 * math.pi / 60.0
_DYNAMIXEL_SPEED = 0.229 * _RPM  # rad/s per count
_DYNAMIXEL_LOAD = 0.001  # fraction of full PWM per count of Present Load

# One count of Feetech present speed is one encoder step per second.
_FEETECH_SPEED = 2.0 * math.pi / 4096.0  # rad/s per count
_FEETECH_LOAD = 0.001  # fraction of full PWM per count of Present Load

_NAN = float("nan")


@dataclass(frozen=True)
class ServoModel:
    """One servo model: identity on the bus, SI value of one count, published ratings.

    Attributes:
        name: key in `SERVO_MODELS` and in a robot file.
        protocol: "dynamixel2" or "feetech".
        model_number: value of the model number register.
        counts_per_turn: encoder counts of one output turn (4096, never 4095).
        velocity_unit: rad/s per count of the present velocity register.
        current_unit: A per count, NaN where the servo measures no current.
        load_unit: fraction of full drive per count, NaN where there is no load register.
        voltage_unit: V per count of the present voltage register.
        temperature_unit: °C per count.
        stall_torque: published torque at zero speed [N·m] at `rated_voltage`.
        stall_current: published current at stall [A] at `rated_voltage`.
        no_load_speed: published speed without load [rad/s] at `rated_voltage`.
        rated_voltage: supply at which the ratings hold [V].
        mass: servo mass [kg].
        source: where the ratings were published.
    """

    name: str
    protocol: str
    model_number: int
    velocity_unit: float
    current_unit: float
    load_unit: float
    stall_torque: float
    stall_current: float
    no_load_speed: float
    rated_voltage: float
    mass: float
    source: str
    counts_per_turn: int = 4096
    voltage_unit: float = 0.1
    temperature_unit: float = 1.0

    @property
    def has_current(self) -> bool:
        """Whether the servo has a current sensor that can be read."""
        return math.isfinite(self.current_unit)

    @property
    def has_load(self) -> bool:
        """Whether the servo reports a dimensionless load (drive fraction)."""
        return math.isfinite(self.load_unit)

    @property
    def torque_constant(self) -> float:
        """Output torque per ampere at stall [N·m/A]: an estimate, gear friction included."""
        return self.stall_torque / self.stall_current

    @property
    def count_angle(self) -> float:
        """Output shaft angle of one encoder count [rad]."""
        return 2.0 * math.pi / self.counts_per_turn


def _dynamixel(
    name: str,
    number: int,
    *,
    current_unit: float,
    load_unit: float,
    torque: float,
    amps: float,
    rpm: float,
    volts: float,
    mass: float,
) -> ServoModel:
    return ServoModel(
        name=name,
        protocol="dynamixel2",
        model_number=number,
        velocity_unit=_DYNAMIXEL_SPEED,
        current_unit=current_unit,
        load_unit=load_unit,
        stall_torque=torque,
        stall_current=amps,
        no_load_speed=rpm * _RPM,
        rated_voltage=volts,
        mass=mass,
        source=f"ROBOTIS e-manual, {name.upper()}",
    )


_MODELS = (
    _dynamixel(
        "xm430-w350",
        1020,
        current_unit=2.69e-3,
        load_unit=_NAN,
        torque=4.1,
        amps=2.3,
        rpm=46.0,
        volts=12.0,
        mass=0.082,
    ),
    _dynamixel(
        "xm430-w210",
        1030,
        current_unit=2.69e-3,
        load_unit=_NAN,
        torque=3.0,
        amps=2.3,
        rpm=77.0,
        volts=12.0,
        mass=0.082,
    ),
    _dynamixel(
        "xl430-w250",
        1060,
        current_unit=_NAN,
        load_unit=_DYNAMIXEL_LOAD,
        torque=1.4,
        amps=1.3,
        rpm=57.0,
        volts=11.1,
        mass=0.0572,
    ),
    _dynamixel(
        "xl330-m288",
        1200,
        current_unit=1.0e-3,
        load_unit=_NAN,
        torque=0.52,
        amps=1.47,
        rpm=103.0,
        volts=5.0,
        mass=0.018,
    ),
    _dynamixel(
        "xl330-m077",
        1190,
        current_unit=1.0e-3,
        load_unit=_NAN,
        torque=0.215,
        amps=1.47,
        rpm=383.0,
        volts=5.0,
        mass=0.018,
    ),
    ServoModel(
        name="sts3215",
        protocol="feetech",
        model_number=777,
        velocity_unit=_FEETECH_SPEED,
        current_unit=6.5e-3,
        load_unit=_FEETECH_LOAD,
        stall_torque=2.94,
        stall_current=2.7,
        no_load_speed=45.0 * _RPM,
        rated_voltage=12.0,
        mass=0.055,
        source="Feetech STS3215 (ST-3215-C018, 12 V, 30 kg·cm) data sheet",
    ),
)

SERVO_MODELS: dict[str, ServoModel] = {model.name: model for model in _MODELS}
