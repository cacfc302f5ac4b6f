# SPDX-License-Identifier: Apache-2.0
"""One register of a servo: where it lives, how its bytes are read, what it accepts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Register:
    """A field of a servo's control table.

    `access` is "r" or "rw"; `eeprom` fields keep their value without power and are locked while
    torque is on; `default` is the factory value (None: measured or unit-specific). `signed`
    fields are two's complement unless `sign_bit` names the sign bit of a sign-magnitude field.
    `minimum` and `maximum` bound what a write may hold (None: whatever fits).
    """

    name: str
    address: int
    size: int  # bytes: 1, 2 or 4, little endian
    access: str = "rw"
    eeprom: bool = False
    default: int | None = 0
    signed: bool = False
    minimum: int | None = None
    maximum: int | None = None
    unit: str = ""
    sign_bit: int | None = None

    @property
    def end(self) -> int:
        """Address of the first byte after the register."""
        return self.address + self.size

    @property
    def writable(self) -> bool:
        """Whether the bus may write it."""
        return "w" in self.access

    def decode(self, data: bytes | bytearray | memoryview) -> int:
        """Return the value held by `size` little-endian bytes."""
        if len(data) != self.size:
            raise ValueError(f"{self.name}: got {len(data)} bytes, expected {self.size}")
        raw = int.from_bytes(data, "little")
        return self.from_unsigned(raw)

    def from_unsigned(self, raw: int) -> int:
        """Return the signed meaning of the unsigned integer `raw` read from the bus."""
        if not self.signed:
            return raw
        if self.sign_bit is not None:
            magnitude = raw & ((1 << self.sign_bit) - 1)
            return -magnitude if raw >> self.sign_bit & 1 else magnitude
        half = 1 << (8 * self.size - 1)
        return raw - 2 * half if raw >= half else raw

    def encode(self, value: int) -> bytes:
        """Return `value` as little-endian bytes; ValueError when it does not fit."""
        return self.to_unsigned(value).to_bytes(self.size, "little")

    def to_unsigned(self, value: int) -> int:
        """Return the unsigned integer that carries `value`; ValueError when it does not fit."""
        bits = 8 * self.size
        if self.signed and self.sign_bit is not None:
            low, high = -(1 << self.sign_bit) + 1, (1 << self.sign_bit) - 1
        elif self.signed:
            low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
        else:
            low, high = 0, (1 << bits) - 1
        if not low <= value <= high:
            raise ValueError(
                f"{self.name}: {value} does not fit, expected {low} to {high} "
                f"({self.size} bytes, {'signed' if self.signed else 'unsigned'})"
            )
        if value >= 0:
            return value
        if self.sign_bit is not None:
            return -value | 1 << self.sign_bit
        return value + (1 << bits)

    def in_range(self, value: int) -> bool:
        """Whether a write of `value` lies inside the fixed bounds of the register."""
        return (self.minimum is None or value >= self.minimum) and (
            self.maximum is None or value <= self.maximum
        )


def by_name(registers: Iterable[Register]) -> dict[str, Register]:
    """Return the registers keyed by name, refusing a name used twice."""
    table: dict[str, Register] = {}
    for register in registers:
        if register.name in table:
            raise ValueError(f"register {register.name!r} is listed twice")
        table[register.name] = register
    return table


def span(table: Mapping[str, Register], first: str, last: str) -> tuple[int, int]:
    """Return (address, length in bytes) of one read covering `first` through `last`."""
    start, stop = table[first].address, table[last].end
    if stop <= start:
        raise ValueError(f"register {last!r} ends at {stop}, before {first!r} begins at {start}")
    return start, stop - start


def table_end(table: Mapping[str, Register]) -> int:
    """Return the address of the first byte after the table."""
    return max(register.end for register in table.values())
