# SPDX-License-Identifier: Apache-2.0
"""What leaves through the vendor's SDK is what the manual prints; what comes back is scanned."""

from __future__ import annotations

from typing import Any

import pytest
from scservo_sdk import COMM_SUCCESS

from na_teleop.buses.feetech_packets import Status, StatusScanner, packet_handler


class Paper:
    """A port that keeps what is written to it."""

    def __init__(self) -> None:
        self.is_using = False
        self.written = b""

    def clearPort(self) -> None:  # noqa: N802
        """Nothing waits."""

    def writePort(self, packet: Any) -> int:  # noqa: N802
        """Keep the bytes."""
        self.written = bytes(packet)
        return len(packet)

    def setPacketTimeout(self, length: int) -> None:  # noqa: N802
        """No time passes here."""


@pytest.mark.parametrize(
    ("call", "arguments", "wire"),
    [
        ("readTx", (1, 56, 2), "ff ff 01 04 02 38 02 be"),
        (
            "writeTxOnly",
            (1, 42, 6, [0x00, 0x08, 0x00, 0x00, 0xE8, 0x03]),
            "ff ff 01 09 03 2a 00 08 00 00 e8 03 d5",
        ),
        ("syncReadTx", (56, 8, [1, 2], 2), "ff ff fe 06 82 38 08 01 02 36"),
        (
            "syncWriteTxOnly",
            (42, 2, [1, 0x00, 0x08, 2, 0x10, 0x08], 6),
            "ff ff fe 0a 83 2a 02 01 00 08 02 10 08 25",
        ),
    ],
)
def test_golden_vectors_leave_through_the_sdk(call: str, arguments: Any, wire: str) -> None:
    port = Paper()
    result = getattr(packet_handler(), call)(port, *arguments)
    assert result == COMM_SUCCESS
    assert port.written.hex(" ") == wire


GOOD = bytes.fromhex("ff ff 01 04 00 18 05 dd")


def test_replies_are_found_among_noise_and_in_pieces() -> None:
    scanner = StatusScanner({2})
    assert scanner.feed(b"\x00\xff" + GOOD[:5]) == []
    assert scanner.feed(GOOD[5:] + b"\xff") == [Status(1, 0, b"\x18\x05")]
    assert scanner.damaged == 0 and scanner.received == len(GOOD) + 3


def test_a_damaged_reply_does_not_swallow_its_neighbour() -> None:
    for at in range(len(GOOD)):
        damaged = bytearray(GOOD)
        damaged[at] ^= 0x10
        assert Status(1, 0, b"\x18\x05") in StatusScanner({2}).feed(bytes(damaged) + GOOD), at


def test_replies_of_another_length_are_not_believed() -> None:
    assert StatusScanner({3}).feed(GOOD) == []


def test_an_unfinished_reply_counts() -> None:
    scanner = StatusScanner({2})
    scanner.feed(GOOD[:6])
    assert scanner.finish() == 1
