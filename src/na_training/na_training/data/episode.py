# SPDX-License-Identifier: Apache-2.0
"""One labelled episode as training sees it: telemetry, force label, contact and condition."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from na_core.features import Ticks

Array = NDArray[np.float64]


class DataError(ValueError):
    """A recording cannot be used; the text names it, what it has and what was expected."""


@dataclass(frozen=True)
class Episode:
    """Arrays of one episode; T ticks, n joints in canonical order.

    Attributes:
        name: unique within its data set.
        robot: robot name.
        category: as in EpisodeInfo; task and variant likewise.
        split_group: episodes of one group are never split between training and test.
        pair_id: shared by a contact trial and its repeat without contact, else empty.
        time: stamps (T,) [s].
        ticks: telemetry, arrays (T, n).
        segments: [start, stop) ranges without stale ticks or gaps (S, 2).
        force: force label (T, 3) [N], base axes, on the end effector; NaN where unknown.
        contact: 1 in contact, 0 free, NaN unknown or in between (T,).
        restricted: 1 restricted, 0 free, NaN not supervised (n,).
        truth: true force (T, 3) [N] of an emulated arm, NaN elsewhere; training never reads it.
        payload: nominal mass held [kg].
        robot_hash: digest of the robot file in force when recorded; empty when not known.
        calibration: hash of the calibration of the real arm that was recorded; empty without one
            and for emulated arms.
        unit: tells arms of one make apart: the hash of the calibration, emulated or not.
        dithered: True where the goal carries a dither (T,).
    """

    name: str
    robot: str
    category: str
    task: str
    variant: str
    split_group: str
    pair_id: str
    time: Array
    ticks: Ticks
    segments: NDArray[np.int64]
    force: Array
    contact: Array
    restricted: Array
    truth: Array
    payload: float = 0.0
    robot_hash: str = ""
    calibration: str = ""
    unit: str = ""
    dithered: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        length, n = self.ticks.shape
        for field, array, expected in (
            ("time", self.time, (length,)),
            ("force", self.force, (length, 3)),
            ("contact", self.contact, (length,)),
            ("restricted", self.restricted, (n,)),
            ("truth", self.truth, (length, 3)),
        ):
            if array.shape != expected:
                raise DataError(
                    f"episode {self.name}: {field} has shape {array.shape}, expected {expected}"
                )

    @property
    def length(self) -> int:
        """Number of ticks T."""
        return len(self.time)

    @property
    def dt(self) -> float:
        """Median seconds per tick."""
        return float(np.median(np.diff(self.time))) if self.length > 1 else float("nan")


def usable_segments(
    time: Array, usable: NDArray[np.bool_], *, gap: float = 1.5
) -> NDArray[np.int64]:
    """Return [start, stop) ranges (S, 2) of usable ticks without a pause.

    Args:
        time: stamps (T,) [s].
        usable: False for stale ticks and for ticks with a missing measurement (T,).
        gap: a step longer than this many median steps separates two ranges.
    """
    if len(time) == 0:
        return np.zeros((0, 2), dtype=np.int64)
    step = np.diff(time)
    typical = float(np.median(step)) if len(step) else 1.0
    breaks = np.flatnonzero((step > gap * typical) | (step <= 0.0)) + 1
    edges = np.flatnonzero(np.diff(usable.astype(np.int8)) != 0) + 1
    cuts = np.unique(np.concatenate([[0], breaks, edges, [len(time)]]))
    pairs = [(a, b) for a, b in itertools.pairwise(cuts) if usable[a]]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def complete(ticks: Ticks) -> NDArray[np.bool_]:
    """Ticks (T,) at which every channel of every joint was measured."""
    finite = np.ones(ticks.shape[0], dtype=bool)
    for entry in fields(ticks):
        finite &= np.isfinite(getattr(ticks, entry.name)).all(axis=1)
    return finite
