# SPDX-License-Identifier: Apache-2.0
"""Feetech STS framing: FF FF, id, length, instruction or error, parameters, inverted sum.

Source: FEETECH "Smart serial bus servo communication protocol"; the frame is that of Dynamixel
Protocol 1.0 (ROBOTIS e-manual), whose published examples are used as test vectors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

HEADER = b"\xff\xff"
BROADCAST_ID = 0xFE
MAX_ID = 0xFD
MAX_LENGTH = 250  # bytes after the length field; longer claims are noise
_PREFIX = 4  # header, id, length


class Instruction(IntEnum):
    """Instruction byte."""

    PING = 0x01
    READ = 0x02
    WRITE = 0x03
    REG_WRITE = 0x04
    ACTION = 0x05
    SYNC_READ = 0x82
    SYNC_WRITE = 0x83


class HardwareError(IntEnum):
    """Bits of hardware_error_status, of unloading_condition and of every status packet."""

    INPUT_VOLTAGE = 0x01
    ENCODER = 0x02
    OVERHEATING = 0x04
    OVERCURRENT = 0x08
    OVERLOAD = 0x20


def checksum(body: bytes) -> int:
    """Return the inverted sum of id, length and everything up to the checksum."""
    return ~sum(body) & 0xFF


def frame(servo_id: int, code: int, parameters: bytes = b"") -> bytes:
    """Return a packet; `code` is the instruction, or the error field of a status packet."""
    body = bytes((servo_id, len(parameters) + 2, code)) + parameters
    return HEADER + body + bytes((checksum(body),))


@dataclass(frozen=True, slots=True)
class Packet:
    """A frame taken off the wire; `consumed` counts its bytes, noise before it included."""

    id: int
    code: int
    parameters: bytes
    consumed: int


class PacketParser:
    """Turn a byte stream into packets; a frame whose sum is wrong is skipped by its header alone.

    There is no stuffing: data may look like a header. A damaged length field therefore costs at
    most the bytes that it claims, and a gap in time ends the wait (see EmulatedBus).
    """

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._skipped = 0
        self.errors = 0

    @property
    def pending(self) -> int:
        """Number of bytes kept back, waiting for the rest of a packet."""
        return len(self._buffer)

    def reset(self) -> None:
        """Forget an unfinished packet, as a servo does after a gap between bytes."""
        self._buffer.clear()
        self._skipped = 0

    def feed(self, data: bytes) -> Iterator[Packet]:
        """Append `data` and yield every packet that is complete, in order."""
        self._buffer += data
        while (packet := self._next()) is not None:
            yield packet

    def _drop(self, count: int) -> None:
        del self._buffer[:count]
        self._skipped += count

    def _next(self) -> Packet | None:
        buffer = self._buffer
        while True:
            at = buffer.find(HEADER)
            if at < 0:
                self._drop(len(buffer) - int(buffer.endswith(b"\xff")))
                return None
            self._drop(at)
            if len(buffer) < _PREFIX:
                return None
            if buffer[2] == 0xFF or not 2 <= buffer[3] <= MAX_LENGTH:
                self._drop(1)
                continue
            total = _PREFIX + buffer[3]
            if len(buffer) < total:
                return None
            found = bytes(buffer[:total])
            if checksum(found[2:-1]) != found[-1]:
                self.errors += 1
                self._drop(1)
                continue
            packet = Packet(found[2], found[4], found[5:-1], total + self._skipped)
            del buffer[:total]
            self._skipped = 0
            return packet
