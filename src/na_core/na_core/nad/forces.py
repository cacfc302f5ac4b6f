# SPDX-License-Identifier: Apache-2.0
"""The labelled external force at given times: from labels, payloads or the force sensor."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from na_core.nad.arrays import Episode
from na_core.nad.layout import FT_WRENCH, LABEL_SOURCES
from na_core.nad.resampling import around_ns
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


def labelled_force(episode: Episode, time_ns: Int, period: float) -> LabelledForce:
    """Return the labelled force at `time_ns` (M,) [ns], frames of one every `period` [s].

    Where the label in force says FT_SENSOR, it is the mean of /ft_sensor/wrench around each time
    (see `resampling.around`), and nothing where the sensor was silent.
    """
    labels = episode.labels
    count = len(time_ns)
    if labels is None:
        nothing = np.full((count, 3), np.nan)
        return LabelledForce(nothing, np.zeros(count, bool), np.zeros(count, np.uint8), ())
    source, force, valid = labels.at(time_ns)
    index = sample_hold(labels.time_ns, time_ns)
    sensor = valid & (source == LABEL_SOURCES["ft_sensor"])
    frames = {labels.frames[int(i)] for i in np.unique(index[valid & ~sensor & (index >= 0)])}
    wrench = episode.wrenches.get(FT_WRENCH)
    if sensor.any() and (wrench is None or not len(wrench)):
        valid = valid & ~sensor
    elif sensor.any() and wrench is not None:
        force[sensor] = around_ns(wrench.time_ns, wrench.force, time_ns[sensor], period)
        valid = valid & ~(sensor & np.isnan(force).any(axis=1))
        if (sensor & valid).any():
            frames.add(wrench.frame)
    force[~valid] = np.nan
    return LabelledForce(force, valid, source, tuple(sorted(frames)))
