# SPDX-License-Identifier: Apache-2.0
"""Warnings from an arm's own readings: sagging supply, heat, servos that answer badly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from na_core.robot_spec import RobotSpec
from na_teleop.buses.base import BusSample

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class HealthThresholds:
    """From where on a reading is worth a warning.

    Attributes:
        sag: drop below the robot file's nominal voltage [V].
        temperature: of a servo [°C]; the servos themselves give up at 72 to 80.
        missed_share: share of reads that a servo did not answer.
        repeated_share: share of reads in which a servo repeated old values.
        memory_s: time constant of the running means [s].

    """

    sag: float = 1.0
    temperature: float = 65.0
    missed_share: float = 0.01
    repeated_share: float = 0.01
    memory_s: float = 5.0


class ArmHealth:
    """Running means of what the servos report, per joint (n,), and the warnings they give."""

    def __init__(self, spec: RobotSpec, thresholds: HealthThresholds | None = None) -> None:
        """Begin with nothing known; the nominal voltage comes from `spec`."""
        self._spec = spec
        self._limits = thresholds or HealthThresholds()
        self._nominal = np.nan if spec.supply is None else spec.supply.nominal_voltage
        self.voltage: Array = np.full(spec.n, np.nan)  # V, running mean
        self.temperature: Array = np.full(spec.n, np.nan)  # °C, latest
        self.missed: Array = np.zeros(spec.n)  # share of reads, running mean
        self.repeated: Array = np.zeros(spec.n)  # share of reads, running mean
        self._last_s: float | None = None

    def update(self, sample: BusSample, now_s: float) -> None:
        """Take in one tick's read at monotonic `now_s` [s]."""
        dt = 0.0 if self._last_s is None else max(0.0, now_s - self._last_s)
        self._last_s = now_s
        share = min(1.0, dt / self._limits.memory_s)
        self.missed += share * (~sample.valid - self.missed)
        self.repeated += share * (sample.repeated - self.repeated)
        self.temperature = np.where(sample.valid, sample.temperature, self.temperature)
        known = np.where(np.isnan(self.voltage), sample.voltage, self.voltage)
        self.voltage = np.where(sample.valid, known + share * (sample.voltage - known), known)

    def warnings(self) -> tuple[str, ...]:
        """Return what is beyond its threshold now, each naming joints, value and threshold."""
        limits = self._limits
        floor = self._nominal - limits.sag
        rows = [
            (self.voltage < floor, self.voltage, "{:.1f} V", f"supply below {floor:.1f} V"),
            (
                self.temperature > limits.temperature,
                self.temperature,
                "{:.0f} °C",
                f"warmer than {limits.temperature:.0f} °C",
            ),
            (
                self.missed > limits.missed_share,
                100.0 * self.missed,
                "{:.1f} %",
                f"more than {100.0 * limits.missed_share:g} % of reads unanswered",
            ),
            (
                self.repeated > limits.repeated_share,
                100.0 * self.repeated,
                "{:.1f} %",
                f"more than {100.0 * limits.repeated_share:g} % of reads repeat old values",
            ),
        ]
        found = []
        for beyond, values, form, text in rows:
            if beyond.any():
                who = ", ".join(
                    f"{self._spec.names[int(i)]} {form.format(values[int(i)])}"
                    for i in np.flatnonzero(beyond)
                )
                found.append(f"{text}: {who}")
        return tuple(found)

    def values(self) -> dict[str, str]:
        """Return the figures for diagnostics, by name."""

        def extreme(values: Array, form: str, *, lowest: bool = False) -> str:
            known = values[np.isfinite(values)]
            if known.size == 0:
                return "unknown"
            return form.format(known.min() if lowest else known.max())

        return {
            "lowest_voltage": extreme(self.voltage, "{:.2f} V", lowest=True),
            "highest_temperature": extreme(self.temperature, "{:.0f} °C"),
            "worst_missed_share": extreme(100.0 * self.missed, "{:.2f} %"),
            "worst_repeated_share": extreme(100.0 * self.repeated, "{:.2f} %"),
        }
