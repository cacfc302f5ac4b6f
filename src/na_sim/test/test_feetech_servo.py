# SPDX-License-Identifier: Apache-2.0
"""Emulated STS servos: sign-magnitude registers, EEPROM lock, turns, latches, sync packets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from na_sim.feetech import FeetechBusEmulator, FeetechServoConfig
from na_sim.feetech.packet import BROADCAST_ID, Instruction, Packet, PacketParser, frame
from na_sim.wire.kinematic_plant import KinematicPlant
from na_sim.wire.testing import FakeClock

READ, WRITE = Instruction.READ, Instruction.WRITE


class Bench:
    """Servos 1 to 3 on a bus without a port, and a controller in the same process."""

    def __init__(self, **config: Any) -> None:
        self.clock = FakeClock()
        self.plant = KinematicPlant(3, velocity_unit=1.0, acceleration_unit=100.0)
        servos = [
            FeetechServoConfig(id=i, registers={"max_voltage_limit": 140}, **config)
            for i in (1, 2, 3)
        ]
        self.bus = FeetechBusEmulator(servos, self.plant, clock=self.clock)

    def send(self, servo: int, code: int, parameters: bytes = b"") -> list[Packet]:
        exchanges = self.bus.receive(frame(servo, code, parameters))
        data = b"".join(reply.data for exchange in exchanges for reply in exchange.replies)
        return list(PacketParser().feed(data))

    def write(self, servo: int, name: str, value: int) -> None:
        register = self.bus.servo(servo).registers.table[name]
        (answer,) = self.send(servo, WRITE, bytes((register.address,)) + register.encode(value))
        assert answer.id == servo and answer.parameters == b""

    def read(self, servo: int, name: str) -> int:
        register = self.bus.servo(servo).registers.table[name]
        (answer,) = self.send(servo, READ, bytes((register.address, register.size)))
        return register.decode(answer.parameters)

    def run(self, seconds: float) -> None:
        self.clock.sleep(seconds)
        self.bus.tick()


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_ping_is_answered_by_the_one_asked_and_by_all_one_after_the_other(bench: Bench) -> None:
    assert [p.id for p in bench.send(2, Instruction.PING)] == [2]
    assert [p.id for p in bench.send(BROADCAST_ID, Instruction.PING)] == [1, 2, 3]
    assert bench.send(9, Instruction.PING) == []


def test_negative_numbers_travel_as_magnitude_and_sign_bit(bench: Bench) -> None:
    bench.bus.servo(1).registers.put("min_position_limit", 0)
    bench.bus.servo(1).registers.put("max_position_limit", 0)
    bench.plant.place(0, -300)
    bench.run(0.01)
    (answer,) = bench.send(1, READ, bytes((56, 2)))
    assert answer.parameters == (300 | 1 << 15).to_bytes(2, "little")
    bench.write(1, "homing_offset", -2047)
    (answer,) = bench.send(1, READ, bytes((31, 2)))
    assert answer.parameters == (2047 | 1 << 11).to_bytes(2, "little")


def test_an_offset_beyond_its_eleven_bits_turns_into_its_sign(bench: Bench) -> None:
    bench.write(1, "homing_offset", 100)
    (answer,) = bench.send(1, WRITE, bytes((31,)) + (2048).to_bytes(2, "little"))
    assert answer.code == 0
    assert bench.read(1, "homing_offset") == 0  # 2048 is the sign bit alone: minus nothing


def test_position_folds_into_one_turn_and_a_full_turn_is_4096(bench: Bench) -> None:
    seen = []
    for shaft in (0, 4095, 4096, 5000, -1):
        bench.plant.place(0, shaft)
        bench.run(0.01)
        seen.append(bench.read(1, "present_position"))
    assert seen == [0, 4095, 0, 904, 4095]


def test_goals_are_reached_within_the_turn_and_never_across_the_seam(bench: Bench) -> None:
    bench.plant.place(0, 4000)
    bench.run(0.01)
    bench.write(1, "goal_position", 4000)
    bench.write(1, "torque_enable", 1)
    bench.write(1, "goal_position", 100)
    bench.run(4.0)
    assert bench.plant.position[0] == 100  # 3900 counts back, not 196 on


def test_calibration_of_the_middle_moves_the_zero_and_keeps_it(bench: Bench) -> None:
    bench.plant.place(0, 3000)
    bench.run(0.01)
    bench.write(1, "torque_enable", 128)
    assert bench.read(1, "present_position") == 2048
    assert bench.read(1, "homing_offset") == 952 and bench.read(1, "torque_enable") == 0
    bench.bus.brown_out()
    bench.run(0.5)
    assert bench.read(1, "present_position") == 2048


@pytest.mark.parametrize(("lock", "kept"), [(0, 7), (1, 32)])
def test_eeprom_is_kept_only_when_unlocked(bench: Bench, lock: int, kept: int) -> None:
    bench.write(1, "lock", lock)
    bench.write(1, "position_p_gain", 7)
    assert bench.read(1, "position_p_gain") == 7
    bench.bus.brown_out()
    assert bench.send(1, READ, bytes((21, 1))) == []  # still booting
    bench.run(0.5)
    assert bench.read(1, "position_p_gain") == kept
    assert bench.read(1, "lock") == 1


def test_a_brown_out_switches_torque_off_and_forgets_ram(bench: Bench) -> None:
    bench.write(1, "torque_enable", 1)
    bench.write(1, "torque_limit", 500)
    bench.bus.brown_out()
    bench.run(0.5)
    assert bench.read(1, "torque_enable") == 0 and bench.read(1, "torque_limit") == 1000
    assert bench.read(1, "goal_position") == bench.read(1, "present_position")


def test_a_latched_error_releases_torque_until_the_supply_was_off(bench: Bench) -> None:
    bench.write(1, "torque_enable", 1)
    bench.bus.inject_hardware_error(1, 0x20)
    bench.bus.inject_hardware_error(1, 0)
    (answer,) = bench.send(1, Instruction.PING)
    assert answer.code == 0x20
    bench.write(1, "torque_enable", 1)
    assert bench.read(1, "torque_enable") == 0
    bench.bus.brown_out()
    bench.run(0.5)
    bench.write(1, "torque_enable", 1)
    assert bench.read(1, "torque_enable") == 1


def test_sync_read_and_write_address_servos_one_by_one(bench: Bench) -> None:
    goals = bytes((42, 2, 1, 0x10, 0x08, 3, 0x20, 0x08))
    assert bench.send(BROADCAST_ID, Instruction.SYNC_WRITE, goals) == []
    answers = bench.send(BROADCAST_ID, Instruction.SYNC_READ, bytes((42, 2, 3, 1, 9)))
    assert [(p.id, p.parameters) for p in answers] == [(3, b"\x20\x08"), (1, b"\x10\x08")]


def test_registered_writes_wait_for_the_action(bench: Bench) -> None:
    bench.send(1, Instruction.REG_WRITE, bytes((42, 0x10, 0x08)))
    assert bench.read(1, "goal_position") == 2048
    bench.send(BROADCAST_ID, Instruction.ACTION)
    assert bench.read(1, "goal_position") == 0x0810


def test_writes_are_not_answered_at_status_level_zero_but_reads_are(bench: Bench) -> None:
    bench.bus.servo(1).registers.put("status_return_level", 0)
    assert bench.send(1, WRITE, bytes((40, 1))) == []
    assert bench.read(1, "torque_enable") == 1


def test_some_firmware_switches_torque_on_with_a_goal() -> None:
    bench = Bench(goal_enables_torque=True)
    bench.write(2, "goal_position", 2100)
    assert bench.bus.torque_enabled() == {1: False, 2: True, 3: False}


def test_speed_and_limits_of_the_servo_bound_its_motion(bench: Bench) -> None:
    bench.write(1, "torque_enable", 1)
    bench.write(1, "max_position_limit", 2300)
    bench.write(1, "goal_velocity", 200)
    bench.write(1, "goal_position", 3000)
    bench.run(0.5)
    assert bench.plant.position[0] == pytest.approx(2148, abs=2)
    bench.run(3.0)
    assert bench.plant.position[0] == 2300


def test_random_packets_never_raise(bench: Bench) -> None:
    random = np.random.default_rng(2)
    for _ in range(2000):
        servo, code = int(random.integers(0, 255)), int(random.integers(0, 256))
        data = random.integers(0, 256, int(random.integers(0, 12)), dtype=np.uint8).tobytes()
        bench.bus.receive(frame(servo, code, data))
        bench.clock.sleep(0.001)
    bench.bus.tick()
