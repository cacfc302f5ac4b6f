# SPDX-License-Identifier: Apache-2.0
"""The leader's silence goes from active over hold to park, and a message resets it."""

from __future__ import annotations

import pytest

from na_teleop.leader_watchdog import LeaderState, LeaderWatchdog


@pytest.mark.parametrize(
    ("silence", "state"),
    [
        (0.0, LeaderState.ACTIVE),
        (0.249, LeaderState.ACTIVE),
        (0.25, LeaderState.HOLD),
        (4.999, LeaderState.HOLD),
        (5.0, LeaderState.PARK),
        (1e6, LeaderState.PARK),
    ],
)
def test_thresholds(silence: float, state: LeaderState) -> None:
    watchdog = LeaderWatchdog(0.25, 5.0)
    watchdog.feed(0.0)
    assert watchdog.state(silence) is state


def test_never_heard_is_its_own_state_and_comes_back_after_forget() -> None:
    watchdog = LeaderWatchdog(0.25, 5.0)
    assert watchdog.state(1e6) is LeaderState.NEVER
    assert watchdog.silence_s(3.0) == float("inf")
    watchdog.feed(1e6)
    assert watchdog.state(1e6 + 6.0) is LeaderState.PARK
    watchdog.feed(1e6 + 7.0)
    assert watchdog.state(1e6 + 7.0) is LeaderState.ACTIVE
    watchdog.forget()
    assert watchdog.state(1e6 + 7.0) is LeaderState.NEVER


@pytest.mark.parametrize(("hold", "park"), [(0.0, 1.0), (1.0, 1.0), (2.0, 1.0), (-1.0, 1.0)])
def test_times_in_the_wrong_order_are_refused(hold: float, park: float) -> None:
    with pytest.raises(ValueError, match="expected 0 < hold_after_s < park_after_s"):
        LeaderWatchdog(hold, park)
