# SPDX-License-Identifier: Apache-2.0
"""What a recorded teleoperation episode says about rate, jitter, tracking and losses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from na_core.nad.arrays import Episode, TelemetryTrack

#: Time after torque comes on that the start ramp and its tail take [s]; tracking counts from there.
SETTLING = 2.5


@dataclass(frozen=True)
class DemoFigures:
    """Figures of one episode.

    Attributes:
        rate: follower telemetry [Hz].
        jitter_p99: 99th percentile of |period − median period| of its stamps [s].
        period_max: longest period [s].
        tracking_mean: mean |position − goal requested| per joint while following [rad or m].
        tracking_max: largest value of the same.
        missed: telemetry messages missing by sequence, both arms together.
        stale: share of follower ticks marked stale.
        messages: messages per topic.
        seconds: length of the follower telemetry [s].

    """

    names: tuple[str, ...]
    rate: float
    jitter_p99: float
    period_max: float
    tracking_mean: NDArray[np.float64]
    tracking_max: NDArray[np.float64]
    missed: int
    stale: float
    messages: dict[str, int]
    seconds: float


def missing_by_sequence(track: TelemetryTrack) -> int:
    """Messages that lie between the first and the last sequence number but were not recorded."""
    return int(track.sequence[-1] - track.sequence[0]) + 1 - len(track) if len(track) else 0


def figures(episode: Episode, settling: float = SETTLING) -> DemoFigures:
    """Compute the figures; ValueError when the episode holds no usable follower telemetry."""
    follower = episode.follower
    if follower is None or len(follower) < 3:
        count = 0 if follower is None else len(follower)
        raise ValueError(
            f"{episode.path}: {count} follower telemetry messages, expected at least 3"
        )
    stamps = follower.stamp_ns[~follower.stale] * 1e-9
    periods = np.diff(stamps)
    on = np.flatnonzero(follower.torque_enabled)
    if not len(on):
        raise ValueError(f"{episode.path}: torque never came on, so nothing was followed")
    seconds = (follower.stamp_ns - follower.stamp_ns[on[0]]) * 1e-9
    following = follower.torque_enabled & ~follower.stale & (seconds > settling)
    if not following.any():
        raise ValueError(
            f"{episode.path}: the follower followed for less than {settling} s; record longer"
        )
    error = np.abs(follower.position - follower.goal_requested)[following]
    telemetry = [track for track in episode.tracks.values() if isinstance(track, TelemetryTrack)]
    return DemoFigures(
        names=follower.names,
        rate=(len(stamps) - 1) / float(stamps[-1] - stamps[0]),
        jitter_p99=float(np.percentile(np.abs(periods - np.median(periods)), 99)),
        period_max=float(periods.max()),
        tracking_mean=error.mean(axis=0),
        tracking_max=error.max(axis=0),
        missed=sum(missing_by_sequence(track) for track in telemetry),
        stale=float(follower.stale.mean()),
        messages={topic: len(track) for topic, track in sorted(episode.tracks.items())},
        seconds=float(stamps[-1] - stamps[0]),
    )
