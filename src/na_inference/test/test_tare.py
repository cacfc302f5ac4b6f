# SPDX-License-Identifier: Apache-2.0
"""A tare is refused whenever what it would take off might be real."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from na_inference.tare import Tare

RATIO = np.ones(5)
REST: dict[str, Any] = {
    "force": np.array([0.3, -0.2, 0.5]),
    "position": np.full(5, 0.1),
    "velocity": np.zeros(5),
    "goal": np.full(5, 0.1),
    "contact": False,
    "trouble": "",
}


def observe(tare: Tare, count: int, start: int = 0, **changes: Any) -> None:
    for k in range(start, start + count):
        tare.observe(k * 16_666_667, **{**REST, **changes})


def test_a_second_of_rest_makes_a_bias_with_age_and_pose() -> None:
    tare = Tare(RATIO)
    observe(tare, 60)
    result = tare.request()
    assert result.ok
    assert "bias [+0.300, -0.200, +0.500] N" in result.text
    assert tare.bias == pytest.approx(REST["force"])
    assert tare.age(59 * 16_666_667 + 2_000_000_000) == pytest.approx(2.0)
    assert tare.distance(np.full(5, 0.4)) == pytest.approx(0.3)


def test_without_a_full_second_it_is_refused() -> None:
    tare = Tare(RATIO)
    observe(tare, 59)
    assert "59 of 60 ticks" in tare.request().text


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"velocity": np.array([0.0, 0.06, 0, 0, 0])}, "moving"),
        ({"goal": np.full(5, 0.2)}, "moving"),
        ({"contact": True}, "in contact"),
        ({"trouble": "out of distribution"}, "out of distribution"),
    ],
)
def test_one_bad_tick_in_the_last_second_refuses(change: dict[str, Any], word: str) -> None:
    tare = Tare(RATIO)
    observe(tare, 60)
    observe(tare, 1, 60, **change)
    observe(tare, 30, 61, **({"goal": change["goal"]} if "goal" in change else {}))
    result = tare.request()
    assert not result.ok
    assert word in result.text
    assert np.array_equal(tare.bias, np.zeros(3))
    observe(tare, 60, 91, **({"goal": change["goal"]} if "goal" in change else {}))
    assert tare.request().ok


def test_a_large_force_at_rest_is_not_a_bias() -> None:
    tare = Tare(RATIO)
    observe(tare, 60, force=np.array([0.0, 0.0, -1.6]))
    assert "is something touching or held?" in tare.request().text


def test_a_pause_forgets_the_last_second() -> None:
    tare = Tare(RATIO)
    observe(tare, 60)
    tare.interrupt()
    assert not tare.request().ok


def test_a_goal_that_flickers_by_a_count_is_rest_and_one_that_creeps_is_not() -> None:
    count = 2.0 * np.pi / 4096
    tare = Tare(RATIO)
    for k in range(60):
        observe(tare, 1, k, goal=REST["goal"] + count * (k % 2))
    assert tare.request().ok
    creeping = Tare(RATIO)
    for k in range(60):
        observe(creeping, 1, k, goal=REST["goal"] + 0.0002 * k)
    assert "a goal went over 0.0118 rad" in creeping.request().text


def test_a_small_joint_of_a_slide_is_judged_by_its_servo() -> None:
    tare = Tare(np.array([1.0, 1.0, 1.0, 1.0, 0.0115]))
    for k in range(60):
        observe(tare, 1, k, goal=REST["goal"] + np.array([0, 0, 0, 0, 3e-6 * k]))
    assert "moving, a goal went over" in tare.request().text


def test_an_estimate_that_has_not_settled_is_refused() -> None:
    tare = Tare(RATIO)
    for k in range(60):
        observe(tare, 1, k, force=REST["force"] + np.array([0.0, 0.012 * k, 0.0]))
    assert "still varies by 0.21 N" in tare.request().text


def test_a_bias_with_a_reach_fades_away_from_its_pose() -> None:
    tare, everywhere = Tare(RATIO, reach=0.5), Tare(RATIO)
    for made in (tare, everywhere):
        observe(made, 60)
        assert made.request().ok
    for offset, share in ((0.0, 1.0), (0.1, 0.8), (-0.4, 0.2), (0.6, 0.0)):
        pose = REST["position"] + np.array([0.0, offset, 0.0, 0.0, 0.0])
        assert tare.bias_at(pose) == pytest.approx(share * REST["force"])
        assert everywhere.bias_at(pose) == pytest.approx(REST["force"])
