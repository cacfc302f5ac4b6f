# SPDX-License-Identifier: Apache-2.0
"""The leak audit finds a planted giveaway and stays quiet on noise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from na_sim.nad_generator.leaks import (
    CHANNELS,
    EpisodeView,
    area_under_curve,
    audit,
    load_data_set,
)


def views(planted: bool, count: int = 40) -> list[EpisodeView]:
    rng = np.random.default_rng(1)
    out = []
    for k in range(count):
        contact = np.repeat(rng.uniform(size=20) < 0.4, 5)
        payload = np.full(100, k % 3 == 0)
        features = {name: rng.standard_normal((100, 4)) for name in CHANNELS}
        if planted:
            features["gripper"][:, 2] += 0.8 * contact
        targets = {"contact": contact, "payload": payload}
        out.append(EpisodeView(f"e{k}", f"g{k // 2}", features, targets))
    return out


def test_finds_a_planted_giveaway_and_only_that() -> None:
    rows = {
        (row.channels, row.target): row
        for row in audit(views(planted=True), divisions=1, shuffles=2)
    }
    assert rows["gripper", "contact"].verdict == "leak"
    assert rows["gripper", "contact"].auc > 0.65
    assert rows["time", "contact"].verdict == "ok"
    assert rows["gripper", "payload"].verdict == "ok"


def test_is_quiet_on_noise() -> None:
    assert all(row.verdict == "ok" for row in audit(views(planted=False), divisions=1, shuffles=2))


@pytest.mark.parametrize(
    ("score", "truth", "expected"),
    [
        ([1.0, 2.0, 3.0, 4.0], [False, False, True, True], 1.0),
        ([4.0, 3.0, 2.0, 1.0], [False, False, True, True], 0.0),
        ([1.0, 1.0, 1.0, 1.0], [False, True, False, True], 0.5),
    ],
)
def test_area_under_curve(score: list[float], truth: list[bool], expected: float) -> None:
    assert area_under_curve(np.array(score), np.array(truth)) == pytest.approx(expected)


def test_area_is_undefined_for_one_class() -> None:
    assert np.isnan(area_under_curve(np.arange(3.0), np.ones(3, bool)))


def test_empty_folder_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no \*.npz episodes; generate some with ./na nad"):
        load_data_set(tmp_path)
