# SPDX-License-Identifier: Apache-2.0
"""Feetech frames against the vendor's published examples; the parser finds its way after noise."""

from __future__ import annotations

import numpy as np
import pytest

from na_sim.feetech.packet import Instruction, PacketParser, checksum, frame

# FEETECH protocol manual (STS series): ping, read of the present position, its answer, write of
# position 2048 at 1000 steps/s, sync read and registered write with sums worked out by hand.
GOLDEN = [
    ("ff ff 01 02 01 fb", 1, 0x01, ""),
    ("ff ff 01 02 00 fc", 1, 0x00, ""),
    ("ff ff 01 04 02 38 02 be", 1, 0x02, "38 02"),
    ("ff ff 01 04 00 18 05 dd", 1, 0x00, "18 05"),
    ("ff ff 01 09 03 2a 00 08 00 00 e8 03 d5", 1, 0x03, "2a 00 08 00 00 e8 03"),
    ("ff ff fe 06 82 38 08 01 02 36", 0xFE, 0x82, "38 08 01 02"),
    ("ff ff fe 02 05 fa", 0xFE, 0x05, ""),
]


@pytest.mark.parametrize(("wire", "servo", "code", "parameters"), GOLDEN)
def test_golden_vectors_both_ways(wire: str, servo: int, code: int, parameters: str) -> None:
    data = bytes.fromhex(wire)
    assert frame(servo, code, bytes.fromhex(parameters)) == data
    (packet,) = PacketParser().feed(data)
    assert (packet.id, packet.code, packet.parameters.hex(" ")) == (servo, code, parameters)
    assert packet.consumed == len(data)


def test_the_sum_covers_everything_after_the_header() -> None:
    assert checksum(bytes.fromhex("01 02 01")) == 0xFB
    assert checksum(b"\xff" * 3) == 0x02


def test_byte_by_byte_is_the_same_as_at_once() -> None:
    data = b"".join(bytes.fromhex(wire) for wire, *_ in GOLDEN)
    parser = PacketParser()
    found = [packet for byte in data for packet in parser.feed(bytes((byte,)))]
    assert len(found) == len(GOLDEN) and parser.pending == 0


def test_a_damaged_packet_costs_only_itself() -> None:
    good = frame(3, Instruction.READ, b"\x38\x02")
    bad = bytearray(good)
    bad[5] ^= 0x40
    parser = PacketParser()
    assert [p.id for p in parser.feed(bytes(bad) + good)] == [3]
    assert parser.errors == 1


def test_data_that_looks_like_a_header_is_carried() -> None:
    packet = frame(1, 0, b"\xff\xff\x02\x04")
    (found,) = PacketParser().feed(packet)
    assert found.parameters == b"\xff\xff\x02\x04"


def test_noise_neither_raises_nor_hides_the_next_packet_for_long() -> None:
    random = np.random.default_rng(1)
    parser = PacketParser()
    for _ in range(200):
        list(parser.feed(random.integers(0, 256, 40, dtype=np.uint8).tobytes()))
    parser.reset()  # the gap between two packets
    assert [p.id for p in parser.feed(frame(7, Instruction.PING))] == [7]
