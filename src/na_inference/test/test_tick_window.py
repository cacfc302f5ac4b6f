# SPDX-License-Identifier: Apache-2.0
"""Rules of the window: duplicates, gaps, clocks set back, wrong rates."""

from __future__ import annotations

import pytest

from na_inference.tick_window import Arrival, TickWindow

DT = 1 / 60


def feed(window: TickWindow, stamps: list[float]) -> list[Arrival]:
    return [window.add(round(1e9 * stamp)) for stamp in stamps]


def test_nine_ticks_in_a_row_fill_the_window() -> None:
    window = TickWindow(9, DT)
    arrivals = feed(window, [10 + k * DT for k in range(9)])
    assert arrivals == [Arrival.FIRST, *[Arrival.TAKEN] * 8]
    assert window.full
    assert not window.rate_is_wrong()


def test_a_duplicate_changes_nothing() -> None:
    window = TickWindow(9, DT)
    feed(window, [10 + k * DT for k in range(5)])
    assert window.add(round(1e9 * (10 + 4 * DT))) is Arrival.DUPLICATE
    assert window.count == 5
    assert window.add(round(1e9 * (10 + 5 * DT))) is Arrival.TAKEN


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (1.7 * DT, Arrival.TAKEN),
        (2.0 * DT, Arrival.BRIDGED),
        (4.0 * DT, Arrival.BRIDGED),
        (5.0 * DT, Arrival.GAP),
        (-3600.0, Arrival.BACKWARD),
    ],
)
def test_what_breaks_the_window(step: float, expected: Arrival) -> None:
    window = TickWindow(9, DT)
    feed(window, [5000 + k * DT for k in range(9)])
    assert window.add(round(1e9 * (5000 + 8 * DT + step))) is expected
    assert window.count == (9 if expected in (Arrival.TAKEN, Arrival.BRIDGED) else 1)


@pytest.mark.parametrize(
    ("rate", "wrong"), [(58.6, False), (62.9, False), (64.0, True), (50, True)]
)
def test_more_than_five_per_cent_off_is_a_wrong_rate(rate: float, wrong: bool) -> None:
    window = TickWindow(9, DT)
    feed(window, [k / rate for k in range(70)])
    assert window.rate_is_wrong() is wrong


def test_a_rate_that_doubles_is_noticed_within_one_window() -> None:
    window = TickWindow(9, 1 / 50)
    feed(window, [k / 50 for k in range(100)])
    assert not window.rate_is_wrong()
    feed(window, [99 / 50 + k / 100 for k in range(1, 9)])
    assert window.rate_is_wrong()


def test_jitter_of_a_late_tick_is_not_a_wrong_rate() -> None:
    window = TickWindow(9, DT)
    feed(window, [k * DT + (0.6 * DT if k == 60 else 0.0) for k in range(70)])
    assert window.full
    assert not window.rate_is_wrong()


def test_three_missing_ticks_in_a_window_are_bridged_and_a_fourth_breaks_it() -> None:
    window = TickWindow(9, DT)
    feed(window, [k * DT for k in range(9)])
    assert feed(window, [(8 + 2 * k) * DT for k in range(1, 5)]) == [
        *[Arrival.BRIDGED] * 3,
        Arrival.GAP,
    ]
    window = TickWindow(9, DT)
    feed(window, [k * DT for k in range(9)])
    assert feed(window, [12 * DT]) == [Arrival.BRIDGED]
    assert window.missing == 3
    assert feed(window, [k * DT for k in range(13, 20)]) == [Arrival.TAKEN] * 7
    assert not window.rate_is_wrong()
    assert feed(window, [21 * DT]) == [Arrival.BRIDGED]


def test_bridging_may_be_switched_off() -> None:
    window = TickWindow(9, DT, bridge=0)
    assert feed(window, [0.0, DT, 3 * DT])[-1] is Arrival.GAP


@pytest.mark.parametrize(
    "values", [(0, DT, 1.8, 3), (9, 0.0, 1.8, 3), (9, DT, 1.0, 3), (9, DT, 2.0, -1)]
)
def test_senseless_settings_are_refused(values: tuple[int, float, float, int]) -> None:
    with pytest.raises(ValueError, match=r"expected at least 1 tick"):
        TickWindow(*values)
