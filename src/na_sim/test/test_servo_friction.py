# SPDX-License-Identifier: Apache-2.0
"""Each friction family does what defines it; sticking is exact."""

from __future__ import annotations

import numpy as np
import pytest

from na_sim.servo.catalogue import nominal
from na_sim.servo.friction import FAMILIES, family_number, friction_limit, stick_slip

BASE = {
    "coulomb": 0.1,
    "stribeck": 0.05,
    "stribeck_velocity": 0.1,
    "stribeck_exponent": 1.0,
    "load_motor": 0.2,
    "load_external": 0.1,
    "load_motor_stribeck": 0.3,
    "load_external_stribeck": 0.15,
    "quad_motor": 0.5,
    "quad_external": 0.7,
}


def limit(family: str, motor: float = 0.0, external: float = 0.0, velocity: float = 0.0) -> float:
    p = nominal("xm430-w350", {**BASE, "friction_family": family})
    return friction_limit(np.atleast_1d(p)[0], motor, external, velocity)


@pytest.mark.parametrize("velocity", [0.0, 0.05, 3.0])
@pytest.mark.parametrize("motor", [-1.0, 0.0, 2.0])
def test_m1_is_constant(velocity: float, motor: float) -> None:
    assert limit("m1", motor, 0.4, velocity) == pytest.approx(0.1)


@pytest.mark.parametrize("family", ["m2", "m4", "m5", "m6"])
def test_stribeck_families_hold_more_at_rest_than_in_motion(family: str) -> None:
    at_rest, slow, fast = (limit(family, velocity=v) for v in (0.0, 0.1, 5.0))
    assert at_rest == pytest.approx(0.15)
    assert slow == pytest.approx(0.1 + 0.05 * np.exp(-1.0))
    assert fast == pytest.approx(0.1, abs=1e-6)


@pytest.mark.parametrize("family", ["m1", "m3"])
def test_families_without_stribeck_do_not_depend_on_velocity(family: str) -> None:
    assert limit(family, 1.0, -0.5, 0.0) == limit(family, 1.0, -0.5, 4.0)


def test_m3_grows_with_the_load_between_motor_and_link() -> None:
    assert limit("m3", 1.0, -0.5) == pytest.approx(0.1 + 0.2 * 1.5)
    assert limit("m3", 1.0, 1.0) == pytest.approx(0.1)


def test_m4_adds_load_friction_at_rest() -> None:
    moving = limit("m4", 1.0, -0.5, 50.0)
    assert moving == pytest.approx(0.1 + 0.2 * 1.5)
    assert limit("m4", 1.0, -0.5, 0.0) == pytest.approx(0.15 + (0.2 + 0.3) * 1.5)


@pytest.mark.parametrize("family", ["m5", "m6"])
def test_directional_families_tell_motor_from_external_torque(family: str) -> None:
    by_motor = limit(family, 1.0, 0.0, 50.0)
    by_link = limit(family, 0.0, 1.0, 50.0)
    assert by_motor == pytest.approx(0.1 + 0.2)
    assert by_link == pytest.approx(0.1 + 0.1)
    assert limit("m4", 1.0, 0.0, 50.0) == pytest.approx(limit("m4", 0.0, 1.0, 50.0))


def test_m6_adds_a_quadratic_part_only_while_the_sides_oppose_each_other() -> None:
    assert limit("m6", 1.0, 0.4) == pytest.approx(limit("m5", 1.0, 0.4))
    motor_wins = limit("m6", 1.0, -0.4) - limit("m5", 1.0, -0.4)
    link_wins = limit("m6", 0.4, -1.0) - limit("m5", 0.4, -1.0)
    assert motor_wins == pytest.approx(0.7 * 0.4**2)
    assert link_wins == pytest.approx(0.5 * 0.4**2)


@pytest.mark.parametrize("family", list(FAMILIES))
def test_limit_is_even_under_reversal_of_everything(family: str) -> None:
    rng = np.random.default_rng(3)
    for motor, external, velocity in rng.normal(size=(20, 3)):
        there = limit(family, motor, external, velocity)
        assert there == pytest.approx(limit(family, -motor, -external, -velocity))


def test_sticks_exactly_below_the_limit() -> None:
    inertia, dt = 0.005, 0.001
    velocity = 0.002
    torque = stick_slip(inertia, velocity, 0.05, 0.1, 0.03, dt)
    assert velocity + dt * (0.05 + torque) / inertia == pytest.approx(0.0, abs=1e-15)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_slides_against_at_most_the_limit(sign: float) -> None:
    torque = stick_slip(0.005, sign * 2.0, sign * 0.3, 0.1, 0.03, 0.001)
    assert torque == pytest.approx(-sign * (0.1 + 0.03 * 2.0))


def test_friction_never_adds_energy() -> None:
    rng = np.random.default_rng(5)
    for velocity, net, bound in rng.normal(size=(200, 3)):
        torque = stick_slip(0.005, velocity, net, abs(bound), 0.02, 0.001)
        after = velocity + 0.001 * (net + torque) / 0.005
        free = velocity + 0.001 * net / 0.005
        assert after * free >= -1e-12  # friction alone does not reverse the motion
        assert abs(after) <= abs(free) + 1e-12


def test_unknown_family_lists_the_choices() -> None:
    with pytest.raises(ValueError, match=r"'m7' is unknown; expected one of m1, m2, m3"):
        family_number("m7")
