# SPDX-License-Identifier: Apache-2.0
"""What an emulated servo does with its states: locks, watchdog, errors, reboot, reset, turns."""

from __future__ import annotations

import pytest
from dynamixel_bench import IDS, Bench

from na_sim.dynamixel import ServoConfig
from na_sim.dynamixel.instructions import HardwareError, Instruction, StatusError


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_eeprom_is_locked_while_torque_is_on(bench: Bench) -> None:
    bench.write(11, "torque_enable", 1)
    assert bench.write(11, "operating_mode", 4) == StatusError.ACCESS
    bench.write(11, "torque_enable", 0)
    assert bench.write(11, "operating_mode", 4) == 0


def test_change_of_mode_resets_gains_profile_and_goals(bench: Bench) -> None:
    bench.write(11, "position_p_gain", 100)
    bench.write(11, "profile_velocity", 50)
    bench.write(11, "goal_position", 3000)
    assert bench.write(11, "operating_mode", 5) == 0
    assert bench.read(11, "position_p_gain") == 800
    assert bench.read(11, "profile_velocity") == 0
    assert bench.read(11, "goal_position") == 2048
    assert bench.read(11, "goal_current") == 1193


def test_watchdog_stops_the_servo_and_locks_its_goals(bench: Bench) -> None:
    # The manual's example: velocity mode, 50, watchdog 2 s, silence.
    bench.write(11, "operating_mode", 1)
    bench.write(11, "torque_enable", 1)
    bench.write(11, "goal_velocity", 50)
    bench.write(11, "bus_watchdog", 100)
    bench.clock.sleep(5.0)
    assert bench.read(11, "bus_watchdog") == -1
    stopped_at = bench.read(11, "present_position")
    # 2 s at 50 × 0.229 rev/min, then rest.
    assert stopped_at - 2048 == pytest.approx(2.0 * 50 * 0.229 / 60 * 4096, abs=40)
    assert bench.read(11, "present_velocity") == 0
    assert bench.bus.torque_enabled()[11], "the watchdog stops, it does not release"
    assert bench.write(11, "goal_velocity", 150) == StatusError.DATA_RANGE
    assert bench.write(11, "bus_watchdog", 10) == StatusError.DATA_RANGE
    assert bench.write(11, "bus_watchdog", 0) == 0
    bench.clock.sleep(1.0)
    assert bench.read(11, "present_position") == stopped_at
    assert bench.write(11, "goal_velocity", 150) == 0
    bench.clock.sleep(1.0)
    assert bench.read(11, "present_position") > stopped_at


def test_watchdog_stops_a_position_move_where_it_is(bench: Bench) -> None:
    bench.write(11, "profile_velocity", 10)
    bench.write(11, "torque_enable", 1)
    bench.write(11, "bus_watchdog", 5)
    bench.write(11, "goal_position", 4000)
    bench.clock.sleep(10.0)
    assert bench.read(11, "present_position") == pytest.approx(2048 + 0.1 * 10 * 15.63, abs=3)
    assert bench.bus.servo(11).watchdog_trips == 1


def test_watchdog_is_fed_by_any_instruction_and_sleeps_without_torque(bench: Bench) -> None:
    bench.write(11, "bus_watchdog", 5)
    bench.clock.sleep(10.0)
    assert bench.read(11, "bus_watchdog") == 5
    bench.write(11, "torque_enable", 1)
    for _ in range(20):
        bench.clock.sleep(0.09)
        bench.controller.send(12, Instruction.PING)
    assert bench.read(11, "bus_watchdog") == 5
    bench.clock.sleep(0.11)
    assert bench.read(11, "bus_watchdog") == -1


def test_hardware_error_releases_torque_until_reboot(bench: Bench) -> None:
    bench.write(11, "torque_enable", 1)
    bench.bus.inject_hardware_error(11, HardwareError.OVERLOAD)
    assert bench.bus.torque_enabled()[11] is False
    status = bench.controller.one(11, Instruction.PING)
    assert status.error == 0x80
    bench.bus.inject_hardware_error(11, 0)
    assert bench.read(11, "hardware_error_status") == HardwareError.OVERLOAD
    assert bench.write(11, "torque_enable", 1) == 0x80 | StatusError.RESULT_FAIL
    assert bench.bus.torque_enabled()[11] is False
    assert bench.controller.one(11, Instruction.REBOOT).id == 11
    assert bench.controller.send(11, Instruction.PING) == [], "deaf while booting"
    bench.clock.sleep(0.5)
    assert bench.read(11, "hardware_error_status") == 0
    assert bench.write(11, "torque_enable", 1) == 0
    assert bench.bus.torque_enabled()[11] is True


def test_overheating_latches_but_undervoltage_outside_the_shutdown_mask_does_not() -> None:
    bench = Bench()
    for servo_id in (11, 12):
        bench.write(servo_id, "torque_enable", 1)
    bench.plant.temperature[0] = 81
    bench.plant.voltage[1] = 90
    bench.clock.sleep(0.02)
    bench.bus.tick()
    assert bench.read(11, "hardware_error_status") == HardwareError.OVERHEATING
    assert bench.read(12, "hardware_error_status") == HardwareError.INPUT_VOLTAGE
    assert bench.bus.torque_enabled() | {13: 0, 14: 0, 15: 0} == {
        11: False,
        12: True,
        13: 0,
        14: 0,
        15: 0,
    }
    bench.plant.temperature[0] = 40
    bench.plant.voltage[1] = 120
    bench.clock.sleep(0.02)
    assert bench.read(11, "hardware_error_status") == HardwareError.OVERHEATING
    assert bench.read(12, "hardware_error_status") == 0


def test_reboot_forgets_ram_keeps_eeprom_and_folds_turns(bench: Bench) -> None:
    bench.write(11, "operating_mode", 4)
    bench.write(11, "position_p_gain", 321)
    bench.write(11, "torque_enable", 1)
    bench.write(11, "goal_position", 2048 + 3 * 4096)
    bench.clock.sleep(10.0)
    assert bench.read(11, "present_position") == 2048 + 3 * 4096
    bench.controller.one(11, Instruction.REBOOT)
    bench.clock.sleep(0.5)
    assert bench.bus.torque_enabled()[11] is False
    assert bench.read(11, "operating_mode") == 4
    assert bench.read(11, "position_p_gain") == 800
    assert bench.read(11, "present_position") == 2048
    assert bench.read(11, "goal_position") == 2048
    # Goals still reach the same shaft after the turns were folded away.
    bench.write(11, "torque_enable", 1)
    bench.write(11, "goal_position", 2148)
    bench.clock.sleep(1.0)
    assert bench.read(11, "present_position") == 2148
    assert bench.plant.position[0] == 2148 + 3 * 4096


def test_brown_out_reboots_every_servo(bench: Bench) -> None:
    for servo_id in IDS:
        bench.write(servo_id, "torque_enable", 1)
    bench.bus.brown_out()
    assert bench.bus.torque_enabled() == dict.fromkeys(IDS, False)
    assert bench.controller.broadcast(Instruction.PING) == []
    bench.clock.sleep(0.3)
    assert len(bench.controller.broadcast(Instruction.PING)) == 5


def test_clear_folds_turns_only_at_rest(bench: Bench) -> None:
    bench.write(11, "operating_mode", 4)
    bench.write(11, "torque_enable", 1)
    bench.write(11, "goal_position", 10_000)
    bench.clock.sleep(0.5)
    clear = b"\x01\x44\x58\x4c\x22"
    assert bench.controller.one(11, Instruction.CLEAR, clear).error == StatusError.RESULT_FAIL
    bench.clock.sleep(5.0)
    assert bench.controller.one(11, Instruction.CLEAR, clear).error == 0
    assert bench.read(11, "present_position") == 10_000 - 2 * 4096
    bench.clock.sleep(1.0)
    bench.bus.tick()
    assert bench.plant.position[0] == 10_000, "clearing must not move the shaft"
    bad = bench.controller.one(11, Instruction.CLEAR, b"\x01\x44")
    assert bad.error == StatusError.DATA_RANGE


@pytest.mark.parametrize(
    ("option", "servo_id", "baud"),
    [(0xFF, 1, 57_600), (0x01, 11, 57_600), (0x02, 11, 1_000_000)],
)
def test_factory_reset_keeps_what_the_option_says(option: int, servo_id: int, baud: int) -> None:
    bench = Bench([ServoConfig(11, registers={"homing_offset": 100})])
    assert bench.controller.one(11, Instruction.FACTORY_RESET, bytes((option,))).error == 0
    servo = bench.bus.servos[0]
    assert (servo.id, servo.baud) == (servo_id, baud)
    assert servo.registers.get("homing_offset") == 0
    assert servo.registers.get("firmware_version") == 48


def test_broadcast_factory_reset_of_everything_is_ignored(bench: Bench) -> None:
    bench.controller.broadcast(Instruction.FACTORY_RESET, b"\xff")
    assert [s.id for s in bench.bus.servos] == list(IDS)


def test_homing_offset_shifts_readings_and_goals(bench: Bench) -> None:
    bench.write(11, "homing_offset", -500)
    assert bench.read(11, "present_position") == 1548
    bench.write(11, "torque_enable", 1)
    bench.write(11, "goal_position", 1600)
    bench.clock.sleep(1.0)
    assert bench.read(11, "present_position") == 1600
    assert bench.plant.position[0] == 2100


def test_large_homing_offset_is_ignored_in_position_mode(bench: Bench) -> None:
    bench.write(11, "homing_offset", 2000)
    assert bench.read(11, "present_position") == 2048
    bench.write(11, "operating_mode", 4)
    assert bench.read(11, "present_position") == 4048


def test_reverse_mode_mirrors_position_and_velocity(bench: Bench) -> None:
    bench.write(11, "drive_mode", 1)
    bench.plant.place(0, 2148)
    bench.clock.sleep(0.001)
    assert bench.read(11, "present_position") == 1948
    bench.write(11, "profile_velocity", 20)
    bench.write(11, "goal_position", 3000)
    bench.write(11, "torque_enable", 1)
    bench.clock.sleep(0.5)
    assert bench.read(11, "present_velocity") == 20
    assert bench.plant.velocity[0] < 0
    bench.clock.sleep(20.0)
    assert bench.read(11, "present_position") == 3000
    assert bench.plant.position[0] == 4096 - 3000


def test_realtime_tick_counts_milliseconds_and_wraps(bench: Bench) -> None:
    bench.clock.sleep(1.5)
    assert bench.read(11, "realtime_tick") == pytest.approx(1500, abs=1)
    bench.clock.sleep(32.768)
    assert bench.read(11, "realtime_tick") == pytest.approx(1500, abs=1)
