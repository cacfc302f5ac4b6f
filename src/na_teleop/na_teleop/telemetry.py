# SPDX-License-Identifier: Apache-2.0
"""One control tick of one arm as plain data; the node copies it into the message."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from na_teleop.buses.base import BusSample
from na_teleop.goal_shaping import ShapedGoal

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Telemetry:
    """Fields of na_msgs/ActuatorTelemetry; arrays (n,) in canonical joint order.

    The goals are those decided right after this tick's read, from which they are one wire time
    away; the measurements were taken under the goals of the tick before.
    """

    stamp_ns: int
    sequence: int
    arm: str
    name: tuple[str, ...]
    goal_requested: Array
    goal_sent: Array
    goal_register: Array
    position: Array
    velocity: Array
    current: Array
    load: Array
    voltage: Array
    temperature: Array
    hardware_error: NDArray[np.uint8]
    torque_enabled: bool
    stale: bool
    control_period_us: int


class TelemetryBuilder:
    """Numbers the ticks of one arm and measures their period."""

    def __init__(self, arm: str, names: Sequence[str]) -> None:
        """`arm`: "leader" or "follower"; `names`: canonical joint order."""
        self.arm = arm
        self.names = tuple(names)
        self._sequence = 0
        self._last_s: float | None = None

    def build(
        self,
        sample: BusSample,
        now_s: float,
        *,
        requested: Array | None = None,
        goal: ShapedGoal | None = None,
        register: Array | None = None,
        torque_enabled: bool = False,
    ) -> Telemetry:
        """Return the telemetry of a tick that began at monotonic `now_s` [s].

        Goals that do not exist (no leader yet, torque off) are NaN. Measurements pass through
        untouched.
        """
        nan = np.full(len(self.names), np.nan)
        period_us = 0
        if self._last_s is not None:
            period_us = max(0, min(round((now_s - self._last_s) * 1e6), 2**32 - 1))
        self._last_s = now_s
        sequence, self._sequence = self._sequence, self._sequence + 1
        if goal is not None and requested is None:
            requested = goal.requested
        return Telemetry(
            stamp_ns=sample.stamp_ns,
            sequence=sequence,
            arm=self.arm,
            name=self.names,
            goal_requested=nan if requested is None else requested,
            goal_sent=nan.copy() if goal is None else goal.sent,
            goal_register=nan.copy() if register is None else register,
            position=sample.position,
            velocity=sample.velocity,
            current=sample.current,
            load=sample.load,
            voltage=sample.voltage,
            temperature=sample.temperature,
            hardware_error=sample.hardware_error,
            torque_enabled=torque_enabled,
            stale=not sample.fresh,
            control_period_us=period_us,
        )
