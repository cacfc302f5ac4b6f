# SPDX-License-Identifier: Apache-2.0
"""The memory table of one STS servo: sign-magnitude numbers, EEPROM that a lock keeps from storing.

Source: FEETECH memory table of the STS3215; what it leaves open is listed in docs/emulator.md.
"""

from __future__ import annotations

from na_core.control_tables import Register, control_table, table_end

TABLE_END = 87  # bytes that a servo answers for; registers past 70 are undocumented factory data


class ServoRegisters:
    """Bytes in force and, beside them, the EEPROM that is loaded at power-on.

    With `lock` 1 a write to an EEPROM register takes effect but is forgotten at power-off; with
    `lock` 0 it is stored as well. Values are raw register units.
    """

    def __init__(self, model: str) -> None:
        self.table = control_table(model)
        self.end = max(TABLE_END, table_end(self.table))
        self.data = bytearray(self.end)
        self._stored = bytearray(self.end)
        self._starting_at = {r.address: r for r in self.table.values()}
        for register in self.table.values():
            self.put(register.name, register.default or 0)
            if register.eeprom:
                self.store(register)

    def get(self, name: str) -> int:
        """Return the value in force of register `name`."""
        register = self.table[name]
        return register.decode(self.data[register.address : register.end])

    def put(self, name: str, value: int) -> None:
        """Set the value in force, no rules; ValueError when it does not fit its bytes."""
        register = self.table[name]
        self.data[register.address : register.end] = register.encode(value)

    def put_clipped(self, name: str, value: int) -> None:
        """Set the value in force, saturated at what the register can hold."""
        register = self.table[name]
        if register.sign_bit is not None:
            most = (1 << register.sign_bit) - 1
            low, high = -most, most
        else:
            low, high = 0, (1 << 8 * register.size) - 1
        self.put(name, max(low, min(high, value)))

    def store(self, register: Register) -> None:
        """Keep the value in force for the next power-on."""
        where = slice(register.address, register.end)
        self._stored[where] = self.data[where]

    def stored(self, name: str) -> int:
        """Return what EEPROM holds of register `name`."""
        register = self.table[name]
        return register.decode(self._stored[register.address : register.end])

    def power_cycle(self) -> None:
        """Load EEPROM and forget RAM."""
        for register in self.table.values():
            where = slice(register.address, register.end)
            if register.eeprom:
                self.data[where] = self._stored[where]
            else:
                self.put(register.name, register.default or 0)

    def read(self, address: int, length: int) -> bytes:
        """Return `length` bytes from `address`; what lies past the table reads as 0."""
        image = bytes(self.data[address : address + length])
        return image + bytes(length - len(image))

    def write(self, address: int, data: bytes, *, eeprom_locked: bool = False) -> list[str]:
        """Apply the whole registers that `data` covers; return the names of those that were set.

        Nothing is refused aloud: read-only registers, values out of range and registers covered
        by halves keep what they had. `eeprom_locked`: EEPROM registers do as well.
        """
        names: list[str] = []
        at = 0
        while at < len(data):
            register = self._starting_at.get(address + at)
            if register is None or at + register.size > len(data):
                at += 1
                continue
            piece = data[at : at + register.size]
            at += register.size
            value = register.decode(piece)
            locked = register.eeprom and eeprom_locked
            if not register.writable or locked or not register.in_range(value):
                continue
            self.put(register.name, value)
            names.append(register.name)
            if register.eeprom and not self.get("lock"):
                self.store(register)
        return names
