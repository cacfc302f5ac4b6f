# SPDX-License-Identifier: Apache-2.0
"""The labelled external force at given times: from labels, payloads or the force sensor."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from na_core.nad.arrays import Episode
from na_core.nad.layout import FT_WRENCH, LABEL_SOURCES
from na_core.nad.timeline import Int, sample_hold


@dataclass(frozen=True)
class LabelledForce:
    """Force (M, 3) [N] exerted by the environment on the end effector, NaN where not valid (M,).

    `frames` names the axes that occur; more than one means that the rows must not be mixed.
    """

    force: NDArray[np.float64]
    valid: NDArray[np.bool_]
    source: NDArray[np.uint8]
    frames: tuple[str, ...]


def labelled_force(episode: Episode, time_ns: Int, max_age: float = 0.1) -> LabelledForce:
    """Return the labelled force at `time_ns` (M,) [ns].

    Where the label in force says FT_SENSOR, the latest sample of /ft_sensor/wrench not older than
    `max_age` [s] counts.
    """
    labels = episode.labels
    count = len(time_ns)
    if labels is None:
        nothing = np.full((count, 3), np.nan)
        return LabelledForce(nothing, np.zeros(count, bool), np.zeros(count, np.uint8), ())
    source, force, valid = labels.at(time_ns)
    index = sample_hold(labels.time_ns, time_ns)
    frames = {labels.frames[int(i)] for i in np.unique(index[valid & (index >= 0)])}
    sensor = valid & (source == LABEL_SOURCES["ft_sensor"])
    if sensor.any():
        wrench = episode.wrenches.get(FT_WRENCH)
        valid = valid & ~sensor
        if wrench is not None and len(wrench):
            nearest = sample_hold(wrench.time_ns, time_ns)
            at = np.maximum(nearest, 0)
            age = time_ns - wrench.time_ns[at]
            usable = sensor & (nearest >= 0) & (age <= max_age * 1e9)
            usable &= np.isfinite(wrench.force[at]).all(axis=1)
            force[usable] = wrench.force[at][usable]
            valid = valid | usable
            frames = {labels.frames[int(i)] for i in np.unique(index[valid & ~usable])}
            if usable.any():
                frames.add(wrench.frame)
    force[~valid] = np.nan
    return LabelledForce(force, valid, source, tuple(sorted(frames)))
