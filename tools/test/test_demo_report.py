# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from na_cli.demo_report import figures
from na_core.nad.arrays import Episode, TelemetryTrack

NAMES = ("joint1", "joint2")


def episode(n: int = 600, **changes: Any) -> Episode:
    """Ten seconds at 60 Hz: torque on from the first second, 0.01 rad behind the goal."""
    stamps = (np.arange(n) * 1e9 / 60).astype(np.int64)
    nan = np.full((n, 2), np.nan)
    values: dict[str, Any] = {
        "topic": "/follower/telemetry",
        "log_ns": stamps,
        "stamp_ns": stamps,
        "segments": np.array([0, n]),
        "base": "header",
        "arm": "follower",
        "names": NAMES,
        "sequence": np.arange(n, dtype=np.uint64),
        "goal_requested": np.full((n, 2), 0.5),
        "goal_sent": np.full((n, 2), 0.5),
        "goal_register": np.full((n, 2), 0.5),
        "position": np.full((n, 2), 0.49),
        "velocity": nan,
        "current": nan,
        "load": nan,
        "voltage": nan,
        "temperature": nan,
        "hardware_error": np.zeros((n, 2), dtype=np.uint8),
        "torque_enabled": np.arange(n) >= 60,
        "stale": np.zeros(n, dtype=bool),
        "control_period_us": np.full(n, 16667, dtype=np.uint32),
    }
    values.update(changes)
    track = TelemetryTrack(**values)
    return Episode(Path("bag"), "", {track.topic: track})


def test_rate_jitter_and_tracking() -> None:
    result = figures(episode())
    assert result.rate == pytest.approx(60.0)
    assert result.jitter_p99 == pytest.approx(0.0, abs=1e-8)
    assert result.tracking_mean == pytest.approx([0.01, 0.01])
    assert result.missed == 0
    assert result.messages == {"/follower/telemetry": 600}


def test_the_start_ramp_and_stale_ticks_do_not_count_as_tracking_error() -> None:
    position = np.full((600, 2), 0.49)
    position[:200] = -1.0  # torque comes on at tick 60; 2.5 s later is tick 210
    position[300] = np.nan
    stale = np.zeros(600, dtype=bool)
    stale[300] = True
    result = figures(episode(position=position, stale=stale))
    assert result.tracking_max == pytest.approx([0.01, 0.01])
    assert result.stale == pytest.approx(1 / 600)


def test_a_gap_in_the_sequence_is_counted_as_lost() -> None:
    sequence = np.arange(600, dtype=np.uint64)
    sequence[100:] += 3
    assert figures(episode(sequence=sequence)).missed == 3


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"torque_enabled": np.zeros(600, dtype=bool)}, "torque never came on"),
        ({"torque_enabled": np.arange(600) >= 590}, "followed for less than 2.5 s"),
    ],
)
def test_an_episode_without_following_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        figures(episode(**changes))
