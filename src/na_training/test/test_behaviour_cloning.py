# SPDX-License-Identifier: Apache-2.0
"""A cloned policy stops at a surface that only the force can tell; without force it cannot."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs torch: requirements/train.txt")

from na_core.nad.arrays import Episode, NumberTrack, TelemetryTrack
from na_training import behaviour_cloning
from na_training.behaviour_cloning import FORCE, STATE, clone, demonstrations

STIFFNESS, WANTED, GAIN, MOST = 40.0, 4.0, 2e-3, 5e-3  # N/rad, N, rad/N per tick, rad per tick
NAMES = ("joint1", "joint2")


def force_at(position: float, surface: float) -> float:
    return STIFFNESS * max(0.0, position - surface)


def expert(surface: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions (K, 2) and forces (K,) of joint2 pressing on a surface until four newtons."""
    rng = np.random.default_rng(seed)
    position, felt = [], []
    q = np.array([0.1, rng.uniform(-0.2, 0.0)])
    for _ in range(300):
        f = force_at(q[1], surface)
        position.append(q.copy())
        felt.append(f)
        q[1] += np.clip(GAIN * (WANTED - f), -MOST, MOST)
    return np.array(position), np.array(felt)


def episode(surface: float, seed: int, with_estimate: bool = True) -> Episode:
    position, felt = expert(surface, seed)
    n = len(position)
    stamp = np.arange(1, n + 1) * 16_666_667
    base = dict(log_ns=stamp, stamp_ns=stamp, segments=np.zeros(n, dtype=np.int64), base="header")
    rest = {name: np.zeros((n, 2)) for name in ("velocity", "current", "load", "voltage")}
    track = TelemetryTrack(
        topic="/follower/telemetry", arm="follower", names=NAMES,
        sequence=np.arange(n, dtype=np.uint64), goal_requested=position, goal_sent=position,
        goal_register=position, position=position, temperature=np.zeros((n, 2)),
        hardware_error=np.zeros((n, 2), np.uint8), torque_enabled=np.ones(n, bool),
        stale=np.zeros(n, bool), control_period_us=np.full(n, 16667, np.uint32), **rest, **base,
    )  # fmt: skip
    tracks = {"/follower/telemetry": track}
    if with_estimate:
        columns = [np.zeros(n), np.zeros(n), felt, felt > 0.3]
        numbers = dict(zip(FORCE, columns, strict=True))
        tracks[STATE] = NumberTrack(topic=STATE, type="na_msgs", numbers=numbers, **base)
    return Episode(Path(f"made_up_{seed}"), "", tracks)


def final_force(arrays: dict[str, np.ndarray], surface: float, with_force: bool) -> float:
    """Where a policy, evaluated by hand from its arrays, comes to rest."""
    q = np.array([0.1, -0.1])
    for _ in range(400):
        f = force_at(q[1], surface)
        seen = np.append(q, [0.0, 0.0, f, f > 0.3]) if with_force else q
        value = (seen - arrays["mean"]) / arrays["scale"]
        for k in range(3):
            value = arrays[f"weight{k}"] @ value + arrays[f"bias{k}"]
            value = np.tanh(value) if k < 2 else value
        q = q + np.clip(value * arrays["size"], -arrays["most"], arrays["most"])
    return force_at(q[1], surface)


@pytest.mark.parametrize("with_force", [True, False])
def test_force_as_an_input_finds_surfaces_that_were_not_shown(with_force: bool) -> None:
    shown = [episode(surface, k) for k, surface in enumerate(np.linspace(0.1, 0.5, 9))]
    parts = [demonstrations(one, with_force) for one in shown]
    seen, action = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    arrays, _ = clone(seen, action, epochs=120)
    errors = [abs(final_force(arrays, s, with_force) - WANTED) for s in (0.18, 0.33, 0.47)]
    if with_force:
        assert max(errors) < 1.0, errors
    else:
        assert max(errors) > 2.0, errors


def test_a_bag_without_estimate_says_what_to_do() -> None:
    with pytest.raises(ValueError, match="record with the estimate running, or learn --without"):
        demonstrations(episode(0.2, 0, with_estimate=False), True)
    seen, action = demonstrations(episode(0.2, 0, with_estimate=False), False)
    assert seen.shape == action.shape == (299, 2)


def test_too_little_is_refused() -> None:
    with pytest.raises(ValueError, match="expected at least 100"):
        clone(np.zeros((5, 2)), np.zeros((5, 2)))


def test_no_episode_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert behaviour_cloning.main([str(tmp_path), "--out", str(tmp_path / "p.npz")]) == 1
    assert "no episode" in capsys.readouterr().err
