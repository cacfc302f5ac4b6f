# SPDX-License-Identifier: Apache-2.0
"""Feetech packets: the vendor SDK's handler for what is sent, a scanner for what comes back.

scservo_sdk's own receiver clears the line at every question, gives up at the first damaged packet
and waits in a busy loop; the scanner picks replies out of the stream by id instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from scservo_sdk import PacketHandler

HEADER = b"\xff\xff"
INST_PING = 0x01
BROADCAST = 0xFE
PREFIX = 4  # header 2, id, length
MIN_STATUS = 6  # prefix, error, checksum
LITTLE_ENDIAN = 0  # the STS series; SCS servos are big endian
HARDWARE_ERROR_BITS = {
    0: "input voltage",
    1: "encoder",
    2: "overheating",
    3: "overcurrent",
    5: "overload",
}


def packet_handler() -> Any:
    """Return the SDK's packet handler for the STS series."""
    return PacketHandler(LITTLE_ENDIAN)


def checksum(body: bytes | bytearray) -> int:
    """Return the inverted sum of everything between header and checksum."""
    return ~sum(body) & 0xFF


@dataclass(frozen=True, slots=True)
class Status:
    """One status packet: sender, hardware error bits, data."""

    id: int
    error: int
    data: bytes


class StatusScanner:
    """Finds intact status packets of known length in a byte stream.

    Nothing is stuffed: data may hold a header. A header whose length is not among `lengths` [data
    bytes] is noise, and a packet whose sum is wrong is skipped by its first byte alone.
    """

    def __init__(self, lengths: set[int]) -> None:
        """Believe packets with these numbers of data bytes only."""
        self._lengths = {length + 2 for length in lengths}
        self._bytes = bytearray()
        self.damaged = 0
        self.received = 0

    def feed(self, data: bytes) -> list[Status]:
        """Add bytes; return the packets they complete."""
        self._bytes += data
        self.received += len(data)
        found: list[Status] = []
        while True:
            start = self._bytes.find(HEADER)
            if start < 0:
                del self._bytes[: max(0, len(self._bytes) - 1)]
                return found
            del self._bytes[:start]
            if len(self._bytes) < PREFIX:
                return found
            if self._bytes[2] >= BROADCAST or self._bytes[3] not in self._lengths:
                del self._bytes[:1]
                continue
            end = PREFIX + self._bytes[3]
            if len(self._bytes) < end:
                return found
            packet = bytes(self._bytes[:end])
            if checksum(packet[2:-1]) != packet[-1]:
                self.damaged += 1
                del self._bytes[:1]
                continue
            found.append(Status(packet[2], packet[4], packet[5:-1]))
            del self._bytes[:end]

    def finish(self) -> int:
        """Return how many packets were incomplete."""
        left = len(self._bytes) >= PREFIX
        self._bytes.clear()
        return int(left)
