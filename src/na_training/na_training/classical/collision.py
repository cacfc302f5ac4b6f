# SPDX-License-Identifier: Apache-2.0
"""Collision detection: scores that should rise at a touch, their thresholds, delays and alarms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.signal import savgol_coeffs

from na_core.features import MotorModel
from na_training.classical.physical import PhysicalModel
from na_training.classical.samples import FitError, Samples
from na_training.data import Episode

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

SPAN = 9  # ticks behind accelerations, as the live window
DWELL = 3  # ticks in a row above the threshold
ALARMS_PER_MINUTE = 0.5
"""False alarms that a threshold may cost on validation data."""
ONSET = 1.0
"""A touch begins where the labelled force first reaches this [N]."""
LATEST = 1.5
"""A detection later than this counts as missed [s]."""


@dataclass(frozen=True)
class Detection:
    """Figures of one detector.

    Attributes:
        threshold: of the score.
        recall: share of touches found within `LATEST`.
        delay: median seconds from onset to alarm of those found.
        alarms: false alarms per free minute.
        touches: number of touches.
    """

    threshold: float
    recall: float
    delay: float
    alarms: float
    touches: int


def causal_acceleration(q: Array, dt: float) -> Array:
    """Accelerations (T, n) from past positions: second derivative of a cubic at its newest tick."""
    taps = savgol_coeffs(SPAN, 3, deriv=2, delta=dt, pos=SPAN - 1, use="dot")
    padded = np.concatenate([np.repeat(q[:1], SPAN - 1, axis=0), q])
    windows = np.lib.stride_tricks.sliding_window_view(padded, SPAN, axis=0)
    return np.asarray(windows @ taps)


def inverse_model_score(episode: Episode, model: PhysicalModel, motor: MotorModel) -> Array:
    """Largest residual over the joints (T,) [residual deviations]: measured less expected effort.

    The expected effort is the identified inverse dynamics of the measured motion, from past ticks.
    """
    n = model.regressor.n
    q, speed = episode.ticks.position[:, :n], episode.ticks.velocity[:, :n]
    effort = motor.effort(episode.ticks.current)[:, :n]
    motion = Samples(q, speed, causal_acceleration(q, episode.dt), effort)
    residual = (effort - model.predict(motion)) / model.noise
    return np.asarray(np.abs(_averaged(residual)).max(axis=1))


def current_score(episode: Episode, joints: int) -> Array:
    """Largest current over the joints (T,) [A]: what a bare current limit sees."""
    return np.asarray(np.abs(_averaged(episode.ticks.current[:, :joints])).max(axis=1))


def _averaged(values: Array, ticks: int = 4) -> Array:
    total = np.cumsum(np.concatenate([np.repeat(values[:1], ticks, axis=0), values]), axis=0)
    return np.asarray((total[ticks:] - total[:-ticks]) / ticks)


def alarms(score: Array, threshold: float) -> Flags:
    """Ticks (T,) at which the score has been above the threshold for `DWELL` ticks."""
    above = np.nan_to_num(score) > threshold
    held = above.copy()
    for back in range(1, DWELL):
        held[back:] &= above[:-back]
        held[:back] = False
    return held


def onsets(episode: Episode) -> NDArray[np.int64]:
    """Ticks at which a labelled force first reaches `ONSET` after half a second without contact."""
    size = np.linalg.norm(episode.force, axis=1)
    quiet = round(0.5 / episode.dt)
    reached = np.flatnonzero((size[1:] >= ONSET) & (size[:-1] < ONSET)) + 1
    free = episode.contact == 0.0
    return np.array(
        [t for t in reached if t >= quiet and free[max(t - 2 * quiet, 0) : t].sum() >= quiet],
        dtype=np.int64,
    )


def false_starts(flags: Flags, contact: Array) -> int:
    """How often an alarm begins while no contact is labelled."""
    rising = flags & ~np.concatenate([[False], flags[:-1]])
    return int((rising & (contact == 0.0)).sum())


def choose_threshold(scores: Sequence[Array], episodes: Sequence[Episode]) -> float:
    """Smallest threshold with at most `ALARMS_PER_MINUTE` on validation episodes.

    Raises:
        FitError: no tick is labelled free.
    """
    free = [score[episode.contact == 0.0] for score, episode in zip(scores, episodes, strict=True)]
    pool = np.concatenate(free) if free else np.zeros(0)
    pool = pool[np.isfinite(pool)]
    if not len(pool):
        raise FitError("collision threshold: no tick without contact among the validation episodes")
    minutes = sum(float((e.contact == 0.0).sum()) * e.dt for e in episodes) / 60.0
    for level in np.linspace(0.5, 1.0, 101):
        threshold = float(np.quantile(pool, level))
        count = sum(
            false_starts(alarms(score, threshold), episode.contact)
            for score, episode in zip(scores, episodes, strict=True)
        )
        if count / minutes <= ALARMS_PER_MINUTE:
            return threshold
    return float(pool.max())


def judge(scores: Sequence[Array], episodes: Sequence[Episode], threshold: float) -> Detection:
    """Recall, delay and false alarms on some episodes."""
    found, delays, false, free, touches = 0, [], 0, 0.0, 0
    for score, episode in zip(scores, episodes, strict=True):
        flags = alarms(score, threshold)
        false += false_starts(flags, episode.contact)
        free += float((episode.contact == 0.0).sum()) * episode.dt / 60.0
        latest = round(LATEST / episode.dt)
        for onset in onsets(episode):
            touches += 1
            hits = np.flatnonzero(flags[onset : onset + latest])
            if len(hits):
                found += 1
                delays.append(float(hits[0]) * episode.dt)
    return Detection(
        threshold,
        found / touches if touches else float("nan"),
        float(np.median(delays)) if delays else float("nan"),
        false / free if free > 0.0 else float("nan"),
        touches,
    )
