# SPDX-License-Identifier: Apache-2.0
"""The last minutes of telemetry with their force labels, as a recording to adapt a model to."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from na_core.nad.layout import LABEL_SOURCES, EpisodeInfo
from na_inference.reading import Reading

if TYPE_CHECKING:
    from na_core.robot_spec import RobotSpec

Array = NDArray[np.float64]
CHANNELS = ("position", "velocity", "goal", "current", "voltage", "temperature")


class RecentTicks:
    """A ring of fixed size; nothing is allocated per tick."""

    def __init__(self, spec: RobotSpec, minutes: float, rate: float) -> None:
        """`rate` [Hz]: ticks per second, which bounds the memory."""
        self._spec = spec
        size = max(1, round(60.0 * minutes * rate))
        self._values = np.full((size, len(CHANNELS), spec.n), np.nan)
        self._force = np.full((size, 3), np.nan)
        self._source = np.zeros(size, dtype=np.uint8)
        self._valid = np.zeros(size, dtype=bool)
        self._time = np.zeros(size, dtype=np.int64)
        self._count = 0
        self._label = (np.full(3, np.nan), LABEL_SOURCES["none"], False)

    def __len__(self) -> int:
        return min(self._count, len(self._time))

    def label(self, force: Array, source: int, valid: bool) -> None:
        """Take a force label (3,) [N] in base axes: it holds until the next one."""
        self._label = (np.array(force), source, valid)

    def add(self, reading: Reading) -> None:
        """Remember a fresh tick; others leave a gap."""
        if reading.stale or reading.trouble:
            return
        place = self._count % len(self._time)
        for row, name in enumerate(CHANNELS):
            self._values[place, row] = getattr(reading.ticks, name)
        self._force[place], self._source[place], self._valid[place] = self._label
        self._time[place] = reading.stamp_ns
        self._count += 1

    def last_position(self) -> Array | None:
        """Positions of the newest tick (n,), None before the first."""
        if not self._count:
            return None
        return np.array(self._values[(self._count - 1) % len(self._time), 0])

    @property
    def labelled(self) -> int:
        """Ticks with a valid label."""
        known = self._valid & (self._source != LABEL_SOURCES["none"])
        return int(known[: len(self)].sum())

    def frozen(self) -> RecentTicks:
        """A copy that goes on standing while ticks are added to this one."""
        other = copy.copy(self)
        for name in ("_values", "_force", "_source", "_valid", "_time"):
            setattr(other, name, getattr(self, name).copy())
        return other

    def save(self, folder: Path, rate: float) -> Path:
        """Write everything remembered as one episode of arrays; returns its path."""
        size = len(self)
        start = self._count - size
        order = np.arange(start, self._count) % len(self._time)
        values = self._values[order]
        column = {name: values[:, row] for row, name in enumerate(CHANNELS)}
        info = EpisodeInfo(
            episode="recent",
            robot=self._spec.robot,
            task="adaptation",
            category="adaptation",
            robot_hash=self._spec.digest,
            source="hardware",
            control_rate=rate,
        )
        time = self._time[order]
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "recent.npz"
        np.savez(
            path,
            names=np.array(self._spec.names),
            info=np.array(json.dumps(info.to_dict())),
            step_time=1e-9 * (time - (time[0] if size else 0)),
            position=column["position"],
            velocity=column["velocity"],
            goal_requested=column["goal"],
            goal_sent=column["goal"],
            current=column["current"],
            load=np.full((size, self._spec.n), np.nan),
            voltage=column["voltage"],
            temperature=column["temperature"],
            label_force=self._force[order],
            label_source=self._source[order],
            label_valid=self._valid[order],
        )
        return path
