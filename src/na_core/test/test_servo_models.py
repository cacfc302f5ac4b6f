# SPDX-License-Identifier: Apache-2.0
"""Servo models: identities as published, and honest capability masks."""

from __future__ import annotations

import math

import pytest

from na_core.servo_models import SERVO_MODELS

NUMBERS = {
    "xm430-w350": 1020,
    "xm430-w210": 1030,
    "xl430-w250": 1060,
    "xl330-m288": 1200,
    "xl330-m077": 1190,
    "sts3215": 777,
}


def test_every_model_answers_with_its_published_number() -> None:
    assert {name: model.model_number for name, model in SERVO_MODELS.items()} == NUMBERS


@pytest.mark.parametrize("name", NUMBERS)
def test_a_turn_is_4096_counts_and_two_pi(name: str) -> None:
    model = SERVO_MODELS[name]
    assert model.counts_per_turn == 4096
    assert model.count_angle * 4096 == 2.0 * math.pi


@pytest.mark.parametrize(
    ("name", "current", "load"),
    [
        ("xm430-w350", True, False),
        ("xl430-w250", False, True),  # no current sensor: register 126 is a load
        ("xl330-m288", True, False),
        ("sts3215", True, True),
    ],
)
def test_what_a_servo_cannot_measure_has_no_unit(name: str, current: bool, load: bool) -> None:
    model = SERVO_MODELS[name]
    assert (model.has_current, model.has_load) == (current, load)
    assert math.isnan(model.current_unit) is not current
    assert math.isnan(model.load_unit) is not load


def test_units_of_the_default_servo() -> None:
    model = SERVO_MODELS["xm430-w350"]
    assert model.current_unit == pytest.approx(2.69e-3)
    assert model.velocity_unit * 60.0 / (2.0 * math.pi) == pytest.approx(0.229)
    assert model.torque_constant == pytest.approx(4.1 / 2.3)
    assert model.no_load_speed == pytest.approx(4.817, abs=1e-3)
