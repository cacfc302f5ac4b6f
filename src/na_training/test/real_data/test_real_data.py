# SPDX-License-Identifier: Apache-2.0
"""Readers and short studies of the public recordings; skipped where those are absent."""

from __future__ import annotations

import numpy as np
import pytest

from na_core.testing import shared_data
from na_training.real_data import (
    cobotops,
    comanipulation,
    continuum,
    kinova,
    unisa,
    ur3,
    xl330,
)
from na_training.real_data.finding import RecordingError, lines, mae, relative_rmse, rmse

DATA = shared_data()
needs_data = pytest.mark.skipif(
    DATA is None, reason="public recordings absent: set NA_SHARED_DATA to their folder"
)


def best(study, figure, name):
    """Value of a method in the first figure whose text contains `figure`."""
    found = [f for f in study.findings if figure in f.figure and name in f.method]
    assert found, [f.method for f in study.findings]
    return found[0]


@needs_data
def test_pendulum_reference_torque_is_the_weights():
    run = xl330.load_pendulums(DATA / "bam-xl330-pendulum")[0]
    assert run.ticks.position.shape == run.torque.shape
    assert 55.0 < 1.0 / np.median(np.diff(np.arange(len(run.torque)) / xl330.RATE)) < 65.0
    assert np.abs(run.gravity).max() <= 0.49 * 9.81 * 0.1 + 1e-9
    assert np.abs(run.ticks.current).max() <= 1.01
    slow = np.abs(run.torque - run.gravity)
    assert np.median(slow) < 0.1


@needs_data
def test_pendulum_known_dynamics_give_the_reference():
    runs = xl330.load_pendulums(DATA / "bam-xl330-pendulum")
    error = np.mean([mae(xl330.differentiated_torque(run), run.torque) for run in runs])
    trivial = np.mean([np.abs(run.torque).mean() for run in runs])
    assert error < 0.3 * trivial


@needs_data
def test_toolbox_finds_the_published_constants_of_the_unpowered_servo():
    values, spread = xl330.identify_free_swing(DATA / "bam-xl330-pendulum")
    assert values["armature"] == pytest.approx(0.0018, rel=0.15)
    assert values["friction"] == pytest.approx(0.0128, rel=0.3)
    assert all(0.0 < value < 0.001 for value in spread.values())


@needs_data
@pytest.mark.slow
def test_pendulum_surrogate_from_pose_beats_the_mean():
    study = xl330.study(DATA / "bam-xl330-pendulum", seconds=20.0)
    for finding in study.findings:
        if finding.ours and "torque" in finding.figure:
            assert finding.value < 0.7 * finding.trivial


@needs_data
def test_kinova_tool_and_friction_are_plausible():
    folder = DATA / "kinova-gen3-ident"
    run = kinova.load_run(folder / "opti_traj_testing1.csv.gz")
    assert np.isfinite(run.sensor).all()
    model = kinova.arm_model(folder)
    coulomb, _ = kinova.trapezoid_friction(folder, model)
    assert np.isnan(coulomb[4])
    assert (np.nan_to_num(coulomb, nan=1.0) > 0.0).all()


@needs_data
def test_identification_of_the_panda_predicts_unseen_motion():
    recording = unisa.load_arm(unisa.PANDA, DATA / "unisa-rosbag2", DATA / "models")
    _, rigid, body, training, test = unisa.identify(recording)
    deviation = training.effort.std(axis=0)
    assert relative_rmse(rigid.predict(test), test.effort, deviation) < 0.3
    assert relative_rmse(body.predict(test), test.effort, deviation) < 0.3
    assert body.smallest_eigenvalue() > 0.0


@needs_data
@pytest.mark.slow
def test_ur3_torque_is_turned_to_the_sign_of_the_joints():
    study = ur3.study(DATA / "ur3-identification", DATA / "models")
    assert best(study, "torque", "base parameters").value < 0.25


@needs_data
@pytest.mark.slow
def test_semi_synthetic_force_is_labelled_and_beats_zero():
    study = comanipulation.study(
        DATA / "panda-comanipulation-ft", DATA / "unisa-rosbag2", DATA / "models"
    )
    assert all("semi-synthetic" in finding.data for finding in study.findings)
    gmo = best(study, "in contact", "gmo")
    assert gmo.value < 0.6 * gmo.trivial


@needs_data
def test_continuum_reader_and_ridge():
    training = continuum.load_side(DATA / "continuum-force-ft", "train")
    test = continuum.load_side(DATA / "continuum-force-ft", "test")
    assert sum(run.free for run in test) == 1
    force = continuum.ridge(training, test, 1)
    assert [len(f) for f in force] == [len(run.force) for run in test]


@needs_data
def test_cobotops_flags_are_read():
    inputs, flags = cobotops.load(DATA / "ur3-cobotops" / "dataset_02052023.csv.gz")
    assert inputs.shape == (7409, 19)
    assert int(np.nansum(flags["Robot_ProtectiveStop"])) == 278


@pytest.mark.parametrize(
    "make",
    [
        lambda path: xl330.load_pendulums(path),
        lambda path: kinova.load_run(path / "run.csv.gz"),
        lambda path: unisa.load_arm(unisa.UR10, path, path),
        lambda path: ur3.load(path / "id1.mat"),
        lambda path: comanipulation.load_forces(path / "forces.mat", 30.0),
        lambda path: continuum.load_side(path, "test"),
        lambda path: cobotops.load(path / "rows.csv.gz"),
    ],
)
def test_absent_recordings_are_named(make, tmp_path):
    with pytest.raises(RecordingError, match=str(tmp_path)):
        make(tmp_path)


def test_profiles_are_tiled_with_pauses():
    tiled = comanipulation.tiled([np.ones((5, 3))], 40, pause=10)
    assert tiled.shape == (40, 3)
    assert (tiled[:10] == 0.0).all() and (tiled[10:15] == 1.0).all()
    assert (tiled[15:25] == 0.0).all()


def test_load_inputs_hide_the_angle():
    ticks = xl330.Ticks.of(
        position=np.full((20, 1), 0.7),
        velocity=np.zeros((20, 1)),
        goal=np.full((20, 1), 0.7),
        current=np.zeros((20, 1)),
        voltage=np.full((20, 1), 7.4),
        temperature=np.full((20, 1), 30.0),
    )
    assert np.abs(xl330.load_inputs(ticks)).max() == 0.0


def test_friction_models_grow_with_load_where_they_should():
    m1 = {"friction_base": 0.01, "friction_viscous": 0.002}
    m6 = {**m1, "dtheta_stribeck": 2.0, "alpha": 1.0, "load_friction_motor": 0.3}
    speed, light, heavy = np.array([1.0]), np.array([0.0]), np.array([0.5])
    assert xl330.friction(m1, speed, light, light) == xl330.friction(m1, speed, heavy, light)
    assert xl330.friction(m6, speed, heavy, light) > xl330.friction(m6, speed, light, light)


def test_figures_leave_missing_rows_out():
    estimate = np.array([[1.0], [np.nan], [3.0]])
    truth = np.array([[0.0], [5.0], [1.0]])
    assert mae(estimate, truth) == pytest.approx(1.5)
    assert rmse(estimate, truth) == pytest.approx(np.sqrt(2.5))
    rows = lines("d", "f", "N", [("a", 1.0), ("b", 2.0)], ("zero", 3.0), ours=("b",))
    assert [row.ours for row in rows] == [False, True]
