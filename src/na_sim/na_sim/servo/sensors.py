# SPDX-License-Identifier: Apache-2.0
"""What a servo reports about itself: quantised, noisy, biased registers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from na_sim.servo.records import COUNTS_PER_RADIAN

Registers = dict[str, NDArray[Any]]

MOVING_THRESHOLD = 10  # velocity register units, default of Dynamixel X
NOISE_CHANNELS = 5  # position, current, velocity, voltage, temperature
VOLTAGE_UNIT = 0.1  # V
LOAD_FULL = 1000.0  # load register value of full drive (0.1 %)


def _rounded(values: NDArray[Any]) -> NDArray[np.int64]:
    return np.asarray(np.rint(values), dtype=np.int64)


def read_registers(
    p: NDArray[Any], s: NDArray[Any], supply: NDArray[Any], noise: NDArray[np.float64]
) -> Registers:
    """Register values, signed int64, same shape as `p` and `s` (..., n).

    `supply` has shape (...,); `noise` (NOISE_CHANNELS, ..., n) is standard normal. A servo without
    a current sensor (current unit NaN) reports its load in 0.1 % of full drive in the current
    register.
    """
    position = s["count"] + _rounded(p["position_noise"] * noise[0])
    amperes = p["current_gain"] * s["current_lag"] + p["current_bias"]
    amperes = p["sign"] * amperes + p["current_noise"] * noise[1]
    has_current = np.isfinite(p["current_unit"])
    load = s["pwm"] / p["pwm_full"] * LOAD_FULL
    current = np.where(has_current, amperes / np.where(has_current, p["current_unit"], 1.0), load)
    to_register = 1.0 / (p["velocity_unit"] * COUNTS_PER_RADIAN)
    velocity = _rounded(s["velocity_estimate"] * to_register + p["velocity_noise"] * noise[2])
    volts = np.asarray(supply["voltage"])[..., None] + p["voltage_bias"]
    volts = volts + p["voltage_noise"] * noise[3]
    return {
        "present_pwm": _rounded(s["pwm"]),
        "present_current": _rounded(current),
        "present_velocity": velocity,
        "present_position": _rounded(position),
        "velocity_trajectory": _rounded(s["trajectory_velocity"] * to_register),
        "position_trajectory": _rounded(s["trajectory"]),
        "present_input_voltage": _rounded(volts / VOLTAGE_UNIT),
        "present_temperature": _rounded(s["housing"] + p["temperature_bias"] + 0.2 * noise[4]),
        "moving": np.abs(velocity) > MOVING_THRESHOLD,
    }
