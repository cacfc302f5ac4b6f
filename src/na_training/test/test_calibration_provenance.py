# SPDX-License-Identifier: Apache-2.0
"""A model is bound to the calibration of its recordings, if they share one."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("torch", reason="needs torch: requirements/train.txt")

from toy_data import toy_episode

from na_training.training.session import calibration_of


@pytest.mark.parametrize(
    ("hashes", "expected"),
    [(["a", "a"], "a"), (["a", "b"], "none"), (["a", ""], "none"), (["", ""], "none")],
)
def test_only_one_shared_calibration_binds(hashes: list[str], expected: str) -> None:
    episode = toy_episode(0, length=30)
    assert calibration_of([replace(episode, calibration=h) for h in hashes]) == expected
