# SPDX-License-Identifier: Apache-2.0
"""What a recorded teleoperation episode says about rate, jitter, tracking and losses."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from na_cli import demo_page
from na_cli.live_force import LiveForce
from na_cli.report import joint_unit
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

    def summary(self) -> tuple[list[str], list[list[object]]]:
        """Columns and rows of the table of rate and losses."""
        return ["figure", "value", "unit"], [
            ["follower telemetry", self.rate, "Hz"],
            ["period jitter, p99", 1e3 * self.jitter_p99, "ms"],
            ["longest period", 1e3 * self.period_max, "ms"],
            ["telemetry lost (by sequence)", self.missed, "messages"],
            ["stale ticks", 100 * self.stale, "%"],
            ["length", self.seconds, "s"],
        ]

    def tracking(self) -> tuple[list[str], list[list[object]]]:
        """Columns and rows of the table of tracking errors; prismatic joints in mm."""
        rows: list[list[object]] = []
        for joint, mean, most in zip(
            self.names, self.tracking_mean, self.tracking_max, strict=True
        ):
            scale, unit = joint_unit(joint)
            rows.append([joint, scale * float(mean), scale * float(most), unit])
        return ["joint", "mean", "max", "unit"], rows


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


def write_page(
    out: Path,
    episode: Episode,
    result: DemoFigures,
    force: LiveForce | None,
    checks: dict[str, bool],
    command: str,
) -> None:
    """Write report.html and the headline plot as headline.png into `out`."""
    page = demo_page.Page("NeuralActuator demo (emulated)")
    page.paragraph(
        "An emulated leader arm drove an emulated follower arm through real servo packets, drivers "
        "and ROS 2 nodes. Nothing here was measured on hardware."
    )
    page.table(["check", "holds"], list(checks.items()))
    if force is not None:
        page.heading("Force on the end effector, base axes")
        headline = demo_page.force_figure(force)
        headline.savefig(out / "headline.png", dpi=110)
        page.figure(headline, "A weight is carried, the arm is pushed, a weightless block is held.")
        page.paragraph("Mean |error| [N] against what the emulated arm truly felt:")
        page.table(*force.summary())
    page.heading("Following the leader")
    tracking = demo_page.tracking_figure(episode)
    if force is None:
        tracking.savefig(out / "headline.png", dpi=110)
    page.figure(tracking, "Leader's goal (dashed) and follower's position.")
    page.table(*result.tracking())
    page.heading("Telemetry")
    page.figure(demo_page.telemetry_figure(episode), "What the follower's servos reported.")
    latency = None if force is None else force.latency[force.valid]
    page.figure(demo_page.histogram_figure(episode, latency), "Regularity of the ticks.")
    page.table(*result.summary())
    page.table(["topic", "messages"], list(result.messages.items()))
    page.heading("What was run")
    page.paragraph(command)
    page.write(out / "report.html")
