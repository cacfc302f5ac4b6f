# SPDX-License-Identifier: Apache-2.0
"""Order and segments: what each kind of disorder becomes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from na_core.nad.timeline import arrange, sample_hold

MS = 1_000_000
GAP = 1000 * MS
TICKS = np.arange(10, dtype=np.int64) * 20 * MS


def _arrange(stamp: Any, log: Any = None, sequence: Any = None) -> Any:
    stamp = np.asarray(stamp, np.int64)
    log = stamp if log is None else np.asarray(log, np.int64)
    number = None if sequence is None else np.asarray(sequence, np.uint64)
    return arrange(stamp, log, number, GAP)


def test_clean_ticks_are_one_segment() -> None:
    line = _arrange(TICKS, sequence=range(10))
    assert line.order.tolist() == list(range(10))
    assert line.segments.tolist() == [[0, 10]]


def test_late_message_goes_back_into_place_by_sequence() -> None:
    order = [0, 1, 2, 4, 3, 5, 6, 7, 8, 9]
    line = _arrange(TICKS[order], log=TICKS, sequence=order)
    assert line.order.tolist() == [0, 1, 2, 4, 3, 5, 6, 7, 8, 9]
    assert line.segments.tolist() == [[0, 10]]
    assert line.reordered == 1


def test_stray_goes_back_into_place_without_sequence() -> None:
    order = [0, 1, 3, 2, 4, 5, 6, 7, 8, 9]
    line = _arrange(TICKS[order], log=TICKS)
    assert TICKS[order][line.order].tolist() == TICKS.tolist()
    assert line.segments.tolist() == [[0, 10]]


def test_duplicates_are_dropped() -> None:
    order = [0, 1, 2, 2, 3, 4, 5, 6, 7, 8]
    for sequence in (None, order):
        line = _arrange(TICKS[order], sequence=sequence)
        assert line.duplicates == 1
        assert len(line.order) == 9
        assert line.segments.tolist() == [[0, 9]]


def test_stale_ticks_with_equal_stamps_are_no_duplicates() -> None:
    stamp = TICKS.copy()
    stamp[5] = stamp[4]
    line = _arrange(stamp, sequence=range(10))
    assert line.duplicates == 0 and len(line.order) == 10


def test_clock_jump_back_splits() -> None:
    stamp = TICKS.copy()
    stamp[6:] -= 5000 * MS
    line = _arrange(stamp, log=TICKS, sequence=range(10))
    assert line.segments.tolist() == [[0, 6], [6, 10]]
    assert (line.jumps, line.gaps) == (1, 0)


def test_clock_jump_forward_is_told_from_a_gap() -> None:
    stamp = TICKS.copy()
    stamp[6:] += 5000 * MS
    jump = _arrange(stamp, log=TICKS, sequence=range(10))
    gap = _arrange(stamp, log=stamp, sequence=[*range(6), *range(256, 260)])
    assert jump.segments.tolist() == gap.segments.tolist() == [[0, 6], [6, 10]]
    assert (jump.jumps, jump.gaps) == (1, 0)
    assert (gap.jumps, gap.gaps) == (0, 1)


def test_restart_of_the_publisher_splits() -> None:
    line = _arrange(TICKS, sequence=[500, 501, 502, 503, 0, 1, 2, 3, 4, 5])
    assert line.segments.tolist() == [[0, 4], [4, 10]]
    assert (line.restarts, line.jumps) == (1, 0)


@pytest.mark.parametrize("count", [0, 1])
def test_hardly_anything(count: int) -> None:
    line = _arrange(TICKS[:count], sequence=range(count))
    assert len(line.order) == count
    assert line.segments.tolist() == [[0, 1]][:count]


def test_sample_hold_returns_the_last_one_not_after() -> None:
    times = np.array([10, 20, 30])
    assert sample_hold(times, np.array([5, 10, 29, 99])).tolist() == [-1, 0, 1, 2]
