# SPDX-License-Identifier: Apache-2.0
"""What servo families with registers have in common: goals, torque, settings, by register name."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Protocol

import numpy as np

from na_core.control_tables import Register, span
from na_core.raw_si import JointConversion
from na_core.robot_spec import RobotSpec
from na_teleop.buses.base import Array, BoolArray, ServoBus, TorqueOffReport
from na_teleop.buses.dynamixel_settings import Setting
from na_teleop.buses.errors import BusError, ServoError
from na_teleop.buses.port import SerialPort


class RegisterLine(Protocol):
    """Access to single registers; raises BusError after bounded retries."""

    def read(self, id: int, register: Register, *, attempts: int = ...) -> int:
        """Return the value of one register."""
        ...

    def write(self, id: int, register: Register, value: int, *, attempts: int = ...) -> None:
        """Write one register and wait for the acknowledgement."""
        ...

    def read_bytes(
        self, id: int, address: int, length: int, *, name: str = ..., attempts: int = ...
    ) -> bytes:
        """Return bytes of the table."""
        ...

    def sync_write(self, register: Register, values: Mapping[int, int]) -> None:
        """Write one register of several servos, unacknowledged."""
        ...


class RegisterBus(ServoBus):
    """Goals, torque and settings in terms of a register table and a line."""

    table: Mapping[str, Register]
    table_length: int  # bytes from 0 that `read_table` reads at once
    torque_remedy: str  # what to do about a servo that takes torque on and stays off

    def __init__(
        self,
        spec: RobotSpec,
        port: str,
        *,
        protocol: str,
        baud: int | None,
        latency_s: float | None,
        align_tolerance_counts: int,
        reset_geometry: bool,
    ) -> None:
        """Prepare; opens nothing. ServoError when `spec` does not speak `protocol`.

        `align_tolerance_counts`: largest goal-to-present distance at which torque may go on.
        `reset_geometry`: settings that move a joint's zero or direction are written too.
        """
        super().__init__(spec, port)
        if spec.bus is None or spec.bus.protocol != protocol:
            raise ServoError(
                f"robot {spec.robot!r} does not speak {protocol}",
                port=port,
                remedy="use the bus family named under `bus.protocol` in the robot file",
            )
        self.baud = baud or spec.bus.baud
        self.serial = SerialPort(port, self.baud, latency_s=latency_s)
        self.conversion = JointConversion(spec)
        self._align_tolerance = align_tolerance_counts
        self._reset_geometry = reset_geometry
        self._raw_limits: tuple[np.ndarray, np.ndarray] | None = None

    @property
    @abstractmethod
    def registers(self) -> RegisterLine:
        """The line, as far as single registers go."""

    @abstractmethod
    def settings(self, joint: int) -> tuple[Setting, ...]:
        """Return the settings that joint number `joint` needs."""

    # -- port ----------------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        """True between `open` and `close`."""
        return bool(self.serial.is_open)

    def close(self) -> None:
        """Close the port; never raises; leaves torque as it is."""
        self.serial.closePort()

    # -- goals ---------------------------------------------------------------------------

    def write_goal(self, q: Array) -> Array:
        """Send one goal per joint, (n,) [rad or m]; returns what the registers hold."""
        goal = np.asarray(q, dtype=np.float64)
        if goal.shape != (self.n,):
            raise ValueError(f"goal has shape {goal.shape}, expected ({self.n},)")
        raw = self.conversion.raw_from_position(goal).astype(np.int64)
        if self._raw_limits is not None:
            raw = np.clip(raw, *self._raw_limits)
        self.registers.sync_write(
            self.table["goal_position"],
            {id: int(count) for id, count in zip(self.ids, raw, strict=True)},
        )
        self.counters.goal_writes += 1
        return self.conversion.position_from_raw(raw)

    # -- torque --------------------------------------------------------------------------

    def enable_torque(self) -> None:
        """Switch torque on everywhere or nowhere; see ServoBus."""
        self._require_alignment()
        try:
            for id in self.ids:
                self._switch_on(id)
            on = self.torque_enabled()
            if not on.all():
                silent = [id for id, flag in zip(self.ids, on, strict=True) if not flag]
                raise ServoError(
                    f"servos {silent} on {self.port} accepted torque on but report it off",
                    port=self.port,
                    id=silent[0],
                    register="torque_enable",
                    remedy=self.torque_remedy,
                )
        except BusError:
            self.disable_torque()
            raise

    def _switch_on(self, id: int) -> None:
        self.registers.write(id, self.table["torque_enable"], 1)

    def _switch_off(self, id: int) -> None:
        self.registers.write(id, self.table["torque_enable"], 0)

    def _require_alignment(self) -> None:
        """Refuse torque while a goal register is far from the present position."""
        goal_register, present_register = (
            self.table["goal_position"],
            self.table["present_position"],
        )
        address, length = span(self.table, "goal_position", "present_position")
        far = []
        for id in self.ids:
            data = self.registers.read_bytes(id, address, length, name="goal_position")
            goal = goal_register.decode(data[: goal_register.size])
            present = present_register.decode(data[-present_register.size :])
            if abs(goal - present) > self._align_tolerance:
                far.append(f"id {id}: goal {goal}, present {present}")
        if far:
            raise ServoError(
                f"torque refused on {self.port}: goal registers differ from the present position "
                f"by more than {self._align_tolerance} counts ({'; '.join(far)})",
                port=self.port,
                register="goal_position",
                remedy="Write the present position as goal first; if it does not stick, the "
                "joint stands outside its Min/Max Position Limit: move it inside by hand",
            )

    def disable_torque(self) -> TorqueOffReport:
        """Switch torque off: all at once, then each by itself, whatever fails on the way."""
        released: list[int] = []
        failed: dict[int, str] = {}
        if not self.is_open:
            return TorqueOffReport((), {id: f"port {self.port} is not open" for id in self.ids})
        try:
            self.registers.sync_write(self.table["torque_enable"], {id: 0 for id in self.ids})
        except BusError as error:
            failed = {id: error.message for id in self.ids}
        for id in self.ids:
            try:
                self._switch_off(id)
                released.append(id)
                failed.pop(id, None)
            except BusError as error:
                failed[id] = error.message
        return TorqueOffReport(tuple(released), failed)

    def torque_enabled(self) -> BoolArray:
        """Ask every servo whether its torque is on, (n,)."""
        register = self.table["torque_enable"]
        return np.array([self.registers.read(id, register) == 1 for id in self.ids])

    # -- settings ------------------------------------------------------------------------

    def configure(self) -> list[str]:
        """Write the required settings that differ; learn the position limits.

        ServoError when an EEPROM setting must change while torque is on, or does not stick.
        """
        changed: list[str] = []
        limits: list[tuple[int, int]] = []
        for joint, id in enumerate(self.ids):
            table = self.read_table(id)
            limits.append(self._limits_in(table))
            for setting in self.settings(joint):
                present = table[setting.register]
                may = setting.ours or self._reset_geometry
                if present != setting.value and may:
                    self.write_setting(id, setting.register, setting.value)
                    changed.append(f"id {id}: {setting.register} {present} → {setting.value}")
        low, high = np.array(limits, dtype=np.int64).T
        self._raw_limits = (low, high)
        return changed

    def _limits_in(self, table: Mapping[str, int]) -> tuple[int, int]:
        """Return the lowest and highest goal that the servo takes [counts]."""
        return table["min_position_limit"], table["max_position_limit"]

    def write_setting(self, id: int, name: str, value: int) -> None:
        """Write a register so that it stays, and read it back.

        ServoError when the servo refuses or holds something else afterwards.
        """
        self._write_confirmed(id, name, value)

    def _write_confirmed(self, id: int, name: str, value: int) -> None:
        register = self.table[name]
        self.registers.write(id, register, value)
        holds = self.registers.read(id, register)
        if holds != value:
            self.counters.servo_errors += 1
            raise ServoError(
                f"servo {id} on {self.port}: {name} is {holds} after writing {value}",
                port=self.port,
                id=id,
                register=name,
                remedy="The servo does not take this value: compare with the table of its model "
                "and firmware; settings in EEPROM may be locked",
            )

    def read_table(self, id: int) -> dict[str, int]:
        """Return the registers below `table_length` of servo `id` by name, raw, from one read."""
        data = self.registers.read_bytes(id, 0, self.table_length, name="control table")
        return {
            register.name: register.decode(data[register.address : register.end])
            for register in self.table.values()
            if register.end <= self.table_length
        }
