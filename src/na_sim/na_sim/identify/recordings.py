# SPDX-License-Identifier: Apache-2.0
"""Pendulum recordings of a servo, as Better Actuator Models publishes them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

GRID = 0.001  # s, simulation step
SUPPLY_WINDOW = 0.06  # s; the voltage register catches the PWM's ripple, its mean is the supply
PWM_WRAP = 65536


class RecordingError(ValueError):
    """A recording cannot be used; the text names file, key and what was expected."""


@dataclass(frozen=True)
class PendulumRun:
    """One recorded run, measured samples (N,) and inputs on a 1 ms grid (T,).

    Attributes:
        name: file stem.
        trajectory: kind of motion.
        gain: P gain register.
        supply: nominal supply [V].
        mass, length, rod: pendulum [kg, m, kg].
        time, position: samples [s, rad]; 0 hangs down.
        temperature: at the start [degC].
        start_velocity: [rad/s], from the first two samples.
        goal: [rad] on the grid.
        enabled: torque on, 0 or 1, on the grid.
        volts: measured supply, smoothed, on the grid [V].
    """

    name: str
    trajectory: str
    gain: float
    supply: float
    mass: float
    length: float
    rod: float
    time: Array
    position: Array
    temperature: float
    start_velocity: float
    goal: Array
    enabled: NDArray[np.int64]
    volts: Array

    @property
    def grid(self) -> Array:
        """Times of the grid (T,) [s]."""
        return np.asarray(self.time[0] + GRID * np.arange(len(self.goal)))

    def error(self, simulated: Array) -> Array:
        """Simulated minus measured position at the samples (N,) [rad]; `simulated` on the grid."""
        return np.asarray(np.interp(self.time, self.grid, simulated) - self.position)


def _column(entries: list[dict[str, Any]], key: str, path: Path) -> Array:
    try:
        values = np.array([float(entry[key]) for entry in entries])
    except KeyError:
        raise RecordingError(
            f"{path}: an entry has no {key!r}; expected it in every entry"
        ) from None
    if not np.isfinite(values).all():
        raise RecordingError(f"{path}: {key} has values that are not finite")
    return values


def _smooth(values: Array, width: int) -> Array:
    kernel = np.ones(width) / width
    padded = np.concatenate([np.full(width, values[0]), values, np.full(width, values[-1])])
    return np.asarray(np.convolve(padded, kernel, mode="same")[width:-width])


def make_run(
    header: dict[str, Any],
    time: Array,
    position: Array,
    goal: Array,
    enabled: Array,
    volts: Array,
    temperature: float,
    name: str,
) -> PendulumRun:
    """Put samples (N,) on the grid: goals and enables held, voltage interpolated and smoothed."""
    if len(time) < 10 or np.any(np.diff(time) <= 0.0):
        raise RecordingError(f"{name}: times must grow over at least 10 samples")
    grid = np.arange(time[0], time[-1], GRID)
    held = np.clip(np.searchsorted(time, grid, side="right") - 1, 0, len(time) - 1)
    return PendulumRun(
        name=name,
        trajectory=str(header["trajectory"]),
        gain=float(header["kp"]),
        supply=float(header["vin"]),
        mass=float(header["mass"]),
        length=float(header["length"]),
        rod=float(header.get("arm_mass", header.get("arm-mass", 0.0))),
        time=time,
        position=position,
        temperature=temperature,
        start_velocity=float((position[1] - position[0]) / (time[1] - time[0])),
        goal=goal[held],
        enabled=(enabled[held] > 0.5).astype(np.int64),
        volts=_smooth(np.interp(grid, time, volts), round(SUPPLY_WINDOW / GRID)),
    )


def load_run(path: Path) -> PendulumRun:
    """Read one JSON (or gzipped JSON) recording; RecordingError says what is wrong with it."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        try:
            data = json.load(file)
        except json.JSONDecodeError as error:
            raise RecordingError(f"{path}: not JSON ({error}); expected a BAM recording") from error
    missing = [k for k in ("mass", "length", "kp", "vin", "trajectory", "entries") if k not in data]
    if missing:
        raise RecordingError(f"{path}: no {missing}; expected the header of a BAM recording")
    entries = data["entries"]
    columns = {
        key: _column(entries, key, path)
        for key in (
            "timestamp",
            "position",
            "goal_position",
            "torque_enable",
            "input_volts",
            "temp",
        )
    }
    return make_run(
        data,
        columns["timestamp"],
        columns["position"],
        columns["goal_position"],
        columns["torque_enable"],
        columns["input_volts"],
        float(columns["temp"][0]),
        path.stem,
    )


def load_runs(folder: Path) -> list[PendulumRun]:
    """All recordings of `folder` by name; RecordingError when there are none."""
    paths = sorted([*folder.glob("*.json"), *folder.glob("*.json.gz")])
    if not paths:
        raise RecordingError(f"{folder}: no *.json recordings; expected some of a pendulum")
    return [load_run(path) for path in paths]


def split(
    runs: Iterable[PendulumRun], key: str, value: str
) -> tuple[list[PendulumRun], list[PendulumRun]]:
    """Divide runs into (training, held out): held out are those whose `key` equals `value`.

    `key` is "gain" or "trajectory". Raises ValueError when a side would be empty.
    """
    if key not in ("gain", "trajectory"):
        raise ValueError(f"hold-out key {key!r}: expected gain or trajectory")
    runs = list(runs)

    def text(run: PendulumRun) -> str:
        return f"{run.gain:g}" if key == "gain" else run.trajectory

    held = [run for run in runs if text(run) == value]
    rest = [run for run in runs if text(run) != value]
    if not held or not rest:
        choices = sorted({text(run) for run in runs})
        raise ValueError(f"hold-out {key}={value}: expected one of {choices}, leaving some runs")
    return rest, held
