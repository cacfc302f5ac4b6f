# SPDX-License-Identifier: Apache-2.0
"""Planted motors, gears and friction are found again, and the force that friction hides."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs torch: requirements/train.txt")

from planted_gears import planted_gears, planted_motor, pushed_episode
from toy_data import DT, SPEC

from na_core.features import GearModel, HysteresisFeatures, MotorModel
from na_training.data import build_store, join_stores
from na_training.data.calibrate import calibrated_features, main_unit, other_units
from na_training.data.drive_fit import PIECES, _choose, fit_drives

ARM = slice(0, 4)
MOTOR = planted_motor()


@pytest.fixture(scope="module")
def episodes():
    return [pushed_episode(seed, planted_gears(), unit="a") for seed in range(4)]


@pytest.fixture(scope="module")
def drives(episodes) -> tuple[MotorModel, GearModel]:
    return fit_drives(SPEC, episodes[:3], MOTOR)


@pytest.fixture(scope="module")
def fitted(drives) -> GearModel:
    return drives[1]


def contact_error(
    gears: GearModel, episode, name: str = "force_link", motor: MotorModel = MOTOR
) -> float:
    features = HysteresisFeatures.for_robot(SPEC, DT, motor, gears)
    store = build_store([episode], features)
    columns = [features.names.index(f"{name}.{axis}") for axis in "xyz"]
    touching = store.contact == 1.0
    off = store.features[:, columns] - store.force
    return float(np.linalg.norm(off[touching], axis=1).mean())


def test_planted_constants_are_found(fitted: GearModel) -> None:
    planted = planted_gears()
    # Joint 1 carries no weight: its load crosses the backlash, and its stiffness is hardly known.
    np.testing.assert_allclose(fitted.stiffness[1:4], planted.stiffness[1:4], rtol=0.35)
    np.testing.assert_allclose(fitted.load_share[ARM], planted.load_share[ARM], atol=0.03)
    total = fitted.coulomb + fitted.stribeck
    np.testing.assert_allclose(total[ARM], planted.coulomb[ARM], atol=0.03)


def test_the_force_behind_friction_comes_back(fitted: GearModel, episodes) -> None:
    """On a recording that was not fitted: far below what the momentum observer leaves."""
    with_gears = contact_error(fitted, episodes[3])
    assert with_gears < 0.4 * contact_error(fitted, episodes[3], "force_slow")
    assert with_gears < 0.5


def test_a_wrong_motor_is_put_right(episodes) -> None:
    """A torque constant off by a fifth and a current offset: neither may pass for friction."""
    servo = np.array([1.0, 1.0, 1.0, 1.0, 0.0])
    wrong = replace(
        MOTOR, torque_constant=MOTOR.torque_constant * (1.0 - 0.2 * servo), offset=0.04 * servo
    )
    motor, gears = fit_drives(SPEC, episodes[:3], wrong)
    found = motor.torque_constant[ARM] / MOTOR.torque_constant[ARM]
    np.testing.assert_allclose(found[1:], 1.0, atol=0.05)
    np.testing.assert_allclose(motor.offset[ARM], 0.0, atol=0.01)
    assert motor.torque_constant[4] == wrong.torque_constant[4]
    np.testing.assert_array_equal(motor.coulomb, wrong.coulomb)
    assert contact_error(gears, episodes[3], motor=motor) < 0.5


def test_a_joint_that_no_force_moves_keeps_its_constants(fitted: GearModel) -> None:
    guess = GearModel.guessed(SPEC)
    assert fitted.coulomb[4] == guess.coulomb[4] and fitted.stiffness[4] == guess.stiffness[4]


def test_without_labels_the_model_stays_as_it_was(episodes) -> None:
    start = planted_gears(1.5)
    unknown = [replace(e, force=np.full(e.force.shape, np.nan)) for e in episodes]
    short = replace(episodes[0], segments=np.array([[0, 300]]))
    for few in (unknown, [short]):
        motor, gears = fit_drives(SPEC, few, MOTOR, start)
        assert motor is MOTOR and gears is start


def test_every_unit_gets_constants_of_its_own(episodes, monkeypatch) -> None:
    other = [pushed_episode(10 + k, planted_gears(1.5), unit="b") for k in range(2)]
    everything = [*episodes[:3], *other]
    assert main_unit(everything) == "a"
    assert other_units(everything, "a") == {}  # half a minute is too little
    monkeypatch.setattr("na_training.data.calibrate.OWN_SECONDS", 20.0)
    assert list(other_units(everything, "a")) == ["b"]
    first = calibrated_features("hysteresis", SPEC, DT, episodes[:3])
    second = calibrated_features("hysteresis", SPEC, DT, other, first)
    assert isinstance(first, HysteresisFeatures) and isinstance(second, HysteresisFeatures)
    assert second.gears.load_share[1] > 1.2 * first.gears.load_share[1]
    joined = join_stores([(episodes[:2], first), (other[:1], second)])
    alone = build_store(other[:1], second)
    np.testing.assert_array_equal(joined.features[-len(alone) :], alone.features)
    np.testing.assert_array_equal(joined.force[-len(alone) :], alone.force)
    assert [run.episode for run in joined.runs] == [0, 1, 2]


def test_few_recordings_move_the_constants_of_another_unit_but_little(episodes) -> None:
    few = [replace(episodes[0], segments=np.array([[0, 700]]))]
    start = planted_gears(0.7)
    fits = [fit_drives(SPEC, few, MOTOR, start, near=near) for near in (True, False)]
    stiffness, constant = (
        [np.abs(np.log(part[ARM])).max() for part in parts]
        for parts in (
            [gears.stiffness / start.stiffness for _, gears in fits],
            [motor.torque_constant / MOTOR.torque_constant for motor, _ in fits],
        )
    )
    assert stiffness[0] < 0.2 and stiffness[0] < 0.5 * stiffness[1]
    assert constant[0] < 0.03
    near = fits[0][1]
    assert (near.load_share[1:3] > start.load_share[1:3]).all()


def test_every_kind_of_task_has_a_piece_however_many_there_are(episodes) -> None:
    many = [replace(episodes[0], task=f"task {number}") for number in range(PIECES + 6)]
    chosen = _choose(many)
    assert {episode.task for episode, _ in chosen} == {episode.task for episode in many}
