# SPDX-License-Identifier: Apache-2.0
"""Dynamixel Protocol 2.0 framing: CRC-16, byte stuffing and a parser that finds its feet again.

Source: ROBOTIS e-manual, "DYNAMIXEL Protocol 2.0" and "CRC" pages.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

HEADER = b"\xff\xff\xfd\x00"
BROADCAST_ID = 0xFE
MAX_ID = 0xFC
STATUS = 0x55
MAX_LENGTH = 1024  # bytes after the length field; longer claims are noise

_START = b"\xff\xff\xfd"
_STUFFED = b"\xff\xff\xfd\xfd"
_PREFIX = 7  # header, reserved, id, length


def _crc_table() -> tuple[int, ...]:
    """Return the table of CRC-16/BUYPASS: polynomial 0x8005, start 0, most significant first."""
    table = []
    for byte in range(256):
        value = byte << 8
        for _ in range(8):
            value = (value << 1) ^ (0x8005 if value & 0x8000 else 0)
        table.append(value & 0xFFFF)
    return tuple(table)


_CRC_TABLE = _crc_table()


def crc16(data: bytes | bytearray, start: int = 0) -> int:
    """Return the CRC of `data`, continuing from the CRC `start` of earlier bytes."""
    value = start
    for byte in data:
        value = ((value << 8) ^ _CRC_TABLE[(value >> 8) ^ byte]) & 0xFFFF
    return value


def stuff(body: bytes) -> bytes:
    """Return `body` (instruction and parameters) with FF FF FD made FF FF FD FD."""
    return body.replace(_START, _STUFFED)


def unstuff(body: bytes) -> bytes:
    """Undo `stuff`."""
    return body.replace(_STUFFED, _START)


def _frame(servo_id: int, body: bytes) -> bytes:
    stuffed = stuff(body) if _START in body else body
    packet = HEADER + bytes((servo_id,)) + (len(stuffed) + 2).to_bytes(2, "little") + stuffed
    return packet + crc16(packet).to_bytes(2, "little")


def instruction_packet(servo_id: int, instruction: int, parameters: bytes = b"") -> bytes:
    """Return a complete instruction packet as a controller sends it."""
    return _frame(servo_id, bytes((instruction,)) + parameters)


def status_packet(servo_id: int, error: int, parameters: bytes = b"") -> bytes:
    """Return a complete status packet as a servo sends it; `error` includes the alert bit."""
    return _frame(servo_id, bytes((STATUS, error)) + parameters)


def fast_status_header(blocks_length: int) -> bytes:
    """Return the head of a fast sync/bulk read status: all servos share this one packet.

    `blocks_length` is the sum over servos of 1 (error) + 1 (id) + data + 2 (CRC) bytes.
    """
    length = 1 + blocks_length
    return HEADER + bytes((BROADCAST_ID,)) + length.to_bytes(2, "little") + bytes((STATUS,))


@dataclass(frozen=True, slots=True)
class Packet:
    """A frame taken off the wire; `crc_ok` is False when its CRC did not match.

    `consumed` counts the bytes it took, noise before it included: that is its time on the wire.
    """

    id: int
    instruction: int
    parameters: bytes
    crc_ok: bool
    consumed: int


class PacketParser:
    """Turn a byte stream into packets, skipping noise and never trusting a length field blindly.

    Stuffing keeps FF FF FD x (x ≠ FD) out of every packet body, so meeting it inside a body means
    that the packet around it was cut off: the parser drops that one and starts again there.
    """

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._skipped = 0

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

    def _seek_header(self) -> bool:
        """Drop noise up to a plausible header; False when there is none (yet)."""
        buffer = self._buffer
        while True:
            at = buffer.find(_START)
            if at < 0:
                # The tail may be the beginning of a header.
                keep = 2 if buffer.endswith(b"\xff\xff") else int(buffer.endswith(b"\xff"))
                self._drop(len(buffer) - keep)
                return False
            self._drop(at)
            if len(buffer) < _PREFIX:
                if len(buffer) > 3 and buffer[3] != 0:
                    self._drop(1)
                    continue
                return False
            length = buffer[5] | buffer[6] << 8
            usable_id = buffer[4] <= MAX_ID or buffer[4] == BROADCAST_ID
            if buffer[3] == 0 and usable_id and 3 <= length <= MAX_LENGTH:
                return True
            self._drop(1)

    def _next(self) -> Packet | None:
        buffer = self._buffer
        while self._seek_header():
            length = buffer[5] | buffer[6] << 8
            total = _PREFIX + length
            body_end = min(len(buffer), total - 2)
            inner = self._inner_header(body_end)
            if inner:
                self._drop(inner)
                continue
            if len(buffer) < total:
                return None
            frame = bytes(buffer[:total])
            crc_ok = crc16(frame[:-2]) == frame[-2] | frame[-1] << 8
            # After a CRC error keep all but the header: the next packet may have begun inside.
            used = total if crc_ok else len(_START)
            body = unstuff(frame[_PREFIX:-2])
            packet = Packet(frame[4], body[0], body[1:], crc_ok, used + self._skipped)
            del buffer[:used]
            self._skipped = 0
            return packet
        return None

    def _inner_header(self, body_end: int) -> int:
        """Return where a new header begins inside the body, 0 when nowhere."""
        at = self._buffer.find(_START, _PREFIX, body_end)
        while at > 0:
            after = at + 3
            if after >= len(self._buffer):
                return 0
            if self._buffer[after] != 0xFD:
                return at
            at = self._buffer.find(_START, after, body_end)
        return 0
