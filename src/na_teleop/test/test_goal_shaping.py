# SPDX-License-Identifier: Apache-2.0
"""Goals start where the arm is, move at bounded speed and end inside the limits."""

from __future__ import annotations

import numpy as np
import pytest

from na_teleop.goal_shaping import GoalShaper, StartRamp

LOWER = np.array([-1.0, -2.0])
UPPER = np.array([1.0, 2.0])
SPEED = np.array([0.5, 3.0])  # rad/s
DT = 1 / 60


def shaper(position: list[float]) -> GoalShaper:
    made = GoalShaper(LOWER, UPPER, SPEED, longest_step_s=1.5 * DT)
    made.reset(position, 0.0)
    return made


def test_target_beyond_limits_is_clamped_and_the_request_is_kept() -> None:
    made = shaper([0.99, 0.0])
    for k in range(1, 100):
        goal = made.shape(np.array([5.0, -5.0]), k * DT)
    np.testing.assert_allclose(goal.sent, [1.0, -2.0])
    np.testing.assert_allclose(goal.requested, [5.0, -5.0])


@pytest.mark.parametrize("gap", [DT, 0.1, 5.0, 1000.0])
def test_a_gap_between_ticks_never_allows_a_larger_step(gap: float) -> None:
    made = shaper([0.0, 0.0])
    before = made.base
    goal = made.shape(np.array([1.0, 2.0]), gap)
    assert np.all(np.abs(goal.sent - before) <= SPEED * 1.5 * DT + 1e-12)


def test_random_targets_and_times_never_exceed_the_rate() -> None:
    random = np.random.default_rng(3)
    made, now = shaper([0.0, 0.0]), 0.0
    before = made.base
    for _ in range(2000):
        dt = float(random.choice([0.0, 0.2, 1.0, 1.0, 1.0, 30.0])) * DT
        now += dt
        goal = made.shape(random.uniform(-4, 4, 2), now)
        bound = SPEED * min(dt, 1.5 * DT)
        assert np.all(np.abs(goal.sent - before) <= bound + 1e-12)
        before = goal.sent


def test_time_running_backwards_does_not_move_the_goal() -> None:
    made = shaper([0.0, 0.0])
    np.testing.assert_array_equal(made.shape(np.array([1.0, 1.0]), -5.0).sent, [0.0, 0.0])


def test_a_start_outside_the_limits_is_kept_and_walked_in_without_a_jump() -> None:
    made = shaper([1.3, 0.0])
    np.testing.assert_array_equal(made.hold(0.0).sent, [1.3, 0.0])
    goals = [made.shape(np.array([1.3, 0.0]), k * DT).sent[0] for k in range(1, 120)]
    steps = np.diff([1.3, *goals])
    assert np.all(steps <= 0.0) and np.all(steps >= -SPEED[0] * 1.5 * DT - 1e-12)
    assert goals[-1] == pytest.approx(1.0)


@pytest.mark.parametrize("bad", [[np.nan, 0.0], [np.inf, 0.0], [0.0], [0.0, 0.0, 0.0]])
def test_a_target_that_is_no_goal_is_refused_and_nothing_moves(bad: list[float]) -> None:
    made = shaper([0.25, 0.5])
    with pytest.raises(ValueError, match="expected 2 finite positions"):
        made.shape(np.array(bad), DT)
    with pytest.raises(ValueError, match="expected 2 finite positions"):
        made.reset(bad, DT)
    np.testing.assert_array_equal(made.base, [0.25, 0.5])


def test_a_goal_before_the_first_reset_is_an_error() -> None:
    with pytest.raises(RuntimeError, match=r"reset\(\)"):
        _ = GoalShaper(LOWER, UPPER, SPEED, longest_step_s=1.0).base


def test_dither_is_kept_apart_from_the_base_and_inside_the_limits() -> None:
    made = shaper([0.995, 0.0])
    goal = made.shape(np.array([0.995, 0.0]), DT, dither=np.array([0.01, -0.02]))
    np.testing.assert_allclose(goal.base, [0.995, 0.0])
    np.testing.assert_allclose(goal.sent, [1.0, -0.02])
    np.testing.assert_allclose(goal.dither, goal.sent - goal.base)
    # The next tick starts from the base, so that dither does not accumulate.
    np.testing.assert_allclose(made.base, [0.995, 0.0])


def test_a_tighter_speed_binds_and_a_looser_one_does_not() -> None:
    made = shaper([0.0, 0.0])
    slow = made.shape(np.array([1.0, 1.0]), DT, speed=np.array([0.1, 100.0]))
    np.testing.assert_allclose(slow.sent, [0.1 * DT, 3.0 * DT])


def test_ramp_starts_at_the_arm_and_ends_at_the_target_without_a_step() -> None:
    start, target = np.array([-0.5, 1.0]), np.array([0.5, -1.0])
    ramp = StartRamp(start, 10.0, 2.0)
    times = np.linspace(10.0, 12.0, 241)
    path = np.array([ramp.blend(target, float(t)) for t in times])
    np.testing.assert_array_equal(path[0], start)
    np.testing.assert_allclose(path[-1], target)
    # Largest slope of the smooth step is 1.5 times the mean one.
    assert np.abs(np.diff(path[:, 0])).max() <= 1.5 * 1.0 / 240 + 1e-9
    assert not ramp.done(11.99) and ramp.done(12.0)


def test_ramp_follows_a_moving_target_and_no_duration_means_at_once() -> None:
    ramp = StartRamp(np.zeros(2), 0.0, 1.0)
    assert ramp.blend(np.array([2.0, 0.0]), 0.5)[0] == pytest.approx(1.0)
    assert ramp.blend(np.array([4.0, 0.0]), 0.5)[0] == pytest.approx(2.0)
    assert StartRamp(np.zeros(2), 0.0, 0.0).share(0.0) == 1.0
    assert ramp.share(-1.0) == 0.0
