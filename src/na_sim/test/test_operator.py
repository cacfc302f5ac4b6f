# SPDX-License-Identifier: Apache-2.0
"""The scripted operator: smooth, seeded, inside the limits."""

from __future__ import annotations

import numpy as np
import pytest

from na_core.robot_spec import load_robot_spec
from na_sim.operator import Path, RestingHand, ScriptedOperator, minimum_jerk
from na_sim.reach import Reach

ROBOT = load_robot_spec("omx")
REACH = Reach(ROBOT)
TIMES = np.linspace(0.0, 40.0, 4001)


def targets(seed: int) -> np.ndarray:
    operator = ScriptedOperator(ROBOT, seed, reach=REACH)
    return np.stack([operator(t) for t in TIMES])


def test_same_seed_same_motion_other_seed_other_motion() -> None:
    assert np.array_equal(targets(1), targets(1))
    assert np.abs(targets(1) - targets(2)).max() > 0.1


def test_targets_do_not_depend_on_the_order_of_asking() -> None:
    operator = ScriptedOperator(ROBOT, 1, reach=REACH)
    late = operator(30.0)
    operator(2.0)
    assert np.array_equal(late, operator(30.0))
    assert np.array_equal(late, ScriptedOperator(ROBOT, 1, reach=REACH)(30.0))


def test_stays_inside_limits_and_moves_smoothly() -> None:
    q = targets(5)
    assert np.all(q >= ROBOT.lower) and np.all(q <= ROBOT.upper)
    speed = np.diff(q, axis=0) / (TIMES[1] - TIMES[0])
    assert np.all(np.abs(speed) < ROBOT.velocity_limit)
    assert np.ptp(q, axis=0)[:4].max() > 0.5
    acceleration = np.diff(speed[:, :4], axis=0) / (TIMES[1] - TIMES[0])
    assert np.abs(acceleration).max() < 40.0


def test_starts_at_home_and_trembles() -> None:
    q = targets(7)
    assert np.allclose(q[0], ROBOT.home)
    resting = q[60:140, 0] - q[60:140, 0].mean()
    assert 1e-5 < resting.std() < 0.01


def test_minimum_jerk_is_at_rest_at_both_ends() -> None:
    s = np.linspace(-0.5, 1.5, 2001)
    x = minimum_jerk(s)
    assert x[0] == 0.0 and x[-1] == 1.0
    assert np.all(np.diff(x) >= 0.0)
    assert float(minimum_jerk(0.5)) == pytest.approx(0.5)


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ValueError, match=r"pace 0.0: expected a positive factor"):
        ScriptedOperator(ROBOT, 1, pace=0.0)
    with pytest.raises(ValueError, match="a path needs at least one piece"):
        Path([])


def test_reach_solves_what_it_can_reach() -> None:
    q0 = np.array([0.3, -0.5, 0.3, 0.6, 0.005])
    tip = REACH.tip(q0)
    q, distance = REACH.solve(tip + np.array([0.02, 0.01, -0.02]), q0)
    assert distance < 1e-3
    jacobian = REACH.jacobian(q)
    step = 1e-5
    for j in range(4):
        moved = q.copy()
        moved[j] += step
        numeric = (REACH.tip(moved) - REACH.tip(q)) / step
        assert np.allclose(numeric, jacobian[:, j], atol=1e-4)


def test_a_resting_hand_stands_and_goes_on_where_it_was() -> None:
    operator = ScriptedOperator(ROBOT, 1, reach=REACH)
    hand = RestingHand(operator, [(3.0, 5.0), (20.0, 2.0)], 40.0)
    standing = [hand(t) for t in (3.5, 4.0, 6.0, 7.5)]
    assert np.ptp(standing, axis=0).max() == 0.0  # tremor included
    for time, lost in ((2.0, 0.0), (8.0, 4.5), (19.0, 4.5), (23.0, 6.0), (41.0, 6.0), (49.0, 10.5)):
        assert hand.own_time(time) == pytest.approx(time - lost), time
        np.testing.assert_allclose(hand(time), operator(time - lost))


def test_a_hand_comes_to_rest_and_moves_off_without_a_jump() -> None:
    hand = RestingHand(lambda time: np.array([time]), [(3.0, 5.0)], 10.0)
    times = np.linspace(0.0, 30.0, 30001)
    pace = np.diff([hand.own_time(time) for time in times]) / np.diff(times)
    assert pace.min() >= -1e-9 and pace.max() <= 1.0 + 1e-6
    assert np.abs(np.diff(pace)).max() < 0.003


def test_without_rests_the_hand_is_the_operators_own() -> None:
    operator = ScriptedOperator(ROBOT, 1, reach=REACH)
    hand = RestingHand(operator, [])
    assert all(np.array_equal(hand(t), operator(t)) for t in (0.0, 7.0, 33.3))
