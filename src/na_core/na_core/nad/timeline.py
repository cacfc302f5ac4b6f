# SPDX-License-Identifier: Apache-2.0
"""Puts the messages of one topic in order and splits them where the clock jumps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LATE = 64
"""A step back in `sequence` of at most this many ticks is a late message, else a restart."""

Int = NDArray[np.int64]


@dataclass(frozen=True)
class Timeline:
    """Order and segments of one topic.

    `order` (M,) selects and orders the messages; `segments` (S, 2) are [start, stop) ranges of the
    ordered messages within which time never steps back nor leaps by more than the gap allowed.
    The counters say what was found.
    """

    order: Int
    segments: Int
    duplicates: int = 0
    reordered: int = 0
    jumps: int = 0
    gaps: int = 0
    restarts: int = 0


def arrange(
    time_ns: Int, other_ns: Int, sequence: NDArray[np.uint64] | None, max_gap_ns: int
) -> Timeline:
    """Arrange messages given in file order.

    `time_ns` (N,) is the time base chosen, `other_ns` (N,) the other clock (log time when the base
    is the header stamp, and the reverse): a leap that both clocks show is a gap in the data, a
    leap that only one shows is a clock jump. With `sequence` (N,), duplicates are equal numbers
    and late messages are moved back into place; without it, equal times and single strays are.
    """
    count = len(time_ns)
    if count == 0:
        return Timeline(np.zeros(0, np.int64), np.zeros((0, 2), np.int64))
    key = time_ns if sequence is None else sequence.astype(np.int64)
    runs = _runs(key, sequence is not None)
    order = np.lexsort((np.arange(count), key, runs))
    reordered = int(np.count_nonzero(np.diff(order) < 0))
    repeated = np.zeros(count, bool)
    repeated[1:] = (np.diff(key[order]) == 0) & (np.diff(runs[order]) == 0)
    order = order[~repeated]
    time, other, run = time_ns[order], other_ns[order], runs[order]
    step, other_step = np.diff(time), np.diff(other)
    restart = np.diff(run) != 0 if sequence is not None else np.zeros(len(step), bool)
    back = step < 0
    leap = step > max_gap_ns
    agree = np.abs(other_step - step) <= max_gap_ns // 2
    gap = leap & agree
    jump = (back | (leap & ~agree)) & ~restart
    edges = np.flatnonzero(back | leap | restart) + 1
    bounds = np.concatenate(([0], edges, [len(order)]))
    return Timeline(
        order.astype(np.int64),
        np.stack([bounds[:-1], bounds[1:]], axis=1).astype(np.int64),
        duplicates=int(repeated.sum()),
        reordered=reordered,
        jumps=int(jump.sum()),
        gaps=int((gap & ~restart).sum()),
        restarts=int(restart.sum()),
    )


def _runs(key: Int, sequenced: bool) -> Int:
    """Number the stretches of file order within which sorting by `key` is allowed."""
    step = np.diff(key)
    if sequenced:
        broken = step < -LATE
    else:
        broken = step < 0
        stray = np.zeros(len(step), bool)
        stray[:-1] = key[2:] > key[:-2]
        broken &= ~stray
    return np.concatenate(([0], np.cumsum(broken))).astype(np.int64)


def sample_hold(times_ns: Int, at_ns: Int) -> Int:
    """Return per `at_ns` the index of the last of the sorted `times_ns` not after it (-1: none)."""
    return np.searchsorted(times_ns, at_ns, side="right").astype(np.int64) - 1
