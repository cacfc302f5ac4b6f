# SPDX-License-Identifier: Apache-2.0
"""Framing: the byte vectors of the e-manual, stuffing, and finding the way back after noise."""

from __future__ import annotations

import numpy as np
import pytest

from na_sim.dynamixel.packet import (
    BROADCAST_ID,
    Packet,
    PacketParser,
    crc16,
    instruction_packet,
    status_packet,
    stuff,
    unstuff,
)


def h(text: str) -> bytes:
    return bytes.fromhex(text)


# What the e-manual's protocol page prints: id, instruction, parameters, packet.
INSTRUCTIONS = [
    (1, 0x01, "", "FFFFFD00 01 0300 01 194E"),
    (BROADCAST_ID, 0x01, "", "FFFFFD00 FE 0300 01 3142"),
    (1, 0x02, "84000400", "FFFFFD00 01 0700 02 84000400 1D15"),
    (1, 0x03, "740000020000", "FFFFFD00 01 0900 03 740000020000 CA89"),
    (1, 0x04, "6800C8000000", "FFFFFD00 01 0900 04 6800C8000000 AE8E"),
    (1, 0x05, "", "FFFFFD00 01 0300 05 02CE"),
    (1, 0x06, "01", "FFFFFD00 01 0400 06 01 A1E6"),
    (1, 0x08, "", "FFFFFD00 01 0300 08 2F4E"),
    (1, 0x10, "0144584C22", "FFFFFD00 01 0800 10 0144584C22 B1DC"),
    (BROADCAST_ID, 0x82, "840004000102", "FFFFFD00 FE 0900 82 840004000102 CEFA"),
    (
        BROADCAST_ID,
        0x83,
        "74000400 0196000000 02AA000000",
        "FFFFFD00 FE 1100 83 74000400 0196000000 02AA000000 8287",
    ),
    (BROADCAST_ID, 0x8A, "84000400030704", "FFFFFD00 FE 0A00 8A 84000400 030704 20F2"),
    (BROADCAST_ID, 0x92, "0190000200 0292000100", "FFFFFD00FE0D0092 0190000200 0292000100 1A05"),
    (
        BROADCAST_ID,
        0x93,
        "0120000200A000 021F00010050",
        "FFFFFD00FE100093 0120000200A000 021F00010050 B768",
    ),
]
STATUSES = [
    (1, "060426", "FFFFFD00 01 0700 55 00 060426 655D"),
    (2, "060426", "FFFFFD00 02 0700 55 00 060426 6F6D"),
    (1, "A6000000", "FFFFFD00 01 0800 55 00 A6000000 8CC0"),
    (2, "1F080000", "FFFFFD00 02 0800 55 00 1F080000 BABE"),
    (1, "", "FFFFFD00 01 0400 55 00 A10C"),
    (1, "7700", "FFFFFD00 01 0600 55 00 7700 C369"),
    (2, "24", "FFFFFD00 02 0500 55 00 24 8BA9"),
]


@pytest.mark.parametrize(("servo_id", "instruction", "parameters", "packet"), INSTRUCTIONS)
def test_instruction_packets_match_the_manual(
    servo_id: int, instruction: int, parameters: str, packet: str
) -> None:
    assert instruction_packet(servo_id, instruction, h(parameters)) == h(packet)
    (parsed,) = PacketParser().feed(h(packet))
    assert parsed == Packet(servo_id, instruction, h(parameters), True, len(h(packet)))


@pytest.mark.parametrize(("servo_id", "parameters", "packet"), STATUSES)
def test_status_packets_match_the_manual(servo_id: int, parameters: str, packet: str) -> None:
    assert status_packet(servo_id, 0, h(parameters)) == h(packet)


def test_crc_of_the_shared_status_runs_over_earlier_crcs() -> None:
    # Fast sync read example of the manual: every block's CRC covers all bytes before it.
    first = h("FFFFFD00 FE 1900 55 00 03 A6000000")
    second = first + h("8408 00 07 1F080000")
    third = second + h("16CA 00 04 FF030000")
    assert [crc16(x) for x in (first, second, third)] == [0x0884, 0xCA16, 0x9ED1]


@pytest.mark.parametrize(
    "body",
    [b"\xff\xff\xfd", b"\xff\xff\xfd\xff\xff\xfd", b"\x03\xff\xff\xff\xfd\xfd", b"\xff" * 5],
)
def test_stuffing_hides_headers_and_is_undone(body: bytes) -> None:
    wire = stuff(body)
    assert unstuff(wire) == body
    at = wire.find(b"\xff\xff\xfd")
    while at >= 0:
        assert wire[at + 3 : at + 4] == b"\xfd"
        at = wire.find(b"\xff\xff\xfd", at + 3)


def test_stuffed_packet_survives_the_parser() -> None:
    parameters = b"\x74\x00" + b"\xff\xff\xfd\x00"
    (parsed,) = PacketParser().feed(instruction_packet(1, 3, parameters))
    assert (parsed.parameters, parsed.crc_ok) == (parameters, True)


def test_packet_may_arrive_byte_by_byte() -> None:
    parser = PacketParser()
    packet = instruction_packet(7, 3, b"\x74\x00\xff\xff\xfd\x01")
    parsed = [p for byte in packet for p in parser.feed(bytes((byte,)))]
    assert [p.parameters for p in parsed] == [b"\x74\x00\xff\xff\xfd\x01"]
    assert parser.pending == 0


PING = instruction_packet(1, 1)


@pytest.mark.parametrize(
    "noise",
    [
        b"\x00\x01\x02",
        b"\xff\xff",
        b"\xff\xff\xfd",
        b"\xff\xff\xfd\x00",
        b"\xff\xff\xfd\x00\x01\x03\x00",
        b"\xff\xff\xfd\x00\x01\x00\x02\x03",  # claims 512 bytes that never come
        b"\xff\xff\xfd\x00\xff\x03\x00\x01",  # id 255 cannot be addressed
        b"\xff\xff\xfd\x00\x01\xff\xff\x01",  # longer than any packet
        b"\xff\xff\xfd\x00\x01\x02\x00\x01",  # shorter than any packet
        PING[:-1],
    ],
)
def test_next_packet_is_found_after(noise: bytes) -> None:
    parsed = [p for p in PacketParser().feed(noise + PING) if p.crc_ok]
    assert [(p.id, p.instruction) for p in parsed] == [(1, 1)]


def test_wrong_crc_is_reported_and_the_next_packet_found() -> None:
    broken = bytearray(instruction_packet(1, 3, b"\x40\x00\x01"))
    broken[-1] ^= 0x10
    parsed = list(PacketParser().feed(bytes(broken) + PING))
    assert [p.crc_ok for p in parsed] == [False, True]
    assert sum(p.consumed for p in parsed) == len(broken) + len(PING)


def test_noise_counts_as_wire_time_of_the_packet_after_it() -> None:
    (parsed,) = PacketParser().feed(b"\x00" * 5 + PING)
    assert parsed.consumed == 5 + len(PING)


def test_reset_forgets_an_unfinished_packet() -> None:
    parser = PacketParser()
    assert list(parser.feed(PING[:6])) == []
    parser.reset()
    assert parser.pending == 0
    assert list(parser.feed(PING[6:])) == []


def test_any_cut_of_a_stream_gives_the_same_packets() -> None:
    rng = np.random.default_rng(1)
    bodies = [rng.choice([0, 0xFD, 0xFF], size=rng.integers(1, 12)).tolist() for _ in range(50)]
    packets = [instruction_packet(i % 253, 3, bytes(body)) for i, body in enumerate(bodies)]
    stream = b"".join(packets)
    parser = PacketParser()
    found = []
    at = 0
    while at < len(stream):
        step = int(rng.integers(1, 9))
        found += list(parser.feed(stream[at : at + step]))
        at += step
    assert [p.parameters for p in found] == [bytes(body) for body in bodies]
    assert all(p.crc_ok for p in found)
