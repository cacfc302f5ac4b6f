# SPDX-License-Identifier: Apache-2.0
"""Tuning finds good settings on made-up episodes, and blocks of recordings change no number."""

from __future__ import annotations

import numpy as np
import pytest

from na_core.features import GearModel, MotorModel, Ticks
from na_core.observers import DeadBand, make_estimator
from na_core.observers.estimator import arm_of
from na_core.robot_spec import load_robot_spec
from na_training.classical import force_tuning as tuning
from na_training.classical.samples import FitError
from na_training.data import Episode

SPEC = load_robot_spec("omx")
MOTOR = MotorModel.published(SPEC)
ARM = arm_of(SPEC, MOTOR)
DT = 1.0 / 60.0


def episode(length, seed, push=2.0):
    """A slowly moving arm, exact motor efforts plus noise, pushed along -z in its second half."""
    rng = np.random.default_rng(seed)
    time = DT * np.arange(length)
    phase = rng.uniform(0, 6, 5)
    width = np.array([0.5, 0.4, 0.4, 0.4, 0.002])
    middle = np.array([0.0, -0.3, 0.3, 0.4, 0.005])
    q = middle + width * np.sin(0.8 * time[:, None] + phase)
    qd = 0.8 * width * np.cos(0.8 * time[:, None] + phase)
    terms = ARM.terms(q, qd)
    force = np.zeros((length, 3))
    force[length // 2 :, 2] = -push
    external = np.einsum("tij,ti->tj", terms.jacobian, force)
    effort = np.gradient(terms.momentum, DT, axis=0) - terms.drift - external
    current = effort / MOTOR.torque_constant + rng.normal(0.0, 0.02, q.shape)
    fill = np.zeros_like(q)
    ticks = Ticks.of(position=q, velocity=qd, goal=q, current=current, voltage=fill + 12.0,
                     temperature=fill + 40.0)  # fmt: skip
    contact = (np.arange(length) >= length // 2).astype(float)
    return Episode(
        f"e{seed}", "omx", "force_labelled", "push", "", "", "", time, ticks,
        np.array([[0, length]]), force, contact, np.full(5, np.nan), force,
    )  # fmt: skip


EPISODES = [episode(300, 0), episode(240, 1), episode(300, 2)]


def test_blocks_give_what_single_replays_give():
    estimator = make_estimator("kalman", SPEC, DT, MOTOR, gate=DeadBand(1.0, 0.5))
    tuned = tuning.Tuned(estimator, {}, "published", False, 0.0, 0.0)
    for (force, gate), one in zip(tuning.run_episodes(tuned, EPISODES), EPISODES, strict=True):
        single = estimator.replay(one.ticks)
        assert np.allclose(force, single.force, atol=1e-9)
        assert np.array_equal(gate, single.contact)


def test_gate_columns_equal_the_dead_band():
    rng = np.random.default_rng(0)
    size = np.abs(np.cumsum(rng.normal(0.0, 0.3, (200, 4)), axis=0))
    gate = DeadBand(1.0, 0.6, 3)
    whole = tuning.gate_columns(size, 1.0, 0.6, 3)
    for column in range(4):
        force = np.stack([size[:, column], np.zeros(200), np.zeros(200)], axis=1)
        assert np.array_equal(whole[:, column], gate.replay(force))


@pytest.mark.parametrize("kind", ["gmo", "id_friction"])
def test_tuning_beats_zero_and_an_untuned_setting(kind):
    constants = {"published": (MOTOR, GearModel.guessed(SPEC))}
    blocks = {"published": tuning.make_blocks(ARM, EPISODES)}
    tuned = tuning.tune_observer(kind, SPEC, constants, blocks, DT)
    assert tuned.score < 0.5  # zero would be 1.0: half of the frames are free
    assert tuned.settings in tuning.GRIDS[kind]
    assert 0.15 <= tuned.estimator.gate.on <= 6.0
    effort = [tuned.estimator.observer.replay(b.ticks, b.terms) for b in blocks["published"]]
    weights = tuning.noise_weights(effort, blocks["published"])
    assert weights.shape == (5,) and (weights > 0).all()


def test_balanced_error_weighs_both_states_alike():
    force = np.zeros((4, 3))
    label = np.zeros((4, 3))
    label[3, 0] = 2.0
    contact = np.array([0.0, 0.0, 0.0, 1.0])
    assert tuning.balanced_error(force, label, contact) == pytest.approx(1.0)


def test_tuning_without_labels_is_refused():
    with pytest.raises(FitError, match="labelled episodes"):
        tuning.balanced_error(np.zeros((2, 3)), np.full((2, 3), np.nan), np.zeros(2))
