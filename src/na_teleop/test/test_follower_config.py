# SPDX-License-Identifier: Apache-2.0
"""Follower parameters that make no sense are refused with name, value and expectation."""

from __future__ import annotations

import pytest

from na_teleop.follower_config import FollowerConfig


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"ramp_s": -1.0}, "ramp_s is -1.0, expected zero or more"),
        ({"control_rate": 0.0}, "control_rate is 0.0, expected more than zero"),
        ({"hold_after_s": 6.0}, "park_after_s is 5.0, expected more than hold_after_s"),
        ({"park_speed": 1.5}, "park_speed is 1.5, expected at most 1"),
        ({"max_failed_reads": 0}, "max_failed_reads is 0"),
        ({"park_timeout_s": float("nan")}, "park_timeout_s is nan"),
    ],
)
def test_refusals(change: dict[str, float], words: str) -> None:
    with pytest.raises(ValueError, match=words.replace(".", r"\.")):
        FollowerConfig(**change)  # type: ignore[arg-type]


def test_ramp_and_watchdog_may_be_switched_off() -> None:
    config = FollowerConfig(ramp_s=0.0, watchdog_s=0.0)
    assert config.longest_step_s == pytest.approx(0.025)
