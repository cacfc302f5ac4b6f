# SPDX-License-Identifier: Apache-2.0
"""Absent topics are named once, in time, and their return is told."""

from __future__ import annotations

from na_teleop.recorder.watch import Change, TopicWatch

EXPECTED, OTHER, LATCHED = "/follower/telemetry", "/ft_sensor/wrench", "/nad/label"


def _watch() -> TopicWatch:
    return TopicWatch([EXPECTED], [EXPECTED, OTHER], patience=2.0, start=100.0)


def test_missing_topic_is_reported_at_two_seconds_by_name() -> None:
    watch = _watch()
    assert watch.check(101.9) == []
    (event,) = watch.check(102.0)
    assert (event.topic, event.change) == (EXPECTED, Change.MISSING)
    assert event.text() == f"{EXPECTED}: no message 2.0 s after the start of the episode"
    assert watch.check(103.0) == [] and watch.absent() == [EXPECTED]


def test_late_joiner_is_told_once() -> None:
    watch = _watch()
    watch.check(102.0)
    event = watch.message(EXPECTED, 103.5)
    assert event is not None and event.change is Change.LATE and event.seconds == 3.5
    assert watch.message(EXPECTED, 103.6) is None and watch.absent() == []


def test_silence_and_return() -> None:
    watch = _watch()
    watch.message(EXPECTED, 100.1)
    watch.message(OTHER, 100.2)
    silent = {event.topic: event.change for event in watch.check(102.5)}
    assert silent == {EXPECTED: Change.SILENT, OTHER: Change.SILENT}
    event = watch.message(OTHER, 105.2)
    assert event is not None and event.change is Change.BACK and event.seconds == 5.0
    assert watch.absent() == [EXPECTED]


def test_topics_that_nobody_expects_may_never_come() -> None:
    watch = _watch()
    watch.message(EXPECTED, 100.1)
    assert watch.check(101.0) == []
    assert watch.message(LATCHED, 101.0) is None
