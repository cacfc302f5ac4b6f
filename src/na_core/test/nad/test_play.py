# SPDX-License-Identifier: Apache-2.0
"""The schedule of playing: spacing, rate, loops and resets."""

from __future__ import annotations

from pathlib import Path

import pytest

from na_core.nad.example import Example, write_example
from na_core.nad.layout import FOLLOWER_TELEMETRY
from na_core.nad.play import Due, LoopStart, Schedule, run
from na_core.nad.raw_bag import RawBag


@pytest.fixture
def bag(tmp_path: Path) -> RawBag:
    return RawBag(write_example(tmp_path / "episode", Example(seconds=2)))


def test_spacing_is_that_of_the_recording_divided_by_rate(bag: RawBag) -> None:
    times = [log for n, log, _, _ in bag.messages() if bag.topics[n].name == FOLLOWER_TELEMETRY]
    schedule = Schedule(bag, rate=2.0, only=FOLLOWER_TELEMETRY)
    due = [event.at for event in schedule.events() if isinstance(event, Due)]
    assert due == pytest.approx([(time - times[0]) / 2e9 for time in times])
    assert schedule.length == pytest.approx(due[-1])


def test_every_pass_starts_with_a_reset_after_the_gap(bag: RawBag) -> None:
    schedule = Schedule(bag, loops=3, loop_gap=1.5, only=FOLLOWER_TELEMETRY)
    events = list(schedule.events())
    starts = [event for event in events if isinstance(event, LoopStart)]
    assert [start.loop for start in starts] == [0, 1, 2]
    assert starts[1].at == pytest.approx(schedule.length + 1.5)
    assert sum(isinstance(event, Due) for event in events) == 3 * 120
    assert [event.at for event in events] == sorted(event.at for event in events)


def test_run_waits_publishes_and_can_be_stopped(bag: RawBag) -> None:
    clock = [0.0]
    published: list[float] = []

    def wait(seconds: float) -> bool:
        clock[0] += seconds
        return clock[0] < 1.0

    schedule = Schedule(bag, only=FOLLOWER_TELEMETRY)
    resets: list[LoopStart] = []
    count = run(
        schedule, lambda due: published.append(clock[0]), resets.append, lambda: clock[0], wait
    )
    assert count == len(published) == 61  # the first one at once
    assert len(resets) == 1


def test_endless_loop_yields_on(bag: RawBag) -> None:
    events = Schedule(bag, loops=0, only=FOLLOWER_TELEMETRY).events()
    loops = {next(events).loop for _ in range(500)}
    assert loops == {0, 1, 2, 3, 4}


def test_bad_rate_and_empty_selection(bag: RawBag) -> None:
    with pytest.raises(ValueError, match=r"rate = 0.0: expected a factor above 0"):
        Schedule(bag, rate=0.0)
    with pytest.raises(ValueError, match="no message on a topic that matches 'nothing'"):
        Schedule(bag, only="nothing")
