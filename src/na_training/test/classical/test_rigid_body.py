# SPDX-License-Identifier: Apache-2.0
"""Rigid-body identification finds planted masses and friction, and only possible bodies."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from na_core.features.rigid import reduced_model
from na_core.robot_spec import load_robot_spec
from na_core.robot_urdf import urdf_string
from na_training.classical.excitation import design_excitation, path_of
from na_training.classical.physical import fit_physical, log_cholesky, possible
from na_training.classical.regressor import Regressor, base_parameters
from na_training.classical.rigid_body import fit_payload, fit_rigid_body
from na_training.classical.samples import FitError, Samples, differentiated, uniform

SPEC = load_robot_spec("omx")
COULOMB = np.array([0.12, 0.10, 0.08, 0.06])
VISCOUS = np.array([0.05, 0.04, 0.03, 0.02])


def arm():
    return reduced_model(urdf_string(SPEC), SPEC.names[:4])


def planted(model, samples, noise=0.0, seed=0):
    """Efforts of `model` with planted friction, by inverse dynamics: not by the regressor."""
    data = model.createData()
    effort = np.array(
        [
            pin.rnea(model, data, q, qd, qdd)
            for q, qd, qdd in zip(samples.q, samples.qd, samples.qdd, strict=True)
        ]
    )
    effort += COULOMB * np.tanh(samples.qd / 0.05) + VISCOUS * samples.qd + 0.006 * samples.qdd
    effort += np.random.default_rng(seed).normal(0.0, noise, effort.shape) if noise else 0.0
    return Samples(samples.q, samples.qd, samples.qdd, effort)


def changed(model):
    """The same arm with a heavier forearm and a weight at the hand."""
    other = model.copy()
    body = other.inertias[3]
    other.inertias[3] = pin.Inertia(
        1.4 * body.mass, body.lever + np.array([0.01, 0, 0]), 1.6 * body.inertia
    )
    other.inertias[4] = other.inertias[4] + pin.Inertia(
        0.2, np.array([0.1, 0, 0]), np.eye(3) * 1e-4
    )
    return other


REGRESSOR = Regressor(arm(), np.full(4, 0.05))
MOTION = REGRESSOR.random(np.random.default_rng(1), 600)


def test_planted_parameters_are_recovered():
    model = changed(arm())
    base = base_parameters(REGRESSOR)
    truth = Regressor(model, np.full(4, 0.05)).prior()
    truth[40:44], truth[44:48], truth[52:56] = COULOMB, VISCOUS, 0.006
    fit = fit_rigid_body(REGRESSOR, planted(model, MOTION, noise=0.01), base)
    wanted = base.reduce(truth)
    assert np.abs(fit.beta - wanted).max() < 0.01
    assert np.allclose(fit.friction("coulomb"), COULOMB, atol=4e-3)
    assert np.allclose(fit.friction("viscous"), VISCOUS, atol=2e-3)
    assert np.abs((fit.beta - wanted) / fit.deviation).mean() < 2.0
    test = planted(model, REGRESSOR.random(np.random.default_rng(2), 200))
    assert np.abs(fit.predict(test) - test.effort).max() < 0.05


def test_base_parameters_explain_the_full_regressor():
    base = base_parameters(REGRESSOR)
    assert base.rank < len(REGRESSOR.names)
    matrix = REGRESSOR.matrix(MOTION)
    parameters = np.random.default_rng(3).normal(size=len(REGRESSOR.names))
    reduced = matrix[:, :, base.columns] @ base.reduce(parameters)
    assert np.allclose(reduced, matrix @ parameters, atol=1e-7)
    assert len(base.describe(REGRESSOR.names)) == base.rank


def test_rank_does_not_depend_on_the_draw():
    assert {base_parameters(REGRESSOR, seed).rank for seed in range(3)} == {
        base_parameters(REGRESSOR).rank
    }


def test_physical_solution_is_possible_and_predicts():
    model = changed(arm())
    data = planted(model, MOTION, noise=0.01)
    free = fit_rigid_body(REGRESSOR, data)
    body = fit_physical(REGRESSOR, data, free.noise)
    assert body.smallest_eigenvalue() > 0.0
    assert (body.parameters[:40:10] > 0.0).all()
    assert (body.parameters[40:48] >= 0.0).all()
    test = planted(model, REGRESSOR.random(np.random.default_rng(2), 200))
    assert np.sqrt(((body.predict(test) - test.effort) ** 2).mean()) < 0.02
    hand = body.parameters[30:40]
    truth = Regressor(model, np.full(4, 0.05)).prior()[30:40]
    assert hand[1] == pytest.approx(truth[1], rel=0.05)  # first moment along the hand


def test_least_squares_alone_may_be_impossible():
    """Why the physical solution exists: noise pushes the plain fit outside the possible bodies."""
    model = changed(arm())
    few = planted(model, MOTION[:40], noise=0.5)
    fit = fit_rigid_body(REGRESSOR, few)
    drives = [fit.friction(name) for name in ("coulomb", "viscous", "rotor")]
    assert np.nanmin(drives) < 0.0
    assert fit_physical(REGRESSOR, few, fit.noise).smallest_eigenvalue() > 0.0


def test_log_cholesky_agrees_with_pinocchio():
    body = possible(np.asarray(arm().inertias[3].toDynamicParameters()))
    chart = pin.LogCholeskyParameters(log_cholesky(body))
    assert np.allclose(chart.toDynamicParameters(), body, atol=1e-12)


def test_impossible_body_is_refused_by_name():
    with pytest.raises(FitError, match="impossible inertia"):
        log_cholesky(np.array([1.0, 0.1, 0, 0, 1e-6, 0, 1e-6, 0, 0, 1e-6]))


def test_planted_payload_is_recovered():
    model = arm()
    model.inertias[4] = model.inertias[4] + pin.Inertia(
        0.35, np.array([0.12, 0.0, 0.01]), np.eye(3) * 1e-4
    )
    tool, _ = fit_payload(REGRESSOR, planted(model, MOTION, noise=0.02), ridge=1e-6)
    assert tool.com[0] * tool.mass == pytest.approx(0.35 * 0.12, rel=0.1)
    assert tool.mass == pytest.approx(0.35, abs=max(0.05, 4 * tool.deviation))


def test_excitation_improves_on_its_start_and_keeps_the_limits():
    speed = np.full(4, 3.0)
    path, ending, start = design_excitation(REGRESSOR, speed=speed, evaluations=60)
    motion = path.samples(400)
    assert ending < 0.9 * start
    assert (np.abs(motion.qd) <= speed + 1e-9).all()
    low, high = REGRESSOR.model.lowerPositionLimit, REGRESSOR.model.upperPositionLimit
    assert ((motion.q >= low) & (motion.q <= high)).all()
    assert np.allclose(motion.qd[0], 0.0, atol=1e-9)


def test_path_starts_at_its_centre():
    path = path_of(np.arange(24.0) / 10, np.array([0.1, 0.2, 0.3]), 5.0, 4)
    assert np.allclose(path.samples().q[0], path.centre)


def test_differentiation_of_a_known_motion():
    time = np.arange(0.0, 4.0, 0.01)
    q = np.stack([np.sin(2 * time), np.cos(time)], axis=1)
    out = differentiated(q, np.zeros_like(q), 0.01)
    assert np.abs(out.qdd + out.q * [4.0, 1.0]).max() < 0.02


def test_uniform_drops_repeated_stamps():
    time = np.array([0.0, 0.1, 0.1, 0.25, 0.4])
    grid, channels = uniform(time, 20.0, value=time[:, None])
    assert np.allclose(channels["value"][:, 0], grid, atol=1e-9)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: Samples(np.zeros((3, 2)), np.zeros((3, 2)), np.zeros((2, 2)), np.zeros((3, 2))),
            "qdd has shape",
        ),
        (lambda: Regressor(arm(), np.ones(3)), "sign_speed"),
        (lambda: differentiated(np.zeros((5, 2)), np.zeros((5, 2)), 0.01), "5 rows"),
        (lambda: fit_rigid_body(REGRESSOR, MOTION[:5]), "base parameters"),
    ],
)
def test_bad_input_is_named(make, words):
    with pytest.raises(FitError, match=words):
        make()
