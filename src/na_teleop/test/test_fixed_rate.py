# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from na_teleop.fixed_rate import FixedRate


class Clock:
    """Time that passes only when somebody sleeps or serves."""

    def __init__(self) -> None:
        self.time = 100.0

    def now(self) -> float:
        return self.time

    def pass_by(self, seconds: float) -> None:
        self.time += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


def make(clock: Clock, rate: float = 100.0) -> FixedRate:
    return FixedRate(rate, now=clock.now, sleep=clock.pass_by)


def test_ticks_fall_on_the_grid_whatever_the_work_takes(clock: Clock) -> None:
    loop = make(clock)
    ticks = []
    for work in (0.001, 0.008, 0.0, 0.004):
        loop.wait(clock.pass_by)
        ticks.append(clock.time)
        clock.pass_by(work)
    assert ticks == pytest.approx([100.01, 100.02, 100.03, 100.04])
    assert loop.missed == 0
    assert loop.period_us == 10000


def test_after_a_delay_missed_deadlines_are_counted_and_not_made_up_for(clock: Clock) -> None:
    loop = make(clock)
    loop.wait(clock.pass_by)
    clock.pass_by(0.035)  # past the deadlines at .02, .03 and .04
    loop.wait(clock.pass_by)
    assert clock.time == pytest.approx(100.045)
    assert loop.missed == 2
    loop.wait(clock.pass_by)
    assert clock.time == pytest.approx(100.05)


def test_callbacks_are_served_while_waiting_but_not_close_to_the_deadline(clock: Clock) -> None:
    loop = make(clock)
    asked: list[float] = []

    def serve(timeout: float) -> None:
        asked.append(timeout)
        clock.pass_by(min(timeout, 0.002))

    loop.wait(serve)
    assert asked == pytest.approx([0.0085, 0.0065, 0.0045, 0.0025, 0.0005])
    assert clock.time == pytest.approx(100.01)


def test_a_loop_that_is_always_late_still_serves_callbacks(clock: Clock) -> None:
    loop = make(clock)
    asked: list[float] = []
    for _ in range(3):
        clock.pass_by(0.05)  # one tick's work takes five periods
        loop.wait(asked.append)
    assert asked == [0.0] * 12


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan")])
def test_a_rate_that_is_no_rate_is_refused(rate: float) -> None:
    with pytest.raises(ValueError, match="expected a positive number"):
        FixedRate(rate)
