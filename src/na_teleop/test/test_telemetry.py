# SPDX-License-Identifier: Apache-2.0
"""Telemetry keeps goals apart, passes measurements through and numbers every tick."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from na_teleop.buses.base import BusSample
from na_teleop.goal_shaping import ShapedGoal
from na_teleop.telemetry import TelemetryBuilder

NAMES = ("a", "b")


def test_sequence_counts_every_tick_stale_ones_too() -> None:
    builder = TelemetryBuilder("follower", NAMES)
    good = replace(BusSample.nothing(2, 7), valid=np.ones(2, dtype=bool), fresh=True)
    ticks = [builder.build(s, 0.0) for s in (good, BusSample.nothing(2, 7), good)]
    assert [t.sequence for t in ticks] == [0, 1, 2]
    assert [t.stale for t in ticks] == [False, True, False]
    assert all(t.stamp_ns == 7 for t in ticks)


def test_period_is_measured_and_zero_at_first() -> None:
    builder = TelemetryBuilder("follower", NAMES)
    sample = BusSample.nothing(2)
    periods = [builder.build(sample, now).control_period_us for now in (5.0, 5.0167, 5.1, 1e6)]
    assert periods == [0, 16700, 83300, 2**32 - 1]


def test_goals_that_do_not_exist_are_nan() -> None:
    tick = TelemetryBuilder("leader", NAMES).build(BusSample.nothing(2), 0.0)
    for values in (tick.goal_requested, tick.goal_sent, tick.goal_register):
        assert np.isnan(values).all()
    assert not tick.torque_enabled and tick.arm == "leader" and tick.name == NAMES


def test_requested_sent_and_register_stay_apart() -> None:
    goal = ShapedGoal(
        requested=np.array([2.0, 2.0]),
        base=np.array([1.0, 1.0]),
        dither=np.array([0.1, 0.1]),
        sent=np.array([1.1, 1.1]),
    )
    sample = replace(BusSample.nothing(2), position=np.array([99.0, -99.0]))
    tick = TelemetryBuilder("follower", NAMES).build(
        sample, 0.0, goal=goal, register=np.array([1.0999, 1.0999]), torque_enabled=True
    )
    np.testing.assert_array_equal(tick.goal_requested, [2.0, 2.0])
    np.testing.assert_array_equal(tick.goal_sent, [1.1, 1.1])
    np.testing.assert_array_equal(tick.goal_register, [1.0999, 1.0999])
    np.testing.assert_array_equal(tick.position, [99.0, -99.0])  # measured, never clamped
