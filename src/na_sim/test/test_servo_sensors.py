# SPDX-License-Identifier: Apache-2.0
"""Registers are quantised, noisy and biased as each servo model's are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from na_sim.servo.catalogue import nominal
from na_sim.servo.records import COUNTS_PER_RADIAN, STATE_DTYPE, SUPPLY_DTYPE
from na_sim.servo.sensors import NOISE_CHANNELS, Registers, read_registers

COUNT = 4000


def read(
    model: str, changes: dict[str, float], noise: bool = True, **overrides: float
) -> tuple[Registers, NDArray[Any]]:
    p = np.full(COUNT, nominal(model, overrides))
    s = np.zeros(COUNT, STATE_DTYPE)
    s["housing"] = 30.4
    for name, value in changes.items():
        s[name] = value
    supply = np.zeros((), SUPPLY_DTYPE)
    supply["voltage"] = 12.04
    rng = np.random.default_rng(0)
    draws = rng.standard_normal((NOISE_CHANNELS, COUNT)) * float(noise)
    return read_registers(p, s, supply, draws), p


def test_current_has_the_models_noise_bias_and_unit() -> None:
    registers, _ = read("xm430-w350", {"current_lag": 0.2})
    amperes = registers["present_current"] * 2.69e-3
    assert amperes.mean() == pytest.approx(0.204, abs=5e-4)
    assert amperes.std() == pytest.approx(6e-3, rel=0.1)


def test_current_sign_follows_the_servo_not_the_joint() -> None:
    registers, _ = read("xm430-w350", {"current_lag": 0.2}, noise=False, sign=-1.0)
    assert np.all(registers["present_current"] < 0)


def test_servo_without_current_sensor_reports_its_load() -> None:
    registers, _ = read("xl430-w250", {"pwm": 442.5, "current_lag": 0.9}, noise=False)
    assert np.all(registers["present_current"] == 500)


def test_feetech_current_unit() -> None:
    registers, _ = read(
        "sts3215", {"current_lag": 0.65}, noise=False, current_bias=0.0, current_gain=1.0
    )
    assert np.all(registers["present_current"] == 100)


def test_velocity_unit_is_0_229_rev_per_minute() -> None:
    registers, _ = read("xm430-w350", {"velocity_estimate": COUNTS_PER_RADIAN}, noise=False)
    assert np.all(registers["present_velocity"] == round(1.0 / (0.229 * 2 * np.pi / 60)))
    assert registers["moving"].all()


def test_voltage_and_temperature_come_in_their_steps() -> None:
    registers, _ = read("xm430-w350", {})
    assert set(np.unique(registers["present_input_voltage"])) <= {119, 120, 121, 122}
    assert set(np.unique(registers["present_temperature"])) <= {29, 30, 31, 32}


def test_position_is_the_firmwares_count_with_rare_flicker() -> None:
    registers, _ = read("xm430-w350", {"count": 2100.0})
    off = registers["present_position"] - 2100
    assert np.abs(off).max() <= 1
    assert (off != 0).mean() < 0.01


def test_every_register_is_an_integer() -> None:
    registers, _ = read("xm430-w350", {"current_lag": 0.1, "count": 7.0})
    for name, values in registers.items():
        assert values.dtype in (np.int64, np.bool_), name
