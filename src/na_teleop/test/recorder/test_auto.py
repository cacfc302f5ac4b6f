# SPDX-License-Identifier: Apache-2.0
"""Auto mode: N kept episodes of the given length, with the reset time in between."""

from __future__ import annotations

from na_teleop.recorder.auto import Action, AutoMode


def _simulate(auto: AutoMode, discard: tuple[int, ...] = (), until: float = 200.0) -> list[str]:
    now, recording, kept, seen, ended = 0.0, False, True, [], 0
    while now < until:
        action = auto.step(now, recording, kept)
        if action is Action.START:
            recording = True
            seen.append(f"start {now:.0f}")
        elif action is Action.STOP:
            recording, kept = False, ended not in discard
            ended += 1
            seen.append(f"stop {now:.0f}")
        elif action is Action.DONE:
            seen.append(f"done {now:.0f}")
        now += 1.0
    return seen


def test_three_episodes() -> None:
    expected = ["start 0", "stop 11", "start 17", "stop 28", "start 34", "stop 45", "done 46"]
    assert _simulate(AutoMode(3, 10.0, 5.0)) == expected


def test_a_discarded_episode_is_repeated() -> None:
    seen = _simulate(AutoMode(2, 10.0), discard=(0,))
    assert sum(word.startswith("start") for word in seen) == 3


def test_zero_episodes_is_off() -> None:
    assert _simulate(AutoMode(0, 10.0)) == []


def test_an_episode_started_by_hand_counts() -> None:
    auto = AutoMode(1, 10.0)
    assert auto.step(0.0, recording=True) is Action.NOTHING
    assert auto.step(9.9, recording=True) is Action.NOTHING
    assert auto.step(10.0, recording=True) is Action.STOP
    assert auto.step(10.1, recording=False) is Action.DONE
    assert auto.step(10.2, recording=False) is Action.NOTHING
