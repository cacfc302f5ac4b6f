# SPDX-License-Identifier: Apache-2.0
"""Packets of the Dynamixel Protocol 2.0: stuffing, checksum, and finding replies in noise."""

from __future__ import annotations

import numpy as np
import pytest

from na_teleop.buses.dynamixel_packets import (
    PacketHandler,
    Status,
    StatusScanner,
    crc16,
    split_fast_reply,
    stuff,
    unstuff,
)

# Ping of id 1 and its answer (model 1030, firmware 38), from the protocol's e-manual page.
PING = bytes.fromhex("FF FF FD 00 01 03 00 01 19 4E")
PONG = bytes.fromhex("FF FF FD 00 01 07 00 55 00 06 04 26 65 5D")


def status(id: int, data: bytes, error: int = 0) -> bytes:
    body = stuff(bytes([0x55, error]) + data)
    size = len(body) + 2
    packet = bytes([0xFF, 0xFF, 0xFD, 0, id, size & 0xFF, size >> 8]) + body
    crc = crc16(packet)
    return packet + bytes([crc & 0xFF, crc >> 8])


def test_checksum_of_the_manuals_examples() -> None:
    assert crc16(PING[:-2]).to_bytes(2, "little") == PING[-2:]
    assert crc16(PONG[:-2]).to_bytes(2, "little") == PONG[-2:]


def test_the_manuals_ping_answer_is_understood() -> None:
    assert StatusScanner(max_data=3).feed(PONG) == [Status(1, 0, bytes([6, 4, 38]))]


@pytest.mark.parametrize(
    "data",
    [
        b"\xff\xff\xfd",
        b"\xff\xff\xfd\xfd",
        b"\xff\xff\xfd\xff\xff\xfd",
        b"\xff\xff\xff\xff\xfd\xfd\xff\xff\xfd\xfd\xfd",
        b"a\xff\xff\xfdb\xff\xff\xfd\xfdc\xff\xfd\xfd",
    ],
)
def test_stuffing_is_undone_wherever_and_however_often_it_occurs(data: bytes) -> None:
    assert unstuff(stuff(data)) == data
    assert b"\xff\xff\xfd\x00" not in stuff(data + b"\x00")
    assert StatusScanner(max_data=len(data)).feed(status(7, data)) == [Status(7, 0, data)]


def test_the_handler_stuffs_what_it_sends_and_mends_the_length() -> None:
    data = [1, 2, 0xFF, 0xFF, 0xFD, 3, 0xFF, 0xFF, 0xFD]
    packet = [0, 0, 0, 0, 5, len(data) + 3, 0, 0x03, *data, 0, 0]
    handler = PacketHandler()
    handler.addStuffing(packet)
    assert packet[5] == len(data) + 3 + 2
    assert bytes(packet[8:-2]) == stuff(bytes(data))
    plain = handler.removeStuffing(packet)
    assert plain[5] == len(data) + 3 and plain[8:-2] == data


def test_random_data_survives_the_round_trip() -> None:
    random = np.random.default_rng(1)
    for _ in range(500):
        size = int(random.integers(0, 40))
        data = bytes(random.choice([0xFF, 0xFD, 0x00, 0x55], size).astype(np.uint8))
        assert StatusScanner(max_data=40).feed(status(9, data)) == [Status(9, 0, data)]


def test_bytes_may_come_in_any_pieces() -> None:
    stream = status(1, b"abc") + status(2, b"def", 0x80)
    scanner = StatusScanner(max_data=3)
    found = [packet for i in range(len(stream)) for packet in scanner.feed(stream[i : i + 1])]
    assert found == [Status(1, 0, b"abc"), Status(2, 0x80, b"def")]


def test_noise_before_between_and_after_packets_is_skipped() -> None:
    stream = b"\xff\xff\x00" + status(1, b"abc") + b"\xff\xff\xfd" + status(2, b"def") + b"zz"
    assert [p.id for p in StatusScanner(max_data=3).feed(stream)] == [1, 2]


@pytest.mark.parametrize("at", range(14))
def test_one_damaged_byte_costs_one_packet_and_not_its_neighbour(at: int) -> None:
    first = bytearray(status(1, b"abc"))
    first[at] ^= 0x10
    scanner = StatusScanner(max_data=3)
    assert [p.id for p in scanner.feed(bytes(first) + status(2, b"def"))] == [2]


def test_our_own_echo_is_not_an_answer() -> None:
    scanner = StatusScanner(max_data=3)
    assert scanner.feed(PING + PONG) == [Status(1, 0, bytes([6, 4, 38]))]
    assert scanner.finish() == 0


def test_an_unfinished_packet_is_counted_as_corrupt() -> None:
    scanner = StatusScanner(max_data=3)
    assert scanner.feed(PONG[:-1]) == []
    assert scanner.finish() == 1


def test_fast_reply_is_split_by_servo() -> None:
    # error, id, data, CRC | error, id, data, CRC (the last one taken by the scanner)
    stream = b"\x00\x01AB\x11\x22" + b"\x80\x02CD"
    whole = Status(0xFE, stream[0], stream[1:])
    assert split_fast_reply(whole, 2) == [Status(1, 0, b"AB"), Status(2, 0x80, b"CD")]


def test_a_fast_reply_that_ends_early_yields_only_whole_parts() -> None:
    whole = Status(0xFE, 0, b"\x01AB\x11\x22\x00\x02C")
    assert [part.id for part in split_fast_reply(whole, 2)] == [1]
