# SPDX-License-Identifier: Apache-2.0
"""The register file of one servo: bytes, access rules, limits, indirect addressing.

Source: ROBOTIS e-manual, control table pages of the X series; what the manual leaves open is
listed in docs/emulator.md.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from na_core.control_tables import Register, control_table, table_end
from na_sim.dynamixel.instructions import StatusError

POSITION_MODE = 3
_MULTI_TURN_MODES = (4, 5)
_ALL_MODES = frozenset({0, 1, 3, 4, 5, 16})
_MODES_WITHOUT_CURRENT = frozenset({1, 3, 4, 16})
_DRIVE_MODE_BITS = 0x0D  # reverse, time-based profile, torque on by goal update
WATCHDOG_ERROR = -1

GOALS = ("goal_pwm", "goal_current", "goal_velocity", "goal_position")

# Writable register → the limit register that bounds its magnitude.
_LIMITED_BY = {
    "goal_pwm": "pwm_limit",
    "goal_current": "current_limit",
    "goal_velocity": "velocity_limit",
}

# (size in bytes, signed) → struct format.
_FORMATS = {
    (1, False): "B",
    (2, False): "H",
    (4, False): "I",
    (1, True): "b",
    (2, True): "h",
    (4, True): "i",
}
_MOTION = struct.Struct("<HBB")  # realtime_tick, moving, moving_status
_PRESENT = struct.Struct("<hhiiiiHB")  # present_pwm … present_temperature


class RegisterError(Exception):
    """An access that the servo answers with `error` (1 to 7) in its status packet."""

    def __init__(self, error: StatusError, reason: str) -> None:
        super().__init__(reason)
        self.error = error


class ServoRegisters:
    """Bytes of a control table with the rules that the bus has to obey.

    `get` and `put` are the servo's own access: no rules. `read`, `check` and `write` are the
    bus's access and raise RegisterError. Values are raw register units.
    """

    def __init__(self, model: str) -> None:
        self.table = control_table(model)
        self.end = table_end(self.table)
        self.data = bytearray(self.end)
        # Compiled once: the bus asks for some 300 values per control tick.
        self._unpack = {
            name: (struct.Struct("<" + _FORMATS[r.size, r.signed]).unpack_from, r.address)
            for name, r in self.table.items()
        }
        self._starting_at = {r.address: r for r in self.table.values()}
        self._tick_at = self.table["realtime_tick"].address
        self._present_at = self.table["present_pwm"].address
        self._modes = _ALL_MODES if "goal_current" in self.table else _MODES_WITHOUT_CURRENT
        # Address of an indirect data byte → register holding the address it stands for.
        self._indirect = {
            r.address: self.table[name.replace("data", "address")]
            for name, r in self.table.items()
            if name.startswith("indirect_data_")
        }
        self._first_indirect = min(self._indirect)
        self.load_defaults(self.table.values())

    def load_defaults(self, registers: Iterable[Register]) -> None:
        """Give `registers` their factory values (0 where there is none)."""
        for register in registers:
            self.put(register.name, register.default or 0)

    def load_ram_defaults(self) -> None:
        """Forget everything that does not survive loss of power."""
        self.load_defaults(r for r in self.table.values() if not r.eeprom)

    def get(self, name: str) -> int:
        """Return the value of register `name`."""
        unpack, address = self._unpack[name]
        value: int = unpack(self.data, address)[0]
        return value

    def get_or(self, name: str, absent: int) -> int:
        """Return the value of `name`, or `absent` where the model lacks the register."""
        return self.get(name) if name in self.table else absent

    def put(self, name: str, value: int) -> None:
        """Set register `name`; ValueError when the value does not fit its bytes."""
        register = self.table[name]
        self.data[register.address : register.end] = register.encode(value)

    def put_motion(self, tick_ms: int, moving: bool, status: int) -> None:
        """Set realtime_tick [ms, wraps at 32768], moving and moving_status."""
        _MOTION.pack_into(self.data, self._tick_at, tick_ms & 0x7FFF, moving, status)

    def put_present(self, values: tuple[int, ...]) -> None:
        """Set present_pwm to present_temperature, in register order, saturating each."""
        pwm, current, velocity, position, v_traj, p_traj, voltage, temperature = values
        _PRESENT.pack_into(
            self.data,
            self._present_at,
            _clip(pwm, 15),
            _clip(current, 15),
            _clip(velocity, 31),
            _clip(position, 31),
            _clip(v_traj, 31),
            _clip(p_traj, 31),
            max(0, min(0xFFFF, voltage)),
            max(0, min(0xFF, temperature)),
        )

    def read(self, address: int, length: int) -> bytes:
        """Return `length` bytes from `address`; undefined gaps inside the table read as 0."""
        if length == 0 or address + length > self.end:
            raise RegisterError(
                StatusError.ACCESS,
                f"read of {length} bytes at {address}: the table ends at {self.end}",
            )
        if address + length <= self._first_indirect:
            return bytes(self.data[address : address + length])
        return bytes(self.data[self._resolve(a)] for a in range(address, address + length))

    def check(self, address: int, data: bytes) -> list[tuple[Register, int]]:
        """Return the registers that a write would set, with values; RegisterError if refused."""
        register = self._starting_at.get(address)
        if register is not None and register.size == len(data) and address not in self._indirect:
            pieces = [(register, data)]
        else:
            pieces = self._split(address, data)
        values = [(r, self._check_one(r, piece)) for r, piece in pieces]
        for register, value in values:
            self._check_limits(register, value)
        return values

    def write(self, address: int, data: bytes) -> list[str]:
        """Apply a write whole or not at all; return the names of the registers set."""
        values = self.check(address, data)
        for register, value in values:
            self.put(register.name, value)
        return [register.name for register, _ in values]

    def _resolve(self, address: int) -> int:
        """Return the address that `address` stands for, one level of indirection."""
        pointer = self._indirect.get(address)
        if pointer is None:
            return address
        target = self.get(pointer.name)
        # A pointer to an indirect data byte (the factory value) means plain storage.
        return address if target in self._indirect or target >= self.end else target

    def _split(self, address: int, data: bytes) -> list[tuple[Register, bytes]]:
        """Return the whole registers that `data` covers, following indirect addresses."""
        if address + len(data) > self.end:
            raise RegisterError(
                StatusError.ACCESS,
                f"write of {len(data)} bytes at {address}: the table ends at {self.end}",
            )
        targets = [self._resolve(a) for a in range(address, address + len(data))]
        pieces: list[tuple[Register, bytes]] = []
        at = 0
        while at < len(targets):
            register = self._starting_at.get(targets[at])
            if register is None:
                inside = any(r.address < targets[at] < r.end for r in self.table.values())
                raise RegisterError(
                    StatusError.DATA_LENGTH if inside else StatusError.ACCESS,
                    f"no register begins at {targets[at]}",
                )
            expected = list(range(register.address, register.end))
            if targets[at : at + register.size] != expected:
                raise RegisterError(
                    StatusError.DATA_LENGTH,
                    f"{register.name} needs {register.size} bytes at {register.address}",
                )
            pieces.append((register, data[at : at + register.size]))
            at += register.size
        return pieces

    def _check_one(self, register: Register, data: bytes) -> int:
        """Return the value of `data`, refusing what the register can never take."""
        if not register.writable:
            raise RegisterError(StatusError.ACCESS, f"{register.name} is read-only")
        if register.eeprom and self.get("torque_enable"):
            raise RegisterError(StatusError.ACCESS, f"{register.name} is locked while torque is on")
        value = register.decode(data)
        in_range = register.in_range(value)
        if register.name == "operating_mode":
            in_range = value in self._modes
        elif register.name == "drive_mode":
            in_range = value & ~_DRIVE_MODE_BITS == 0
        elif register.name == "bus_watchdog" and self.get("bus_watchdog") == WATCHDOG_ERROR:
            in_range = value == 0
        elif register.name in GOALS and self.get("bus_watchdog") == WATCHDOG_ERROR:
            raise RegisterError(
                StatusError.DATA_RANGE, f"{register.name} is read-only: the bus watchdog tripped"
            )
        if not in_range:
            raise RegisterError(StatusError.DATA_RANGE, f"{register.name} cannot be {value}")
        return value

    def _check_limits(self, register: Register, value: int) -> None:
        """Refuse what exceeds a limit that the user configured."""
        limit = _LIMITED_BY.get(register.name)
        if limit is not None:
            low, high = -self.get(limit), self.get(limit)
        elif register.name == "goal_position" and self.get("operating_mode") == POSITION_MODE:
            low, high = self.get("min_position_limit"), self.get("max_position_limit")
        else:
            return
        if not low <= value <= high:
            raise RegisterError(
                StatusError.DATA_LIMIT, f"{register.name} {value} is outside {low} to {high}"
            )


def _clip(value: int, bits: int) -> int:
    return max(-(1 << bits), min((1 << bits) - 1, value))
