# SPDX-License-Identifier: Apache-2.0
"""The live estimate of a recorded episode beside the emulated truth and a classical observer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from na_core.nad.arrays import Episode, NumberTrack, WrenchTrack

Array = NDArray[Any]

STATE = "/neural_actuator/state"
TRUTH = "/sim/follower/truth"
BASELINE = "/neural_actuator_node/baseline/wrench"
#: True force [N] from which a tick counts as contact, and below which as free.
CONTACT = 0.5


@dataclass(frozen=True)
class LiveForce:
    """One episode on the ticks of the estimate; forces in base axes [N], shape (K, 3).

    Attributes:
        time: of the ticks (K,) [s].
        valid: whether the estimate spoke (K,).
        estimate: gated force, NaN while not valid.
        contact: gate (K,).
        truth: of the emulated arm at those times.
        baseline: of the classical observer at those times, NaN where it was silent.
        baseline_name: what it is called.
        latency: from the telemetry stamp to publishing (K,) [s].

    """

    time: Array
    valid: NDArray[np.bool_]
    estimate: Array
    contact: NDArray[np.bool_]
    truth: Array
    baseline: Array
    baseline_name: str
    latency: Array

    def summary(self) -> tuple[list[str], list[list[object]]]:
        """Columns and rows of the table of errors."""
        columns = ["ticks", "seconds", "live estimate", self.baseline_name, "always zero"]
        return columns, [list(row) for row in self.table()]

    def table(self) -> list[tuple[object, ...]]:
        """Rows (which ticks, seconds, estimate, classical, always zero): mean |error| [N]."""
        size = np.linalg.norm(self.truth, axis=1)
        known = self.valid & np.isfinite(self.truth).all(axis=1)
        dt = float(np.median(np.diff(self.time))) if len(self.time) > 1 else 0.0
        rows: list[tuple[object, ...]] = []
        for name, ticks in (
            ("in contact", known & (size > CONTACT)),
            ("free", known & (size <= CONTACT)),
            ("all", known),
        ):
            errors = [
                float(np.nanmean(np.linalg.norm(force[ticks] - self.truth[ticks], axis=1)))
                if np.isfinite(force[ticks]).all(axis=1).any()
                else float("nan")
                for force in (self.estimate, self.baseline, np.zeros_like(self.truth))
            ]
            rows.append((name, dt * float(ticks.sum()), *errors))
        return rows


def live_force(episode: Episode, baseline_name: str = "classical observer") -> LiveForce | None:
    """Read it from an episode; None where no estimate or no truth was recorded."""
    state, truth = episode.tracks.get(STATE), episode.tracks.get(TRUTH)
    if not isinstance(state, NumberTrack) or not isinstance(truth, NumberTrack):
        return None
    known = state.stamp_ns > 0  # a state without a tick behind it has no stamp
    time = state.stamp_ns[known] * 1e-9
    if len(time) < 2 or len(truth) < 2:
        return None

    def number(name: str) -> Array:
        return np.asarray(state.numbers[name], dtype=np.float64)[known]

    measured = np.stack([truth.numbers[f"force.{axis}"] for axis in "xyz"], axis=1)
    observer = episode.tracks.get(BASELINE)
    seen = isinstance(observer, WrenchTrack) and len(observer) > 1
    return LiveForce(
        time=time,
        valid=number("validity") == 0,
        estimate=np.stack([number(f"force.{axis}") for axis in "xyz"], axis=1),
        contact=number("contact.in_contact") > 0,
        truth=_at(time, truth.stamp_ns * 1e-9, measured.astype(np.float64)),
        baseline=_at(time, observer.stamp_ns * 1e-9, observer.force)
        if seen and isinstance(observer, WrenchTrack)
        else np.full((len(time), 3), np.nan),
        baseline_name=baseline_name,
        latency=number("latency"),
    )


def _at(time: NDArray[Any], known: NDArray[Any], values: NDArray[Any]) -> Array:
    """Values (S, 3) known at times (S,), at other times (K, 3); NaN outside."""
    columns = [np.interp(time, known, values[:, k], left=np.nan, right=np.nan) for k in range(3)]
    return np.stack(columns, axis=1)
