# SPDX-License-Identifier: Apache-2.0
"""Figures of a live run: what counts as a false alarm, a slow release, a rest, a bias."""

from __future__ import annotations

import numpy as np
import pytest

from na_cli.bench._live_figures import Trace, detection_delays, false_alarms, rest_bias, rests

DT = 1 / 60


def trace(seconds: float = 20.0) -> Trace:
    """Nothing touches, nothing is said."""
    time = np.arange(0.0, seconds, DT)
    none = np.zeros((len(time), 3))
    closed = np.zeros(len(time), dtype=bool)
    return Trace(
        time,
        ~closed,
        none.copy(),
        none.copy(),
        closed,
        none.copy(),
        none.copy(),
        np.full(len(time), 0.3),
    )


def opened(made: Trace, start: float, stop: float, force: float = 2.0) -> None:
    inside = (made.time >= start) & (made.time < stop)
    made.contact[inside] = True
    made.force[inside, 2] = -force


def touched(made: Trace, start: float, stop: float) -> None:
    made.truth[(made.time >= start) & (made.time < stop), 2] = -2.0


def test_an_opening_in_free_motion_is_an_alarm_with_its_size_and_time() -> None:
    made = trace()
    touched(made, 1.0, 3.0)
    opened(made, 8.0, 8.3, force=1.5)
    (alarm,), minutes = false_alarms(made, [(3.0, 20.0)])
    assert alarm.start == pytest.approx(8.0, abs=DT)
    assert alarm.seconds == pytest.approx(0.3 - DT, abs=DT)
    assert alarm.since_contact == pytest.approx(5.0, abs=2 * DT)
    assert (alarm.force, alarm.deviation, alarm.late) == (1.5, 0.3, False)
    assert minutes == pytest.approx((17.0 - 0.6) / 60.0)


def test_a_gate_that_has_not_closed_since_the_contact_is_a_slow_release() -> None:
    made = trace()
    touched(made, 1.0, 3.0)
    opened(made, 1.1, 4.0)
    opened(made, 4.2, 4.5)  # chatter of the same release
    opened(made, 9.0, 9.2)
    alarms, _ = false_alarms(made, [(3.0, 20.0)])
    assert [alarm.late for alarm in alarms] == [True, False]
    assert alarms[0].seconds == pytest.approx(4.5 - 3.6, abs=2 * DT)


def test_silence_neither_begins_nor_ends_an_opening() -> None:
    made = trace()
    opened(made, 8.0, 8.4)
    silent = (made.time >= 8.1) & (made.time < 8.2)
    made.valid[silent], made.contact[silent] = False, False
    made.force[silent] = np.nan
    alarms, _ = false_alarms(made, [(0.0, 20.0)])
    assert len(alarms) == 1


def test_a_delay_counts_from_the_onset_of_the_true_force() -> None:
    made = trace()
    touched(made, 5.0, 8.0)
    opened(made, 5.15, 8.0)
    touched(made, 12.0, 14.0)
    first, second = detection_delays(made)
    assert first == pytest.approx(0.15, abs=2 * DT)
    assert np.isnan(second)


def test_rests_are_found_by_goals_that_stand_whatever_comes_before() -> None:
    time = np.arange(0.0, 12.0, DT)
    goal = np.stack([np.where(time < 4.0, time, 4.0), np.zeros_like(time)], axis=1)
    goal[time >= 9.0, 0] += time[time >= 9.0]
    goal[::7, 1] += 0.0015  # one encoder count
    goal[:30] = np.nan  # no goal before torque is on
    ((start, stop),) = rests(time, goal)
    assert start == pytest.approx(4.0, abs=2 * DT)
    assert stop == pytest.approx(9.0, abs=2 * DT)


def test_a_bias_is_the_mean_error_without_contact() -> None:
    made = trace()
    made.ungated[:, 0] = 0.3 + 0.2 * np.sin(2 * np.pi * 3.0 * made.time)
    touched(made, 4.0, 5.0)
    made.ungated[(made.time >= 4.0) & (made.time < 5.0), 0] = 9.0
    assert rest_bias(made, [(3.0, 6.0)]) == pytest.approx(0.3, abs=0.02)
    assert rest_bias(made, [(6.0, 6.1)]) is None
