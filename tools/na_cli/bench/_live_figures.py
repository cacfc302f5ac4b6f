# SPDX-License-Identifier: Apache-2.0
"""Figures of a live estimate against the emulated truth, by phase of the scene."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

ONSET = 0.5  # N of true force that counts as contact
GOAL_NOISE = 0.003  # rad (m for a gripper): about two counts of the leader's encoders
CHATTER = 0.5  # s between openings of the gate that count as one
SETTLED = 0.6  # s after the beginning of a phase from which its errors count


@dataclass
class Trace:
    """One run; K ticks of the estimate, on one clock [s].

    Attributes:
        time: of the ticks (K,).
        valid: whether the estimate spoke (K,).
        force: gated (K, 3) [N]; ungated likewise; NaN while not valid.
        contact: gate (K,).
        truth: true force at those times (K, 3) [N].
        deviation: predicted standard deviation of the force, over the axes (K,) [N].
        baseline: of the classical observer at those times (K, 3) [N]; NaN where it was silent.
    """

    time: Array
    valid: NDArray[np.bool_]
    force: Array
    ungated: Array
    contact: NDArray[np.bool_]
    truth: Array
    baseline: Array
    deviation: Array


@dataclass
class PhaseFigures:
    """Errors within the settled part of one kind of phase.

    Attributes:
        name: kind of phase.
        seconds: of valid ticks.
        truth: mean true force (3,) [N]; estimate: mean of the gated force likewise.
        error: mean size of the gated force's error [N]; of the ungated force, of the classical
            observer and of always saying zero likewise.
        open_share: share of valid ticks with the gate open.
        silent_share: share of ticks that were not valid.
    """

    name: str
    seconds: float
    truth: Array
    estimate: Array
    error: float
    error_ungated: float
    error_baseline: float
    error_zero: float
    open_share: float
    silent_share: float


def aligned(time: Array, at: Array, values: Array) -> Array:
    """Values (S, 3) known at times `at` (S,), at other times (K, 3); NaN outside."""
    if len(at) < 2:
        return np.full((len(time), 3), np.nan)
    columns = [np.interp(time, at, values[:, k], left=np.nan, right=np.nan) for k in range(3)]
    return np.stack(columns, axis=1)


def phase_figures(trace: Trace, name: str, spans: list[tuple[float, float]]) -> PhaseFigures:
    """Figures over the settled part of the spans [s] of one kind."""
    inside = np.zeros(len(trace.time), dtype=bool)
    for start, stop in spans:
        inside |= (trace.time >= start + SETTLED) & (trace.time < stop)
    known = np.isfinite(trace.truth).all(axis=1)
    ticks = inside & known
    use = ticks & trace.valid

    def error(values: Array) -> float:
        sizes = np.linalg.norm(values[use] - trace.truth[use], axis=1)
        sizes = sizes[np.isfinite(sizes)]
        return float(sizes.mean()) if len(sizes) else float("nan")

    step = float(np.median(np.diff(trace.time))) if len(trace.time) > 1 else float("nan")
    nothing = np.full(3, np.nan)
    return PhaseFigures(
        name,
        float(use.sum()) * step,
        trace.truth[use].mean(axis=0) if use.any() else nothing,
        trace.force[use].mean(axis=0) if use.any() else nothing,
        error(trace.force),
        error(trace.ungated),
        error(trace.baseline),
        error(np.zeros_like(trace.truth)),
        float(trace.contact[use].mean()) if use.any() else float("nan"),
        float((~trace.valid[ticks]).mean()) if ticks.any() else float("nan"),
    )


def detection_delays(trace: Trace, latest: float = 2.0) -> list[float]:
    """Delay [s] from each onset of true contact to the gate; NaN where it stayed closed.

    An onset is a true force that rises above ONSET after half a second below it.
    """
    size = np.linalg.norm(np.nan_to_num(trace.truth), axis=1)
    delays = []
    calm_since = trace.time[0] if len(trace.time) else 0.0
    above = False
    for k, moment in enumerate(trace.time):
        if size[k] >= ONSET:
            if not above and moment - calm_since >= 0.5:
                window = (trace.time >= moment) & (trace.time <= moment + latest) & trace.contact
                found = np.flatnonzero(window)
                delays.append(float(trace.time[found[0]] - moment) if len(found) else float("nan"))
            above = True
        else:
            if above:
                calm_since = moment
            above = False
    return delays


@dataclass(frozen=True)
class Alarm:
    """The gate was open without true contact; openings less than CHATTER apart are one.

    Attributes:
        start: [s], on the trace's clock; seconds: from the first opening to the last closing.
        since_contact: time since true contact ended [s], NaN before the first.
        force: largest gated force [N]; deviation: the one predicted there, over the axes [N].
        late: whether the gate was open already when the span's settling time was over: it had not
            closed since a contact, which is a slow release rather than an opening.
    """

    start: float
    seconds: float
    since_contact: float
    force: float
    deviation: float
    late: bool


def false_alarms(trace: Trace, spans: list[tuple[float, float]]) -> tuple[list[Alarm], float]:
    """Every opening of the gate in spans [s] without contact, and their length in minutes.

    Ticks that were not valid neither begin nor end an opening: nothing was said at them.
    """
    touched = trace.time[np.linalg.norm(np.nan_to_num(trace.truth), axis=1) >= ONSET]
    size = np.linalg.norm(trace.force, axis=1)
    alarms: list[Alarm] = []
    seconds = 0.0
    for start, stop in spans:
        inside = (trace.time >= start + SETTLED) & (trace.time < stop)
        ticks = np.flatnonzero(inside & trace.valid)
        seconds += max(0.0, stop - start - SETTLED)
        open_at = np.flatnonzero(trace.contact[ticks])
        if not len(open_at):
            continue
        apart = np.diff(trace.time[ticks[open_at]]) > CHATTER
        for group in np.split(open_at, np.flatnonzero(apart) + 1):
            opened = ticks[group]
            begin = float(trace.time[opened[0]])
            before = touched[touched < begin]
            largest = opened[np.nanargmax(size[opened])]
            alarms.append(
                Alarm(
                    begin,
                    float(trace.time[opened[-1]]) - begin,
                    begin - float(before[-1]) if len(before) else float("nan"),
                    float(size[largest]),
                    float(trace.deviation[largest]),
                    bool(group[0] == 0),
                )
            )
    return alarms, seconds / 60.0


def rests(time: Array, goal: Array, *, least: float = 2.0) -> list[tuple[float, float]]:
    """Spans [s] of at least `least` in which no goal (T, n) moved by more than GOAL_NOISE."""
    known = np.isfinite(goal).all(axis=1)
    time, goal = time[known], goal[known]
    found = []
    begin = 0
    for k in range(1, len(time) + 1):
        moved = k == len(time) or np.abs(goal[k] - goal[begin]).max() > GOAL_NOISE
        if moved:
            if time[k - 1] - time[begin] >= least:
                found.append((float(time[begin]), float(time[k - 1])))
            begin = k
    return found


def rest_bias(trace: Trace, spans: list[tuple[float, float]]) -> float | None:
    """Size of the mean ungated error over each span [s] without contact, averaged [N]."""
    sizes = []
    free = np.linalg.norm(trace.truth, axis=1) < ONSET
    for start, stop in spans:
        use = (trace.time >= start) & (trace.time < stop) & trace.valid & free
        if use.sum() >= 20:
            sizes.append(np.linalg.norm((trace.ungated[use] - trace.truth[use]).mean(axis=0)))
    return float(np.mean(sizes)) if sizes else None
