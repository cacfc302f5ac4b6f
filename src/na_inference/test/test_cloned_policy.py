# SPDX-License-Identifier: Apache-2.0
"""A stored policy acts as its arrays say, bounded by what was demonstrated."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from na_inference.cloned_policy import ClonedPolicy


def stored(path: Path, with_force: bool, **changes: object) -> Path:
    inputs = 6 if with_force else 2
    arrays: dict[str, object] = {
        "names": np.array(["joint1", "joint2"]), "with_force": with_force,
        "mean": np.zeros(inputs), "scale": np.ones(inputs),
        "size": np.ones(2), "most": np.array([0.01, 0.01]),
        "weight0": np.eye(3, inputs), "bias0": np.zeros(3),
        "weight1": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]), "bias1": np.zeros(2),
    }  # fmt: skip
    arrays.update(changes)
    np.savez(path, **{key: value for key, value in arrays.items() if value is not None})
    return path


def test_steps_are_bounded_by_the_demonstrations(tmp_path: Path) -> None:
    policy = ClonedPolicy(stored(tmp_path / "p.npz", True))
    goal = policy.step(np.array([5.0, 0.0]), np.array([1.0, 2.0]), np.zeros(3), False)
    assert goal == pytest.approx([1.01, 2.0])


def test_the_force_is_read_only_by_a_policy_with_force(tmp_path: Path) -> None:
    for with_force in (True, False):
        policy = ClonedPolicy(stored(tmp_path / f"{with_force}.npz", with_force))
        zero, goal = np.zeros(2), np.zeros(2)
        calm = policy.step(zero, goal, np.zeros(3), False)
        pushed = policy.step(zero, goal, np.array([0.004, 0.0, 0.0]), True)
        assert np.array_equal(calm, pushed) is not with_force


def test_a_file_that_is_no_policy_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no most; expected a cloned policy"):
        ClonedPolicy(stored(tmp_path / "p.npz", True, most=None))
