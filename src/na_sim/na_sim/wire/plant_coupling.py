# SPDX-License-Identifier: Apache-2.0
"""Between registers and physics: advance the plant on demand, stop at watchdogs, fetch readings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from na_sim.plant_interface import ArmPlant, ServoCommands
from na_sim.wire.servo_interface import WireServo
from na_sim.wire.wire_faults import WireFaults

_COMMANDS = tuple(f.name for f in fields(ServoCommands))
_ROW = (
    "present_pwm",
    "present_current",
    "present_velocity",
    "velocity_trajectory",
    "position_trajectory",
    "present_input_voltage",
    "present_temperature",
)


class PlantCoupling:
    """Keeps a plant and the registers of `servos` at one instant of the bus's clock.

    `max_catch_up` bounds how far [s] the plant is integrated at once (None: no bound); beyond it
    plant time slips and `slips` counts. Not thread-safe: the bus calls it under its lock.
    """

    def __init__(
        self,
        plant: ArmPlant,
        servos: Sequence[WireServo],
        faults: WireFaults,
        start: float,
        max_catch_up: float | None = None,
    ) -> None:
        self.plant = plant
        self.servos = servos
        self.faults = faults
        self.max_catch_up = max_catch_up
        self.slips = 0
        self._t0 = start - plant.time  # clock at plant time 0
        self._refreshed_at = float("-inf")
        self._commands = ServoCommands.zeros(plant.n)
        self._rows: dict[int, dict[str, int]] = {}

    def advance(self, now: float) -> None:
        """Integrate the plant to `now`, stopping at every watchdog that trips on the way."""
        lag = now - self._t0 - self.plant.time
        if self.max_catch_up is not None and lag > self.max_catch_up:
            self._t0 += lag - self.max_catch_up
            self.slips += 1
        while (due := self._next_watchdog()) < now:
            self._integrate(due)
            self.refresh(due)
            for servo in self.servos:
                if servo.watchdog_deadline() <= due:
                    servo.trip_watchdog()
        self._integrate(now)

    def refresh(self, now: float) -> None:
        """Put the plant's readings into the registers, once for every instant."""
        if now == self._refreshed_at:
            return
        self._refreshed_at = now
        readings = self.faults.readings(self.plant.readings(), now)
        rows = list(zip(*(getattr(readings, name).tolist() for name in _ROW), strict=True))
        positions = readings.present_position.tolist()
        moving = readings.moving.tolist()
        for servo in self.servos:
            index = servo.index
            if index is None:
                servo.observe_nothing(now)
            else:
                servo.observe(positions[index], rows[index], now, moving[index])

    def forget_readings(self) -> None:
        """Have the next `refresh` fetch readings even within the same instant."""
        self._refreshed_at = float("-inf")

    def _next_watchdog(self) -> float:
        return min((s.watchdog_deadline() for s in self.servos), default=float("inf"))

    def _integrate(self, now: float) -> None:
        until = now - self._t0
        if until > self.plant.time:
            self.plant.advance(until, self._current_commands())

    def _current_commands(self) -> ServoCommands:
        """Return the commands in force; a new object whenever a servo's have changed."""
        dirty = [s for s in self.servos if s.dirty and s.index is not None]
        if dirty:
            for servo in dirty:
                self._rows[servo.index or 0] = servo.commands()
                servo.dirty = False
            commands = self._commands.copy()
            for name in _COMMANDS:
                column = getattr(commands, name)
                for index, row in self._rows.items():
                    column[index] = row[name]
            self._commands = commands
        return self._commands


def plant_row(wanted: int | None, place: int, plant: ArmPlant) -> int | None:
    """Return the row of the servo at `place` (or the row `wanted`); None: the plant lacks it."""
    index = place if wanted is None else wanted
    return index if 0 <= index < plant.n else None
