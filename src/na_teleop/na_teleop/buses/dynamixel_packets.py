# SPDX-License-Identifier: Apache-2.0
"""Dynamixel Protocol 2.0 packets: dynamixel_sdk's handler with its stuffing mended, and a scanner.

Protocol: https://emanual.robotis.com/docs/en/dxl/protocol2/
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dynamixel_sdk import Protocol2PacketHandler

HEADER = b"\xff\xff\xfd"
FULL_HEADER = b"\xff\xff\xfd\x00"
STATUS = 0x55
INST_PING = 0x01
INST_READ = 0x02
INST_SYNC_READ = 0x82
INST_FAST_SYNC_READ = 0x8A
BROADCAST = 0xFE
ALERT_BIT = 0x80
PREFIX = 7  # header 3, reserved 1, id 1, length 2
MIN_STATUS = 11  # prefix, instruction, error, CRC 2

ERROR_TEXT = {
    1: "it failed to process the instruction",
    2: "it does not know the instruction",
    3: "it received a wrong checksum",
    4: "the value is out of range",
    5: "the data length is wrong",
    6: "the value exceeds a limit register",
    7: "access refused (read-only, or EEPROM while torque is on)",
}


def _table() -> tuple[int, ...]:
    values = []
    for byte in range(256):
        crc = byte << 8
        for _ in range(8):
            crc = (crc << 1) ^ 0x8005 if crc & 0x8000 else crc << 1
        values.append(crc & 0xFFFF)
    return tuple(values)


CRC_TABLE = _table()


def crc16(data: Any) -> int:
    """Return the CRC-16 (polynomial 0x8005, start 0, no reflection) of `data`."""
    crc = 0
    for byte in data:
        crc = ((crc << 8) & 0xFF00) ^ CRC_TABLE[(crc >> 8) ^ byte]
    return crc


def unstuff(body: bytes) -> bytes:
    """Remove the byte that follows each FF FF FD inside a packet."""
    return body.replace(b"\xff\xff\xfd\xfd", HEADER)


def stuff(body: bytes) -> bytes:
    """Add an FD after each FF FF FD, so that data cannot look like a header."""
    return body.replace(HEADER, b"\xff\xff\xfd\xfd")


class PacketHandler(Protocol2PacketHandler):  # type: ignore[misc]
    """dynamixel_sdk's packet handler with three of its methods replaced.

    In 4.1.0 `addStuffing` builds the stuffed packet and drops it, and `removeStuffing` looks at
    bytes it has already overwritten when a packet holds two stuffed places; the checksum
    routine rebuilds its table for each packet.
    """

    def updateCRC(self, crc_accum: int, data_blk_ptr: Any, data_blk_size: int) -> int:  # noqa: N802
        """Continue the checksum `crc_accum` over the first `data_blk_size` bytes."""
        crc = crc_accum
        for byte in data_blk_ptr[:data_blk_size]:
            crc = ((crc << 8) & 0xFF00) ^ CRC_TABLE[(crc >> 8) ^ byte]
        return crc

    def addStuffing(self, packet: list[int]) -> list[int]:  # noqa: N802
        """Stuff `packet` in place and mend its length field."""
        length = packet[5] | packet[6] << 8
        body = stuff(bytes(packet[PREFIX : PREFIX + length - 2]))
        packet[PREFIX:] = [*body, 0, 0]
        packet[5], packet[6] = (len(body) + 2) & 0xFF, (len(body) + 2) >> 8
        return packet

    def removeStuffing(self, packet: list[int]) -> list[int]:  # noqa: N802
        """Return `packet` without stuffing and with its length field mended."""
        length = packet[5] | packet[6] << 8
        body = unstuff(bytes(packet[PREFIX : PREFIX + length - 2]))
        tail = packet[PREFIX + length - 2 : PREFIX + length]
        size = len(body) + 2
        return [*packet[:5], size & 0xFF, size >> 8, *body, *tail]


@dataclass(frozen=True, slots=True)
class Status:
    """One status packet: sender, error field (alert bit included), data."""

    id: int
    error: int
    data: bytes


class StatusScanner:
    """Finds intact status packets in a byte stream; damage costs one packet, not its neighbours.

    A damaged packet is skipped by its header alone, so that a wrong length field cannot swallow
    the packets behind it.
    """

    def __init__(self, *, max_data: int, stuffed: bool = True) -> None:
        """`max_data`: longest data field to believe [bytes]; `stuffed`: remove stuffing."""
        self._max_length = 4 + max_data + (max_data // 3 + 1 if stuffed else 0)
        self._stuffed = stuffed
        self._bytes = bytearray()
        self.corrupt = 0
        self.damaged = 0  # of these: complete, but with a wrong checksum
        self.received = 0  # bytes

    def feed(self, data: bytes) -> list[Status]:
        """Add bytes; return the packets they complete."""
        self._bytes += data
        self.received += len(data)
        found: list[Status] = []
        while True:
            start = self._bytes.find(FULL_HEADER)
            if start < 0:
                del self._bytes[: max(0, len(self._bytes) - 3)]
                return found
            del self._bytes[:start]
            if len(self._bytes) < PREFIX + 1:
                return found
            length = self._bytes[5] | self._bytes[6] << 8
            if self._bytes[7] != STATUS or not 4 <= length <= self._max_length:
                if self._bytes[7] == STATUS:
                    self.corrupt += 1
                del self._bytes[:4]
                continue
            end = PREFIX + length
            if len(self._bytes) < end:
                return found
            packet = bytes(self._bytes[:end])
            if crc16(packet[:-2]) != packet[-2] | packet[-1] << 8:
                self.corrupt += 1
                self.damaged += 1
                del self._bytes[:4]
                continue
            body = packet[PREFIX:-2]
            if self._stuffed:
                body = unstuff(body)
            found.append(Status(packet[4], body[1], body[2:]))
            del self._bytes[:end]

    def finish(self) -> int:
        """Count an unfinished packet as corrupt; return the total of corrupt packets."""
        if len(self._bytes) >= PREFIX and self._bytes.startswith(FULL_HEADER):
            self.corrupt += 1
        self._bytes.clear()
        return self.corrupt


def split_fast_reply(status: Status, data_length: int) -> list[Status]:
    """Split the one reply of a fast sync read into one status per servo.

    On the wire: error, id, data, CRC of servo 1, error, id, data, CRC of servo 2, … The scanner
    has taken the first error byte and the last CRC, which covers everything.
    """
    stream = bytes([status.error]) + status.data
    block = 2 + data_length + 2
    parts: list[Status] = []
    for start in range(0, len(stream), block):
        piece = stream[start : start + 2 + data_length]
        if len(piece) < 2 + data_length:
            break
        if not piece[0] & ~ALERT_BIT:  # with an error number the data means nothing
            parts.append(Status(piece[1], piece[0], piece[2:]))
    return parts
