# SPDX-License-Identifier: Apache-2.0
"""Effort models that learn: clip, physics of the Lagrangian, TorchScript files, error bars."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from na_training.classical.actuator_network import fit_actuator_network, history
from na_training.classical.deep_lagrangian import LagrangianNetwork, fit_deep_lagrangian
from na_training.classical.gaussian_process import fit_gaussian_process
from na_training.classical.residual_network import fit_residual_network
from na_training.classical.samples import FitError, Samples
from na_training.classical.torch_fit import FitSettings, validation_rows

RNG = np.random.default_rng(0)


def pendulum(count, seed=0, friction=0.1):
    """Two separate pendulums with Coulomb friction; efforts known in closed form."""
    rng = np.random.default_rng(seed)
    q, qd, qdd = (rng.normal(0.0, s, (count, 2)) for s in (1.0, 1.5, 3.0))
    effort = 0.2 * qdd + 1.5 * np.sin(q) + friction * np.tanh(qd / 0.05)
    return Samples(q, qd, qdd, effort)


def test_residual_network_adds_what_is_missing_and_no_more():
    data, test = pendulum(2500), pendulum(500, 1)

    def base(samples):
        return 0.2 * samples.qdd + 1.2 * np.sin(samples.q)

    model = fit_residual_network(base, data, settings=FitSettings(epochs=30))
    before = np.abs(base(test) - test.effort).mean()
    assert np.abs(model.predict(test) - test.effort).mean() < 0.25 * before
    far = Samples(test.q, 100.0 * test.qd, 100.0 * test.qdd, test.effort)
    assert (np.abs(model.correction(far)) <= model.clip * model.scale + 1e-9).all()


def test_lagrangian_mass_matrix_is_symmetric_and_positive():
    network = LagrangianNetwork(3, np.ones(3))
    mass = network.mass_matrix(torch.randn(20, 3))
    assert torch.allclose(mass, mass.transpose(-1, -2))
    assert float(torch.linalg.eigvalsh(mass).min()) > 0.0


def test_lagrangian_obeys_the_equations_of_motion():
    """The efforts equal those of finite differences of the network's own energy."""
    torch.manual_seed(1)
    network = LagrangianNetwork(2, np.ones(2)).double()
    q, qd, qdd = (torch.randn(1, 2, dtype=torch.float64) for _ in range(3))
    step = 1e-5

    def lagrangian(a, b):
        kinetic = 0.5 * b @ network.mass_matrix(a[None])[0] @ b
        return kinetic - network.energy(a[None])[0]

    def momentum(a, b):
        return network.mass_matrix(a[None])[0] @ b

    ahead = momentum(q[0] + step * qd[0], qd[0] + step * qdd[0])
    behind = momentum(q[0] - step * qd[0], qd[0] - step * qdd[0])
    rate = (ahead - behind) / (2 * step)
    slope = torch.stack(
        [
            (lagrangian(q[0] + step * e, qd[0]) - lagrangian(q[0] - step * e, qd[0])) / (2 * step)
            for e in torch.eye(2, dtype=torch.float64)
        ]
    )
    assert torch.allclose(network(q, qd, qdd)[0], rate - slope, atol=1e-6)


@pytest.mark.slow
def test_lagrangian_learns_a_pendulum():
    model = fit_deep_lagrangian(pendulum(3000), settings=FitSettings(epochs=60, rate=5e-3))
    test = pendulum(400, 1)
    assert np.abs(model.predict(test) - test.effort).mean() < 0.2 * np.abs(test.effort).mean()


def servo(length=1200, seed=0):
    """A made-up servo: effort from the error now and one tick ago, and damping."""
    rng = np.random.default_rng(seed)
    error = np.cumsum(rng.normal(0.0, 0.02, (length, 2)), axis=0)
    error -= np.linspace(0, 1, length)[:, None] * error[-1]
    speed = rng.normal(0.0, 0.5, (length, 2))
    late = np.vstack([error[:1], error[:-1]])
    return error, speed, 3.0 * error - 1.0 * late - 0.2 * speed


@pytest.mark.parametrize("kind", ["mlp", "lstm"])
def test_actuator_network_learns_and_exports(kind, tmp_path):
    network = fit_actuator_network(
        kind,
        [servo(), servo(seed=1)],
        0.02,
        settings=FitSettings(epochs=80 if kind == "lstm" else 30, batch=64),
    )
    error, speed, effort = servo(seed=2)
    found = network.predict(error, speed)
    share = np.abs(found - effort)[20:].mean() / np.abs(effort).mean()
    assert share < (0.1 if kind == "mlp" else 0.5)
    beside = network.export(tmp_path / "servo.pt")
    settings = json.loads(beside.read_text())
    loaded = torch.jit.load(str(tmp_path / "servo.pt"))
    if kind == "mlp":
        # As a simulator does it: newest first, errors before speeds, one row per joint.
        index = settings["input_idx"]
        rows = [error[20 - i] * settings["pos_scale"] for i in index]
        rows += [speed[20 - i] * settings["vel_scale"] for i in index]
        out = loaded(torch.tensor(np.stack(rows, axis=1), dtype=torch.float32))
        assert np.allclose(
            out.detach().numpy()[:, 0] * settings["torque_scale"], found[20], atol=1e-5
        )
    else:
        layers = len(loaded.lstm.state_dict()) // 4
        hidden = loaded.lstm.state_dict()["weight_hh_l0"].shape[1]
        state = (torch.zeros(layers, 2, hidden), torch.zeros(layers, 2, hidden))
        for tick in range(21):
            pair = np.stack(
                [error[tick] * settings["pos_scale"], speed[tick] * settings["vel_scale"]], axis=1
            )
            out, state = loaded(torch.tensor(pair[:, None], dtype=torch.float32), state)
        assert np.allclose(
            out.detach().numpy()[:, 0] * settings["torque_scale"], found[20], atol=1e-5
        )


def test_history_puts_the_newest_first():
    network = fit_actuator_network(
        "mlp", [servo(200)], 0.02, settings=FitSettings(epochs=1, batch=64)
    )
    error = np.arange(6.0)[:, None]
    rows = history(error, 10 * error, network.settings)
    scale, speed = network.settings.pos_scale, network.settings.vel_scale
    assert np.allclose(
        rows[4, 0], [4 * scale, 3 * scale, 2 * scale, 40 * speed, 30 * speed, 20 * speed]
    )
    assert np.allclose(rows[0, 0, :3], 0.0)


def test_unknown_network_is_refused():
    with pytest.raises(FitError, match="expected one of mlp, lstm"):
        fit_actuator_network("gru", [servo(100)], 0.02)
    with pytest.raises(FitError, match="has 64 ticks"):
        fit_actuator_network("lstm", [servo(30)], 0.02)


def test_gaussian_process_bars_cover_the_noise():
    rng = np.random.default_rng(3)
    clean, test = pendulum(300), pendulum(300, 1)
    noisy = Samples(clean.q, clean.qd, clean.qdd, clean.effort + rng.normal(0, 0.2, (300, 2)))
    process = fit_gaussian_process(noisy, lambda s: 0.2 * s.qdd + 1.5 * np.sin(s.q), size=200)
    value, sigma = process.predict_with_deviation(test)
    seen = test.effort + rng.normal(0, 0.2, test.effort.shape)
    inside = (np.abs(value - seen) < 1.96 * sigma).mean()
    assert 0.85 < inside <= 1.0
    assert np.allclose(process.predict(test), value)


def test_validation_rows_are_whole_blocks():
    held = validation_rows(1000, share=0.2, block=50)
    assert 0.15 < held.mean() < 0.25
    assert (np.diff(held.astype(int)) != 0).sum() <= 2 * 4 + 2
