# SPDX-License-Identifier: Apache-2.0
"""Nominal parameters of the servo models, with their sources; unknown ones are called guesses."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from na_sim.servo.friction import family_number
from na_sim.servo.records import (
    COUNTS_PER_RADIAN,
    FIRMWARE_DYNAMIXEL,
    FIRMWARE_FEETECH,
    PARAMETER_DTYPE,
    RPM,
)

Parameters = Mapping[str, float | int | str]

# XM430-W350: resistance, constant, inertia, friction, backlash, stiffness, noise and bias are the
# project's starting guesses (between the data sheet's stall point, 4.1 N m at 2.3 A and 12 V, and
# its no-load speed, 46 rev/min); register units and gains are the e-manual's. The stall point is
# 5.2 ohm. Thermal values are guesses: the winding follows in a minute, the case in half an hour.
_DYNAMIXEL: dict[str, float | int | str] = {
    "scale": 1.0,
    "sign": 1.0,
    "zero_count": 2048.0,
    "firmware": FIRMWARE_DYNAMIXEL,
    "pwm_full": 885.0,
    "max_duty": 1.0,
    "loop_p": 1.0 / 128.0,
    "loop_i": 1.0 / 65536.0,
    "loop_d": 1.0 / 16.0,
    "dead_zone": 0.0,
    "loop_ff1": 1.0 / 4.0,
    "loop_ff2": 1.0 / 4.0,
    "velocity_unit": 0.229 * RPM,
    "acceleration_unit": 214.577 * RPM / 60.0,
    "current_unit": 2.69e-3,
    "velocity_filter": 0.008,
    "current_filter": 0.004,
    "copper": 0.00393,
    "magnet": -0.001,
    "friction_family": "m4",
    "stribeck_exponent": 1.0,
    "load_external": 0.0,
    "load_motor_stribeck": 0.0,
    "load_external_stribeck": 0.0,
    "quad_motor": 0.0,
    "quad_external": 0.0,
    "friction_temperature": -0.004,
    "gear_damping": 0.05,
    "link_damping": 0.002,
    "encoder_on_rotor": 0,
    "encoder_amplitude": 1.0,
    "encoder_phase": 0.0,
    "ambient": 25.0,
    "idle_current": 0.04,
    "current_gain": 1.0,
    "voltage_bias": 0.0,
    "voltage_noise": 0.03,
    "temperature_bias": 0.0,
    "position_noise": 0.15,
    "velocity_noise": 0.6,
}

XM430_W350: dict[str, float | int | str] = {
    **_DYNAMIXEL,
    "resistance": 5.2,
    "torque_constant": 2.35,
    "inertia": 0.0055,
    "coulomb": 0.11,
    "stribeck": 0.066,  # static friction 1.6 x Coulomb
    "viscous": 0.035,
    "stribeck_velocity": 0.08,
    "load_motor": 0.10,  # M4 counts |external - motor|, twice the transmitted torque at rest
    "backlash": math.radians(0.22),
    "stiffness": 140.0,
    "heat_to_housing": 5.0,
    "heat_to_air": 7.0,
    "heat_winding": 8.0,
    "heat_housing": 75.0,
    "current_noise": 6e-3,
    "current_bias": 4e-3,
}

# W210: same motor behind 212.6:1 instead of 353.5:1 (e-manual gear ratios), hence scaled.
_RATIO = 212.6 / 353.5
XM430_W210: dict[str, float | int | str] = {
    **XM430_W350,
    "torque_constant": 2.35 * _RATIO,
    "inertia": 0.0055 * _RATIO**2,
    "coulomb": 0.11 * _RATIO,
    "stribeck": 0.066 * _RATIO,
    "viscous": 0.035 * _RATIO**2,
    "stribeck_velocity": 0.08 / _RATIO,
}

# XL430-W250: 1.5 N m and 1.4 A at stall, 61 rev/min without load, 12 V (data sheet); no current
# sensor. Friction is a guess scaled from the XM430 by stall torque.
XL430_W250: dict[str, float | int | str] = {
    **XM430_W350,
    "resistance": 8.5,
    "torque_constant": 1.63,
    "inertia": 0.0035,
    "coulomb": 0.06,
    "stribeck": 0.036,
    "viscous": 0.02,
    "current_unit": math.nan,
    "current_noise": 0.0,
    "current_bias": 0.0,
    "heat_to_air": 9.0,
    "heat_housing": 55.0,
    "backlash": math.radians(0.25),
    "stiffness": 60.0,
}

# XL330-M288: motor and friction of Better Actuator Models (M6, fitted on the pendulum recordings);
# P is divided by 256 there, found empirically, where the manual says 128. Gears are plastic:
# backlash and stiffness are guesses. Kt of the fit includes the ratio.
XL330_M288: dict[str, float | int | str] = {
    **_DYNAMIXEL,
    "loop_p": 1.0 / 256.0,
    "current_unit": 1e-3,
    "resistance": 2.8114,
    "torque_constant": 0.3660,
    "inertia": 0.0018077,
    "friction_family": "m6",
    "coulomb": 0.0047712,
    "stribeck": 0.0046763,
    "viscous": 0.0053597,
    "stribeck_velocity": 2.8904,
    "stribeck_exponent": 8.6833,
    "load_motor": 0.26679,
    "load_external": 8.5e-06,
    "load_motor_stribeck": 1.07e-05,
    "load_external_stribeck": 0.080779,
    "quad_motor": 0.0099725,
    "quad_external": 0.0049026,
    "backlash": math.radians(0.5),
    "stiffness": 15.0,
    "gear_damping": 0.005,
    "link_damping": 0.0005,
    "heat_to_housing": 8.0,
    "heat_to_air": 20.0,
    "heat_winding": 3.0,
    "heat_housing": 18.0,
    "current_noise": 5e-3,
    "current_bias": 3e-3,
    "idle_current": 0.02,
}

# XL330-M077: the same motor behind 77:1 instead of 288.35:1.
_RATIO_077 = 77.2 / 288.35
XL330_M077: dict[str, float | int | str] = {
    **XL330_M288,
    "torque_constant": 0.3660 * _RATIO_077,
    "inertia": 0.0018077 * _RATIO_077**2,
    "coulomb": 0.0047712 * _RATIO_077,
    "stribeck": 0.0046763 * _RATIO_077,
    "viscous": 0.0053597 * _RATIO_077**2,
}

# STS3215, 7.4 V: Better Actuator Models (M1) for kt, R, armature, friction and the P scale 0.166
# duty per rad at P = 1; max duty 0.97 measured there. I and D scales are guesses. Load 0.1 %,
# current 6.5 mA, speed in counts/s (Feetech memory table).
STS3215: dict[str, float | int | str] = {
    **_DYNAMIXEL,
    "firmware": FIRMWARE_FEETECH,
    "pwm_full": 1000.0,
    "max_duty": 0.97,
    "loop_p": 0.166 * 1000.0 / COUNTS_PER_RADIAN,
    "loop_i": 0.166 * 1000.0 / COUNTS_PER_RADIAN / 1000.0,
    "loop_d": 0.166 * 1000.0 / COUNTS_PER_RADIAN * 10.0,
    "dead_zone": 1.0,  # CW and CCW dead zone registers, factory value
    "loop_ff1": 0.0,
    "loop_ff2": 0.0,
    "velocity_unit": 1.0 / COUNTS_PER_RADIAN,
    "acceleration_unit": 100.0 / COUNTS_PER_RADIAN,
    "current_unit": 6.5e-3,
    "resistance": 2.6762,
    "torque_constant": 1.2116,
    "inertia": 0.028403,
    "friction_family": "m1",
    "coulomb": 0.052393,
    "stribeck": 0.0,
    "viscous": 0.059085,
    "stribeck_velocity": 0.08,
    "load_motor": 0.0,
    "backlash": math.radians(0.5),
    "stiffness": 90.0,
    "heat_to_housing": 6.0,
    "heat_to_air": 10.0,
    "heat_winding": 6.0,
    "heat_housing": 45.0,
    "current_noise": 8e-3,
    "current_bias": 5e-3,
    "idle_current": 0.02,
}

# STS3215, 12 V (C018): winding and constant from the data sheet's 45 rev/min and 2.7 A at 12 V;
# gears, friction and inertia taken from the 7.4 V fit (guess).
STS3215_12V: dict[str, float | int | str] = {
    **STS3215,
    "resistance": 4.44,
    "torque_constant": 2.35,
}

CATALOGUE: dict[str, dict[str, float | int | str]] = {
    "xm430-w350": XM430_W350,
    "xm430-w210": XM430_W210,
    "xl430-w250": XL430_W250,
    "xl330-m288": XL330_M288,
    "xl330-m077": XL330_M077,
    "sts3215": STS3215,
    "sts3215-12v": STS3215_12V,
}


def record(values: Parameters) -> NDArray[Any]:
    """Parameter record, shape (), from a complete mapping; ValueError names what is wrong."""
    names = set(PARAMETER_DTYPE.names or ())
    unknown, missing = sorted(set(values) - names), sorted(names - set(values))
    if unknown or missing:
        raise ValueError(
            f"servo parameters: unknown {unknown}, missing {missing}; expected exactly the fields "
            "of PARAMETER_DTYPE"
        )
    out = np.zeros((), dtype=PARAMETER_DTYPE)
    for name, value in values.items():
        out[name] = family_number(value) if isinstance(value, str) else value
    return out


def nominal(model: str, overrides: Parameters | None = None) -> NDArray[Any]:
    """Parameter record of a nominal servo `model`, with `overrides` by field name.

    `friction_family` takes a name ("m1".."m6"). Raises ValueError for an unknown model or field.
    """
    try:
        values = CATALOGUE[model]
    except KeyError:
        raise ValueError(
            f"servo model {model!r} has no physics; expected one of {', '.join(CATALOGUE)}"
        ) from None
    return record({**values, **(overrides or {})})
