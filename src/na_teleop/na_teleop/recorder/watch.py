# SPDX-License-Identifier: Apache-2.0
"""Notices topics that stay away, fall silent, come late or come back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum


class Change(Enum):
    """What happened to a topic."""

    MISSING = "missing"
    SILENT = "silent"
    LATE = "late"
    BACK = "back"


@dataclass(frozen=True)
class TopicEvent:
    """One change; `seconds` is the age of the episode or the length of the silence [s]."""

    topic: str
    change: Change
    seconds: float

    def text(self) -> str:
        """Return the sentence shown to the operator."""
        words = {
            Change.MISSING: f"no message {self.seconds:.1f} s after the start of the episode",
            Change.SILENT: f"silent for {self.seconds:.1f} s",
            Change.LATE: f"first message {self.seconds:.1f} s after the start of the episode",
            Change.BACK: f"messages again after {self.seconds:.1f} s",
        }
        return f"{self.topic}: {words[self.change]}"


@dataclass
class _Track:
    expected: bool
    periodic: bool
    last: float | None = None
    reported: bool = False


class TopicWatch:
    """Watches topics during one episode; all times are a monotonic clock [s].

    `expected` topics must deliver within `patience` [s] of the start and never pause longer.
    Other `periodic` topics are watched from their first message on.
    """

    def __init__(
        self, expected: Iterable[str], periodic: Iterable[str], patience: float, start: float
    ) -> None:
        """Start watching at time `start`."""
        expected_set, periodic_set = set(expected), set(periodic)
        self._patience = patience
        self._start = start
        self._tracks = {
            name: _Track(name in expected_set, name in periodic_set)
            for name in sorted(expected_set | periodic_set)
        }

    def message(self, topic: str, now: float) -> TopicEvent | None:
        """Note a message; returns an event when the topic had been reported or comes late."""
        track = self._tracks.get(topic)
        if track is None:
            return None
        previous, track.last = track.last, now
        if previous is None:
            late = now - self._start
            if track.reported or (track.expected and late > self._patience):
                track.reported = False
                return TopicEvent(topic, Change.LATE, late)
        elif track.reported:
            track.reported = False
            return TopicEvent(topic, Change.BACK, now - previous)
        return None

    def check(self, now: float) -> list[TopicEvent]:
        """Return topics newly found missing or silent; each is reported once until it returns."""
        events = []
        for topic, track in self._tracks.items():
            if track.reported:
                continue
            if track.last is None:
                age, change = now - self._start, Change.MISSING
                if not track.expected:
                    continue
            else:
                age, change = now - track.last, Change.SILENT
                if not track.periodic:
                    continue
            if age >= self._patience:
                track.reported = True
                events.append(TopicEvent(topic, change, age))
        return events

    def absent(self) -> list[str]:
        """Return the topics reported and not back yet."""
        return [topic for topic, track in self._tracks.items() if track.reported]
