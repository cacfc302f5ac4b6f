# SPDX-License-Identifier: Apache-2.0
"""Auto mode: N episodes of a given length with time to reset the scene in between."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Action(Enum):
    """What the recorder should do now."""

    NOTHING = "nothing"
    START = "start"
    STOP = "stop"
    DONE = "done"


@dataclass
class AutoMode:
    """Schedule of `episodes` (0: none) of `length` [s], `reset` [s] apart.

    Counts only episodes it saw finished: one that was discarded is repeated.
    """

    episodes: int
    length: float
    reset: float = 0.0
    done: int = 0
    _mark: float | None = None
    _running: bool = False
    _announced: bool = False

    def step(self, now: float, recording: bool, kept: bool = True) -> Action:
        """Advance to time `now` [s, monotonic].

        `recording` says whether an episode runs; `kept`, looked at when one has just ended,
        whether it was kept.
        """
        if self._running and not recording:
            self._running = False
            self._mark = now
            self.done += int(kept)
        if self.done >= self.episodes:
            if self._announced or self.episodes <= 0:
                return Action.NOTHING
            self._announced = True
            return Action.DONE
        if recording:
            if not self._running:
                self._running = True
                self._mark = now
            return Action.STOP if now - (self._mark or 0.0) >= self.length else Action.NOTHING
        if self._mark is None or now - self._mark >= self.reset:
            return Action.START
        return Action.NOTHING
