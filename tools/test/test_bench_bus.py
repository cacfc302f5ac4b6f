# SPDX-License-Identifier: Apache-2.0
"""The bus bench counts wire bytes right and measures a live emulated line."""

from __future__ import annotations

import argparse

import pytest

from na_cli.bench import bus

pytest.importorskip("dynamixel_sdk")
pytest.importorskip("pinocchio")

from na_sim.dynamixel import BusEmulator, KinematicPlant, ServoConfig
from na_sim.dynamixel.packet import instruction_packet

IDS = bytes((11, 12, 13, 14, 15))


@pytest.mark.parametrize(("fast", "instruction"), [(True, 0x8A), (False, 0x82)])
def test_byte_count_is_what_crosses_the_wire(fast: bool, instruction: int) -> None:
    emulator = BusEmulator([ServoConfig(i) for i in IDS], KinematicPlant(5))
    read = instruction_packet(0xFE, instruction, bytes((120, 0, 27, 0)) + IDS)
    (exchange,) = emulator.receive(read)
    answers = sum(len(reply.data) for reply in exchange.replies)
    goals = b"".join(bytes((i, 0, 8, 0, 0)) for i in IDS)
    write = instruction_packet(0xFE, 0x83, bytes((116, 0, 4, 0)) + goals)
    assert bus.bytes_per_tick(5, 27, fast=fast) == len(read) + answers + len(write)


def test_bench_reports_every_line(capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    bus.add_arguments(parser)
    result = bus.run(parser.parse_args(["--seconds", "0.2"]))
    assert set(bus.KEYS) <= set(result)
    assert set(result["ticks_per_s"]) == {"1000000", "4000000", "none"}
    assert all(rate > 0 for rate in result["ticks_per_s"].values())
    for line in ("1000000", "4000000"):
        assert 0 < result["ratio_to_wire_limit"][line] <= 1.02
    assert result["ratio_to_wire_limit"]["none"] is None
    assert "wire limit/s" in capsys.readouterr().out


def test_byte_count_of_feetech_servos_is_what_crosses_the_wire() -> None:
    from na_sim.feetech import FeetechBusEmulator, FeetechServoConfig
    from na_sim.feetech.packet import frame

    ids = bytes((1, 2, 3, 4, 5, 6))
    emulator = FeetechBusEmulator([FeetechServoConfig(i) for i in ids], KinematicPlant(6))
    read = frame(0xFE, 0x82, bytes((40, 31)) + ids)
    (exchange,) = emulator.receive(read)
    answers = sum(len(reply.data) for reply in exchange.replies)
    write = frame(0xFE, 0x83, bytes((42, 2)) + b"".join(bytes((i, 0, 8)) for i in ids))
    assert bus.feetech_bytes_per_tick(6, 31) == len(read) + answers + 2 * len(write)
