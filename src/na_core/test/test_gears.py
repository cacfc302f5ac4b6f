# SPDX-License-Identifier: Apache-2.0
"""The load behind friction: read from the twist of the gears, bounded by what friction can hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from na_core.features import FeatureError, GearModel, GearObserver, Variant
from na_core.features.gears import COUNT, VARIANTS
from na_core.robot_spec import load_robot_spec

DT = 1.0 / 60.0
SPEC = load_robot_spec("omx")
ONE = GearModel(
    stiffness=np.array([120.0]),
    backlash=np.array([0.004]),
    coulomb=np.array([0.1]),
    stribeck=np.array([0.05]),
    stribeck_speed=np.array([0.1]),
    viscous=np.array([0.02]),
    load_share=np.array([0.1]),
)
PLAIN = (Variant("fitted"),)


def run(effort, position, velocity=None, gears: GearModel = ONE, variants=PLAIN):
    """Loads and places (T, V) of one joint."""
    effort, position = np.asarray(effort, dtype=float), np.asarray(position, dtype=float)
    velocity = np.zeros_like(position) if velocity is None else np.asarray(velocity, dtype=float)
    observer = GearObserver(gears, DT, variants)
    state = observer.start(effort[:1], position[:1])
    loads, places = [], []
    for tick in range(len(effort)):
        rows = (array[tick : tick + 1] for array in (effort, position, velocity))
        load, place, state = observer.step(state, *rows)
        loads.append(load[:, 0])
        places.append(place[:, 0])
    return np.array(loads), np.array(places)


def test_a_push_that_friction_hides_shows_in_the_twist() -> None:
    """Motor effort does not change at all; the link yields by 0.1 N·m over the gears' stiffness."""
    position = np.where(np.arange(200) < 100, 0.0, -0.1 / 120.0)
    loads, _ = run(np.full(200, 0.5), position)
    assert loads[99, 0] == pytest.approx(0.5, abs=1e-6)
    assert loads[-1, 0] == pytest.approx(0.6, abs=1e-3)


def test_the_load_stays_while_the_motor_pushes_within_friction() -> None:
    """A joint that does not move carries the load it carried: more current is not more force."""
    loads, _ = run(np.linspace(0.5, 0.6, 100), np.zeros(100))
    np.testing.assert_allclose(loads[:, 0], 0.5, atol=1e-9)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_beyond_friction_the_motor_tells_the_load(sign: float) -> None:
    """m − l = limit + share (m + l), at rest, with limit 0.15: from 0.5 to 2 N·m."""
    ramp = sign * np.concatenate([np.linspace(0.5, 2.0, 300), np.full(100, 2.0)])
    loads, places = run(ramp, np.zeros(400))
    assert loads[-1, 0] == pytest.approx(sign * (0.9 * 2.0 - 0.15) / 1.1, rel=1e-3)
    assert places[-1, 0] == pytest.approx(0.0 if sign > 0 else 1.0, abs=1e-6)


def test_bounds_of_the_load_solve_the_friction_law() -> None:
    observer = GearObserver(ONE, DT, PLAIN)
    for motor in np.linspace(-2.0, 2.0, 41):
        low = float(observer._edge(np.array([[motor]]), np.array([[0.15]]))[0, 0])
        assert motor - low == pytest.approx(0.15 + 0.1 * abs(motor + low), abs=1e-9)


def test_a_moving_joint_has_less_friction() -> None:
    rest, _ = run(np.full(300, 1.0), np.full(300, 0.0))
    position = np.arange(300) * 0.5 * DT
    moving, _ = run(np.full(300, 1.0), position, np.full(300, 0.5))
    limit = 0.1 + 0.05 * np.exp(-5.0) + 0.01
    assert rest[-1, 0] == pytest.approx(1.0)
    assert moving[-1, 0] == pytest.approx((0.9 - limit) / 1.1, rel=1e-3)


def test_counts_of_the_encoder_are_averaged() -> None:
    """A position between two counts reads as either; the twist is finer than a count."""
    rng = np.random.default_rng(0)
    true = -0.4 * COUNT
    read = np.where(rng.random(600) < 0.4, -COUNT, 0.0)
    loads, _ = run(np.full(700, 0.5), np.concatenate([np.zeros(100), read]))
    expected = 0.5 - 120.0 * true
    error = loads[300:, 0] - expected
    assert abs(error.mean()) < 0.015
    assert error.std() < 0.6 * 120.0 * read.std()


def test_variants_and_candidates_run_side_by_side() -> None:
    rng = np.random.default_rng(1)
    position = np.cumsum(rng.normal(0.0, 5e-4, 80))
    effort = rng.normal(0.5, 0.2, 80)
    together, _ = run(effort, position, variants=VARIANTS)
    for index, variant in enumerate(VARIANTS):
        alone, _ = run(effort, position, variants=(variant,))
        np.testing.assert_array_equal(together[:, index], alone[:, 0])
    half = replace(ONE, stiffness=ONE.stiffness * 0.5)
    soft, _ = run(effort, position, gears=half)
    np.testing.assert_allclose(together[:, 2], soft[:, 0])


def test_the_old_state_is_left_alone() -> None:
    observer = GearObserver(ONE, DT)
    state = observer.start(np.array([0.5]), np.array([0.0]))
    before = {key: value.copy() for key, value in state.items()}
    observer.step(state, np.array([3.0]), np.array([0.1]), np.array([0.2]))
    for key, value in before.items():
        np.testing.assert_array_equal(state[key], value)


def test_guesses_exist_for_every_servo_robot_and_survive_json() -> None:
    for name in ("omx", "so101"):
        gears = GearModel.guessed(load_robot_spec(name))
        again = GearModel.from_json(gears.to_json())
        np.testing.assert_array_equal(again.coulomb, gears.coulomb)
    with pytest.raises(FeatureError, match="has no servo"):
        GearModel.guessed(load_robot_spec("panda"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"coulomb": np.array([-0.1])}, "coulomb"),
        ({"backlash": np.array([np.nan])}, "backlash"),
        ({"load_share": np.array([0.6])}, "load_share"),
        ({"stiffness": np.array([0.0])}, "stiffness"),
        ({"viscous": np.array([0.1, 0.1])}, "viscous"),
    ],
)
def test_constants_that_no_gear_has_are_refused(change, words: str) -> None:
    with pytest.raises(FeatureError, match=words):
        replace(ONE, **change)


def test_a_missing_constant_is_named() -> None:
    values = ONE.to_json()
    del values["viscous"]
    with pytest.raises(FeatureError, match="viscous"):
        GearModel.from_json(values)
