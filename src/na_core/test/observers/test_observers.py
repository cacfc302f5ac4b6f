# SPDX-License-Identifier: Apache-2.0
"""Observers find a force that was really applied, with its sign, and replay what they did live."""

from __future__ import annotations

import numpy as np
import pinocchio
import pytest

from na_core.features import GearModel, MotorModel, Ticks
from na_core.observers import (
    OBSERVERS,
    DeadBand,
    MomentumObserver,
    ObserverError,
    estimator_from_json,
    force_from_effort,
    make_estimator,
)
from na_core.robot_spec import load_robot_spec
from na_core.wrench import payload_force

DT = 1.0 / 60.0
SPEC = load_robot_spec("omx")
MOTOR = MotorModel.published(SPEC)
# These arms have no friction, and link and rotor are one.
STIFF = GearModel(
    stiffness=np.full(5, 1e4),
    backlash=np.zeros(5),
    coulomb=np.full(5, 1e-3),
    stribeck=np.zeros(5),
    stribeck_speed=np.full(5, 0.1),
    viscous=np.zeros(5),
    load_share=np.zeros(5),
)
POSE = np.array([0.2, -0.4, 0.3, 0.5, 0.01])


def ticks_of(q, qd, effort):
    """Telemetry of an arm whose motors supply `effort` (T, n)."""
    current = effort / MOTOR.torque_constant
    return Ticks.of(
        position=q,
        velocity=qd,
        goal=q,
        current=current,
        voltage=np.full_like(q, 12.0),
        temperature=np.full_like(q, 40.0),
    )


def holding(force, seconds=3.0):
    """An arm at rest at POSE while `force` (3,) [N] acts: motors carry gravity less Jᵀ f."""
    estimator = make_estimator("gmo", SPEC, DT, MOTOR)
    length = int(seconds / DT)
    terms = estimator.arm.terms(POSE, np.zeros(5))
    effort = terms.gravity - terms.jacobian.T @ force
    q = np.tile(POSE, (length, 1))
    return ticks_of(q, np.zeros_like(q), np.tile(effort, (length, 1)))


def swinging(force, seconds=4.0, friction=None):
    """A moving arm under a constant force: exact rigid-body dynamics integrated at 60 x 40 Hz."""
    arm = make_estimator("gmo", SPEC, DT, MOTOR).arm
    model, data = arm.model, arm.model.createData()
    q, qd = POSE.copy(), np.zeros(5)
    rows, steps = [], 40
    time = 0.0
    for _ in range(int(seconds / DT)):
        wanted = POSE + 0.3 * np.sin(2.0 * time + np.arange(5)) * [1, 1, 1, 1, 0.01]
        effort = np.array([8, 8, 8, 8, 2e4]) * (wanted - q) - qd * [0.2, 0.2, 0.2, 0.2, 1e3]
        effort += pinocchio.computeGeneralizedGravity(model, data, q)
        loss = np.zeros(5) if friction is None else friction.friction(qd)
        for _ in range(steps):
            mass = pinocchio.crba(model, data, q)
            mass = np.triu(mass) + np.triu(mass, 1).T + np.diag(arm.rotor)
            bias = pinocchio.nonLinearEffects(model, data, q, qd)
            external = arm.terms(q, qd).jacobian.T @ force
            if friction is not None:
                loss = friction.friction(qd)
            qd = qd + DT / steps * np.linalg.solve(mass, effort - loss + external - bias)
            q = q + DT / steps * qd
        time += DT
        rows.append((q.copy(), qd.copy(), effort.copy()))
    q, qd, effort = (np.array(column) for column in zip(*rows, strict=True))
    return ticks_of(q, qd, effort)


@pytest.mark.parametrize("name", OBSERVERS)
def test_hanging_weight_is_negative_z(name):
    force = payload_force(0.3)
    estimate = make_estimator(name, SPEC, DT, MOTOR).replay(holding(force))
    assert np.allclose(estimate.force[-1], force, atol=0.02)
    assert estimate.contact[-1]
    assert estimate.gated[-1, 2] < -2.5


@pytest.mark.parametrize("name", OBSERVERS)
def test_static_push_is_recovered(name):
    force = np.array([1.5, -2.0, 1.0])
    estimate = make_estimator(name, SPEC, DT, MOTOR).replay(holding(force))
    assert np.linalg.norm(estimate.force[-1] - force) < 0.05 * np.linalg.norm(force)


@pytest.mark.parametrize(("name", "limit"), [(n, 1.2 if n == "dob" else 0.5) for n in OBSERVERS])
def test_push_on_a_moving_arm(name, limit):
    """The disturbance observer knows no coupling, hence its wider limit."""
    force = np.array([1.0, 2.0, -2.0])
    gears = STIFF if OBSERVERS[name].needs_gears else None
    estimate = make_estimator(name, SPEC, DT, MOTOR, gears=gears).replay(swinging(force))
    error = np.linalg.norm(estimate.force[90:] - force, axis=1).mean()
    assert error < limit


def test_known_friction_is_compensated_and_unknown_is_not():
    values = {key: np.array(value) for key, value in MOTOR.to_json().items()}
    values["coulomb"] = np.array([0.1, 0.1, 0.1, 0.1, 8.0])
    rough = MotorModel(**values)
    ticks = swinging(np.zeros(3), friction=rough)
    blind = make_estimator("gmo", SPEC, DT, MOTOR, gain=20.0).replay(ticks).effort[60:, :4]
    knowing = make_estimator("gmo", SPEC, DT, rough, gain=20.0).replay(ticks).effort[60:, :4]
    assert np.abs(knowing).mean() < 0.4 * np.abs(blind).mean()
    linear = make_estimator("id_linear", SPEC, DT, rough).replay(ticks).effort[60:, :4]
    friction = make_estimator("id_friction", SPEC, DT, rough).replay(ticks).effort[60:, :4]
    assert np.abs(friction).mean() < 0.4 * np.abs(linear).mean()


def test_memory_carries_friction_into_rest():
    """After moving up and stopping, held friction explains what is left of the motor's effort."""
    values = {key: np.array(value) for key, value in MOTOR.to_json().items()}
    values["coulomb"] = np.array([0.1, 0.1, 0.1, 0.1, 8.0])
    rough = MotorModel(**values)
    ticks = holding(np.zeros(3), 4.0)
    q = ticks.position.copy()
    q[:60, 1] += np.linspace(-0.05, 0.0, 60)
    effort = ticks.current * MOTOR.torque_constant
    effort[:, 1] += 0.1
    qd = np.gradient(q, DT, axis=0)
    qd[60:] = 0.0
    ticks = ticks_of(q, qd, effort)
    plain = make_estimator("gmo", SPEC, DT, rough).replay(ticks).effort[-1, 1]
    held = make_estimator("gmo_memory", SPEC, DT, rough, hold=1.0).replay(ticks).effort[-1, 1]
    assert plain == pytest.approx(-0.1, abs=0.01)
    assert held == pytest.approx(0.0, abs=0.01)


@pytest.mark.parametrize("name", OBSERVERS)
def test_live_steps_equal_replay_and_survive_json(name):
    ticks = swinging(np.array([0.0, 0.0, -2.0]), 1.0)
    estimator = make_estimator(name, SPEC, DT, MOTOR, gate=DeadBand(0.5, 0.3))
    estimator.weight = np.array([1.0, 2.0, 3.0, 4.0, 1.0])
    replay = estimator.replay(ticks)
    live = estimator_from_json(estimator.to_json(), SPEC)
    steps = [live.step(ticks[i]) for i in range(ticks.shape[0])]
    assert np.allclose([s.force for s in steps], replay.force, atol=1e-12)
    assert [bool(s.contact) for s in steps] == replay.contact.tolist()


def test_step_is_pure():
    ticks = holding(np.array([1.0, 0.0, 0.0]), 0.5)
    estimator = make_estimator("kalman", SPEC, DT, MOTOR)
    terms = estimator.arm.terms(ticks.position, ticks.velocity)
    observer = estimator.observer
    state = observer.start(ticks[0], estimator.arm.terms(POSE, np.zeros(5)))
    before = {key: value.copy() for key, value in state.items()}
    one = estimator.arm.terms(POSE, np.zeros(5))
    first, _ = observer.step(state, ticks[0], one)
    second, _ = observer.step(state, ticks[0], one)
    assert np.array_equal(first, second)
    assert all(np.array_equal(state[key], before[key]) for key in before)
    assert terms.gravity.shape == ticks.shape


def test_large_gain_is_stable():
    estimate = make_estimator("gmo", SPEC, DT, MOTOR, gain=1e4).replay(holding(payload_force(0.2)))
    assert np.isfinite(estimate.force).all()
    assert np.linalg.norm(estimate.force[-1] - payload_force(0.2)) < 0.02


def test_weights_trust_the_good_joints():
    jacobian = make_estimator("gmo", SPEC, DT, MOTOR).arm.terms(POSE, np.zeros(5)).jacobian
    force = np.array([1.0, -1.0, 2.0])
    effort = jacobian.T @ force
    effort[1] += 0.3
    plain = np.linalg.norm(force_from_effort(effort, jacobian) - force)
    weight = np.array([1.0, 1e-3, 1.0, 1.0, 1.0])
    weighted = np.linalg.norm(force_from_effort(effort, jacobian, weight, damping=1e-3) - force)
    assert weighted < 0.25 * plain


def test_dead_band_waits_and_closes():
    gate = DeadBand(1.0, 0.5, dwell=2)
    force = np.zeros((9, 3))
    force[:, 2] = [0.0, 1.2, 0.0, 1.2, 1.2, 0.7, 0.4, 0.4, np.nan]
    assert gate.replay(force).tolist() == [False] * 4 + [True] * 3 + [False] * 2


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: make_estimator("gm", SPEC, DT), "expected one of id_linear"),
        (lambda: make_estimator("gmo", SPEC, DT, gian=3.0), r"unknown setting \['gian'\]"),
        (lambda: make_estimator("gmo", SPEC, DT, gain=float("nan")), "gain = nan"),
        (lambda: make_estimator("gmo", SPEC, 0.0), "dt = 0.0 s"),
        (lambda: OBSERVERS["gears"](MOTOR, DT), "no gears given"),
        (
            lambda: make_estimator("id_linear", SPEC, DT, ticks=0).replay(holding(np.zeros(3))),
            "ticks = 0",
        ),
        (lambda: DeadBand(0.5, 1.0), "0 <= off <= on"),
        (lambda: estimator_from_json({"name": "gmo"}, SPEC), "missing"),
    ],
)
def test_bad_settings_are_named(make, words):
    with pytest.raises(ObserverError, match=words):
        make()


def test_missing_measurement_is_refused_and_harmless():
    ticks = holding(payload_force(0.2), 1.0)
    estimator = make_estimator("gmo", SPEC, DT, MOTOR)
    estimator.step(ticks[0])
    bad = Ticks.of(**{**ticks[1].__dict__, "current": np.full(5, np.nan)})
    with pytest.raises(ObserverError, match="current"):
        estimator.step(bad)
    assert np.isfinite(estimator.step(ticks[1]).force).all()


def test_observer_repr_names_settings():
    assert "gain=7" in repr(MomentumObserver(MOTOR, DT, gain=7.0))


def test_only_the_gears_show_a_push_that_friction_hides():
    """The current does not change; the links yield by what the force does to their gears."""
    ratio = np.array([joint.ratio for joint in SPEC.joints])
    gears = GearModel.guessed(SPEC)
    # In the plane of the arm: joint 1 carries nothing and lies somewhere in its backlash.
    force = np.array([0.3 * np.cos(POSE[0]), 0.3 * np.sin(POSE[0]), -0.4])
    ticks = holding(np.zeros(3), 4.0)
    terms = make_estimator("gmo", SPEC, DT, MOTOR).arm.terms(POSE, np.zeros(5))
    ticks.position[120:] += terms.jacobian.T @ force * ratio / gears.stiffness * ratio
    seen = make_estimator("gears", SPEC, DT, MOTOR, gears=gears).replay(ticks).force[-1]
    blind = make_estimator("gmo", SPEC, DT, MOTOR).replay(ticks).force[-1]
    assert np.linalg.norm(seen - force) < 0.1
    assert np.linalg.norm(blind - force) > 0.4
