# SPDX-License-Identifier: Apache-2.0
"""The emulated bus in-process: every instruction, with a clock that is set by hand."""

from __future__ import annotations

import pytest
from dynamixel_bench import IDS, Bench, goal, word

from na_sim.dynamixel import BusEmulator, KinematicPlant, ServoConfig, Transmission, WireFaults
from na_sim.dynamixel.instructions import HardwareError, Instruction, StatusError
from na_sim.dynamixel.packet import crc16, instruction_packet, status_packet
from na_sim.plant_interface import ServoReadings
from na_sim.wire.testing import FakeClock


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_ping_bytes_match_the_manual() -> None:
    bench = Bench([ServoConfig(1, model="xm430-w210", firmware=38)])
    assert bench.controller.raw(bytes.fromhex("FFFFFD0001030001194E")) == bytes.fromhex(
        "FFFFFD000107005500060426655D"
    )


def test_reads_of_position_match_the_manual() -> None:
    bench = Bench([ServoConfig(i, model="xm430-w210") for i in (1, 2)])
    bench.plant.place(0, 166)
    bench.plant.place(1, 2079)
    bench.clock.sleep(0.001)
    read = bench.controller.raw(bytes.fromhex("FFFFFD000107000284000400 1D15"))
    assert read == bytes.fromhex("FFFFFD000108005500A60000008CC0")
    both = bench.controller.raw(bytes.fromhex("FFFFFD00FE0900828400040001 02CEFA"))
    assert both == bytes.fromhex("FFFFFD000108005500A60000008CC0 FFFFFD0002080055001F080000BABE")


def test_fast_sync_read_matches_the_manual() -> None:
    bench = Bench([ServoConfig(i) for i in (3, 7, 4)])
    for row, count in enumerate((166, 2079, 1023)):
        bench.plant.place(row, count)
    bench.clock.sleep(0.001)
    answer = bench.controller.raw(bytes.fromhex("FFFFFD00FE0A008A8400040003070420F2"))
    assert answer == bytes.fromhex(
        "FFFFFD00FE19005500 03A60000008408 00071F08000016CA 0004FF030000D19E"
    )


def test_fast_bulk_read_matches_the_manual() -> None:
    class Pwm(WireFaults):
        def readings(self, readings: ServoReadings, now: float) -> ServoReadings:
            readings.present_pwm[1] = 421
            return readings

    bench = Bench([ServoConfig(i) for i in (3, 7, 4)], faults=Pwm())
    bench.plant.place(0, 166)
    bench.plant.temperature[2] = 31
    bench.clock.sleep(0.001)
    # The manual repeats the CRC of its fast sync read here; this is the packet's own.
    request = instruction_packet(0xFE, 0x9A, bytes.fromhex("0384000400 077C000200 0492000100"))
    assert request[-2:] == b"\xda\x2d"
    answer = bench.controller.raw(request)
    assert answer == bytes.fromhex("FFFFFD00FE14005500 03A600000067A4 0007A5012474 00041FD9C1")


def test_broadcast_ping_finds_every_servo_in_order(bench: Bench) -> None:
    answers = bench.controller.broadcast(Instruction.PING)
    assert [a.id for a in answers] == list(IDS)
    assert {a.data for a in answers} == {b"\xfc\x03\x30"}  # 1020, firmware 48


def test_models_and_deviations_show_up_in_a_ping() -> None:
    bench = Bench(
        [
            ServoConfig(11),
            ServoConfig(12, model="xl330-m288", firmware=51),
            ServoConfig(13, model_number=1030),
            ServoConfig(14, connected=False),
        ]
    )
    found = {a.id: int.from_bytes(a.data[:2], "little") for a in bench.controller.broadcast(1)}
    assert found == {11: 1020, 12: 1200, 13: 1030}
    assert bench.controller.send(14, Instruction.PING) == []


def test_duplicate_ids_garble_each_other() -> None:
    bench = Bench([ServoConfig(11), ServoConfig(12), ServoConfig(12)])
    assert [a.id for a in bench.controller.broadcast(Instruction.PING)] == [11]
    assert bench.controller.send(12, Instruction.PING) == []
    assert len(bench.controller.raw(instruction_packet(12, 1))) == 14
    assert bench.bus.counters.collisions > 0


def test_servo_at_another_speed_is_deaf_and_mute() -> None:
    bench = Bench([ServoConfig(11), ServoConfig(12, baud=57_600)])
    bench.controller.baud = 1_000_000
    assert [a.id for a in bench.controller.broadcast(Instruction.PING)] == [11]
    bench.controller.baud = 57_600
    assert [a.id for a in bench.controller.broadcast(Instruction.PING)] == [12]
    bench.controller.baud = 115_200
    assert bench.controller.broadcast(Instruction.PING) == []


def test_goal_moves_the_servo_along_its_profile(bench: Bench) -> None:
    assert bench.write(11, "profile_velocity", 100) == 0
    assert bench.write(11, "profile_acceleration", 20) == 0
    assert bench.write(11, "torque_enable", 1) == 0
    assert bench.write(11, "goal_position", 3072) == 0
    bench.clock.sleep(0.1)
    assert 2048 < bench.read(11, "present_position") < 2200
    assert bench.read(11, "moving") == 1
    assert bench.read(11, "moving_status") & 0x32 == 0x32
    bench.clock.sleep(2.0)
    assert bench.read(11, "present_position") == 3072
    assert bench.read(11, "moving") == 0
    assert bench.read(11, "moving_status") & 0x01


def test_goal_without_torque_moves_nothing(bench: Bench) -> None:
    bench.write(11, "goal_position", 3072)
    bench.clock.sleep(1.0)
    assert bench.read(11, "present_position") == 2048
    assert bench.bus.torque_enabled() == dict.fromkeys(IDS, False)


def test_stale_goal_moves_at_torque_on_unless_configured_otherwise() -> None:
    for resets, expected in ((False, 3072), (True, 2048)):
        bench = Bench([ServoConfig(11, torque_on_resets_goal=resets)])
        bench.write(11, "goal_position", 3072)
        bench.write(11, "torque_enable", 1)
        bench.clock.sleep(2.0)
        assert bench.read(11, "present_position") == expected


def test_sync_write_sets_five_goals_and_ignores_bad_ones(bench: Bench) -> None:
    for servo_id in IDS:
        bench.write(servo_id, "torque_enable", 1)
    goals = {11: 2100, 12: 5000, 13: 2000, 14: 2048, 99: 1}
    entries = b"".join(bytes((i,)) + goal(g) for i, g in goals.items())
    assert bench.controller.broadcast(Instruction.SYNC_WRITE, word(116) + word(4) + entries) == []
    bench.clock.sleep(1.0)
    assert [bench.read(i, "present_position") for i in IDS] == [2100, 2048, 2000, 2048, 2048]


def test_bulk_write_and_bulk_read(bench: Bench) -> None:
    led = b"\x0b" + word(65) + word(1) + b"\x01"
    gain = b"\x0c" + word(84) + word(2) + word(640)
    assert bench.controller.broadcast(Instruction.BULK_WRITE, led + gain) == []
    asked = b"\x0c" + word(84) + word(2) + b"\x0b" + word(65) + word(1)
    answers = bench.controller.broadcast(Instruction.BULK_READ, asked)
    assert [(a.id, a.data) for a in answers] == [(12, word(640)), (11, b"\x01")]


def test_sync_read_skips_the_absent_and_reports_the_impossible(bench: Bench) -> None:
    ask = word(132) + word(4) + bytes((11, 99, 12))
    assert [a.id for a in bench.controller.broadcast(Instruction.SYNC_READ, ask)] == [11, 12]
    ask = word(660) + word(4) + bytes((11,))
    (answer,) = bench.controller.broadcast(Instruction.SYNC_READ, ask)
    assert (answer.error, answer.data) == (StatusError.ACCESS, b"")


def test_registered_write_waits_for_action(bench: Bench) -> None:
    bench.write(11, "torque_enable", 1)
    assert bench.controller.one(11, Instruction.REG_WRITE, word(116) + goal(2500)).error == 0
    assert bench.read(11, "registered_instruction") == 1
    bench.clock.sleep(1.0)
    assert bench.read(11, "present_position") == 2048
    assert bench.controller.one(11, Instruction.ACTION).error == 0
    assert bench.read(11, "registered_instruction") == 0
    bench.clock.sleep(1.0)
    assert bench.read(11, "present_position") == 2500


def test_action_reaches_everybody_at_once_and_needs_a_registered_write(bench: Bench) -> None:
    for servo_id in IDS:
        bench.write(servo_id, "torque_enable", 1)
        bench.controller.one(servo_id, Instruction.REG_WRITE, word(116) + goal(2100))
    assert bench.controller.broadcast(Instruction.ACTION) == []
    bench.clock.sleep(1.0)
    assert {bench.read(i, "present_position") for i in IDS} == {2100}
    assert bench.controller.one(11, Instruction.ACTION).error == StatusError.INSTRUCTION


def test_registered_write_is_checked_at_once(bench: Bench) -> None:
    refused = bench.controller.one(11, Instruction.REG_WRITE, word(116) + goal(9999))
    assert refused.error == StatusError.DATA_LIMIT
    assert bench.read(11, "registered_instruction") == 0


@pytest.mark.parametrize(("level", "ping", "read", "write"), [(0, 1, 0, 0), (1, 1, 1, 0)])
def test_status_return_level(bench: Bench, level: int, ping: int, read: int, write: int) -> None:
    bench.write(11, "status_return_level", level)
    assert len(bench.controller.send(11, Instruction.PING)) == ping
    assert len(bench.controller.send(11, Instruction.READ, word(132) + word(4))) == read
    assert len(bench.controller.send(11, Instruction.WRITE, word(65) + b"\x01")) == write
    assert bench.bus.servo(11).registers.get("led") == 1
    sync = bench.controller.broadcast(Instruction.SYNC_READ, word(132) + word(4) + b"\x0b\x0c")
    assert len(sync) == 1 + read


def test_unknown_and_misplaced_instructions(bench: Bench) -> None:
    assert bench.controller.one(11, 0x77).error == StatusError.INSTRUCTION
    assert bench.controller.one(11, Instruction.SYNC_READ).error == StatusError.INSTRUCTION
    assert bench.controller.one(11, Instruction.READ, b"\x00").error == StatusError.DATA_LENGTH
    assert bench.controller.broadcast(0x77) == []
    assert bench.controller.broadcast(Instruction.READ, word(132) + word(4)) == []
    assert bench.controller.broadcast(Instruction.SYNC_READ, word(132)) == []
    assert bench.controller.broadcast(Instruction.SYNC_READ, word(0) + word(2) + b"\x0b\x0b") == []


def test_damaged_packet_is_answered_with_a_crc_error_and_not_executed(bench: Bench) -> None:
    packet = bytearray(instruction_packet(11, Instruction.WRITE, word(64) + b"\x01"))
    packet[-1] ^= 1
    assert bench.controller.raw(bytes(packet)) == status_packet(11, StatusError.CRC)
    assert bench.bus.torque_enabled()[11] is False


def test_other_servos_status_packets_are_not_instructions(bench: Bench) -> None:
    assert bench.controller.raw(status_packet(11, 0, b"\x01\x02")) == b""


def test_gap_between_bytes_ends_a_packet(bench: Bench) -> None:
    packet = instruction_packet(11, Instruction.PING)
    assert bench.controller.raw(packet[:7]) == b""
    bench.clock.sleep(0.05)
    assert bench.controller.raw(packet[7:]) == b""
    assert bench.bus.counters.resets == 1
    assert len(bench.controller.raw(packet)) == 14


def test_old_firmware_breaks_the_chain_of_a_fast_read() -> None:
    ask = instruction_packet(0xFE, Instruction.FAST_SYNC_READ, word(132) + word(4) + b"\x0b\x0c")
    silent = Bench([ServoConfig(11, firmware=44), ServoConfig(12, firmware=44)])
    assert silent.controller.raw(ask) == b""
    polite = Bench([ServoConfig(i, firmware=44, refuses_unknown_broadcast=True) for i in (11, 12)])
    assert polite.controller.raw(ask) == status_packet(11, StatusError.INSTRUCTION) + status_packet(
        12, StatusError.INSTRUCTION
    )
    mixed = Bench([ServoConfig(11), ServoConfig(12, firmware=44)])
    whole = Bench([ServoConfig(11), ServoConfig(12)])
    answer = mixed.controller.raw(ask)
    assert 0 < len(answer) < len(whole.controller.raw(ask))
    assert whole.controller.raw(ask).startswith(answer)


def test_fast_read_carries_errors_per_servo(bench: Bench) -> None:
    bench.bus.inject_hardware_error(12, HardwareError.OVERLOAD)
    ask = word(132) + word(4) + b"\x0b\x0c"
    answer = bench.controller.raw(instruction_packet(0xFE, Instruction.FAST_SYNC_READ, ask))
    assert answer[8:10] == b"\x00\x0b" and answer[16:18] == b"\x80\x0c"
    assert crc16(answer[:-2]).to_bytes(2, "little") == answer[-2:]


def test_fast_read_longer_than_any_packet_is_ignored(bench: Bench) -> None:
    ask = word(0) + word(400) + bytes(IDS)
    assert bench.controller.raw(instruction_packet(0xFE, Instruction.FAST_SYNC_READ, ask)) == b""
    assert len(bench.controller.broadcast(Instruction.SYNC_READ, ask)) == 5


def test_secondary_id_obeys_without_answering(bench: Bench) -> None:
    for servo_id in (11, 12):
        bench.write(servo_id, "secondary_id", 100)
    assert bench.controller.send(100, Instruction.WRITE, word(65) + b"\x01") == []
    assert [bench.read(i, "led") for i in (11, 12, 13)] == [1, 1, 0]
    bench.controller.send(100, Instruction.WRITE, word(9) + b"\x05")
    assert bench.read(11, "return_delay_time") == 0, "EEPROM is closed to the secondary id"


def test_torque_by_goal_update(bench: Bench) -> None:
    bench.write(11, "drive_mode", 8)
    bench.write(11, "goal_position", 2100)
    assert bench.bus.torque_enabled()[11] is True
    assert bench.read(11, "goal_position") == 2100


def test_id_and_speed_change_at_once(bench: Bench) -> None:
    assert bench.write(11, "id", 42) == 0
    assert [a.id for a in bench.controller.broadcast(1)] == [12, 13, 14, 15, 42]
    bench.controller.baud = 1_000_000
    bench.write(42, "baud_rate", 6)
    assert bench.controller.send(42, Instruction.PING) == []
    bench.controller.baud = 4_000_000
    assert len(bench.controller.send(42, Instruction.PING)) == 1


def test_return_delay_travels_with_the_reply() -> None:
    bench = Bench([ServoConfig(11, return_delay_us=500)])
    (exchange,) = bench.bus.receive(instruction_packet(11, 1))
    assert exchange.replies[0].return_delay == pytest.approx(500e-6)
    assert exchange.request_bytes == 10


def test_servo_without_a_plant_row_stays_put() -> None:
    bench = Bench([ServoConfig(i) for i in range(1, 8)])
    bench.write(7, "torque_enable", 1)
    bench.write(7, "goal_position", 3000)
    bench.clock.sleep(1.0)
    assert bench.read(7, "present_position") == 2048
    assert bench.read(7, "present_input_voltage") == 120


def test_slow_plant_loses_time_instead_of_spiralling() -> None:
    clock = FakeClock()
    plant = KinematicPlant(1)
    bus = BusEmulator([ServoConfig(1)], plant, clock=clock, max_catch_up=0.1)
    clock.sleep(5.0)
    bus.tick()
    assert plant.time == pytest.approx(0.1)
    assert bus.slips == 1


def test_faults_can_touch_every_path() -> None:
    class Noisy(WireFaults):
        def incoming(self, data: bytes, now: float) -> bytes:
            return data.replace(b"\xaa", b"")

        def silent(self, servo_id: int, now: float) -> bool:
            return servo_id == 12

        def readings(self, readings: ServoReadings, now: float) -> ServoReadings:
            readings.present_position[0] = 7
            return readings

        def outgoing(self, servo_id: int, data: bytes, now: float) -> list[Transmission]:
            return [Transmission(data, 0.002), Transmission(data)]

    bench = Bench(faults=Noisy())
    assert [a.id for a in bench.controller.broadcast(1)] == [11, 13, 14, 15]
    assert bench.read(11, "present_position") == 7
    assert len(bench.controller.raw(b"\xaa" + instruction_packet(13, 1))) == 14


def test_config_errors_name_the_value() -> None:
    with pytest.raises(ValueError, match="baud 1234567"):
        ServoConfig(1, baud=1_234_567)
    with pytest.raises(ValueError, match="253"):
        ServoConfig(253)
    with pytest.raises(KeyError, match="no servo 99"):
        Bench().bus.servo(99)
