# SPDX-License-Identifier: Apache-2.0
"""When to publish what: the schedule of playing a bag, free of clocks and of rclpy."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from na_core.nad.raw_bag import RawBag, RawMessage, RawTopic


@dataclass(frozen=True)
class Due:
    """One message due `at` [s] after the start of playing; `loop` counts from 0."""

    at: float
    loop: int
    topic: RawTopic
    cdr: bytes


@dataclass(frozen=True)
class LoopStart:
    """A new pass begins `at` [s]: consumers must forget what they saw."""

    at: float
    loop: int


class Schedule:
    """Plays messages with their original spacing divided by `rate`, `loops` times (0: for ever).

    Between two passes lies `loop_gap` [s]: longer than any history window, so that a consumer that
    refuses gaps starts afresh even when it does not listen to the reset. Topics are selected by the
    regular expression `only` (all when empty).
    """

    def __init__(
        self,
        bag: RawBag,
        rate: float = 1.0,
        loops: int = 1,
        loop_gap: float = 1.0,
        only: str = "",
    ) -> None:
        """Read the bag; ValueError for a rate that is not positive or an empty selection."""
        if not rate > 0.0:
            raise ValueError(f"rate = {rate}: expected a factor above 0")
        pattern = re.compile(only)
        messages = list(bag.messages())
        wanted = {i for i, topic in enumerate(bag.topics) if pattern.search(topic.name)}
        self.topics: list[RawTopic] = [bag.topics[i] for i in sorted(wanted)]
        self._topics = bag.topics
        # Sort by log time, stably: several files or late messages may break the order.
        self._messages: Sequence[RawMessage] = sorted(
            (item for item in messages if item[0] in wanted), key=lambda item: item[1]
        )
        if not self._messages:
            raise ValueError(f"{bag.path}: no message on a topic that matches {only!r}")
        self._rate = rate
        self._loops = loops
        self._gap = loop_gap

    @property
    def length(self) -> float:
        """Length of one pass [s] at this rate."""
        return (self._messages[-1][1] - self._messages[0][1]) * 1e-9 / self._rate

    def events(self) -> Iterator[Due | LoopStart]:
        """Yield loop starts and messages in the order in which they are due."""
        zero = self._messages[0][1]
        loop, offset = 0, 0.0
        while self._loops <= 0 or loop < self._loops:
            yield LoopStart(offset, loop)
            for number, log_time, _, cdr in self._messages:
                at = offset + (log_time - zero) * 1e-9 / self._rate
                yield Due(at, loop, self._topics[number], cdr)
            offset += self.length + self._gap
            loop += 1


def run(
    schedule: Schedule,
    publish: Callable[[Due], None],
    reset: Callable[[LoopStart], None],
    now: Callable[[], float],
    wait: Callable[[float], bool],
) -> int:
    """Drive a schedule; returns the number of messages published.

    `now()` is a monotonic clock [s]; `wait(seconds)` waits and returns False to stop early.
    """
    start = now()
    published = 0
    for event in schedule.events():
        left = start + event.at - now()
        if left > 0.0 and not wait(left):
            break
        if isinstance(event, LoopStart):
            reset(event)
        else:
            publish(event)
            published += 1
    return published
