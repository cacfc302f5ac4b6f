# SPDX-License-Identifier: Apache-2.0
"""The Dynamixel bus against emulated servos: torque, settings, complaints, watchdog, restarts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from na_core.control_tables import DYNAMIXEL_X
from na_core.robot_spec import load_robot_spec
from na_teleop.buses.dynamixel import DynamixelBus
from na_teleop.buses.errors import PortError, PortProblem, ServoError

Maker = Callable[..., Any]


# -- torque ----------------------------------------------------------------------------------


def ready(arm: Any) -> DynamixelBus:
    bus: DynamixelBus = arm.bus()
    bus.open()
    bus.configure()
    bus.write_goal(bus.read().position)
    return bus


def test_torque_goes_on_and_off_in_every_servo(arm: Any) -> None:
    bus = ready(arm)
    bus.enable_torque()
    assert all(arm.emulator.torque_enabled().values()) and bus.torque_enabled().all()
    report = bus.disable_torque()
    assert report.ok and report.released == bus.ids
    assert not any(arm.emulator.torque_enabled().values())


def test_torque_is_refused_while_a_goal_is_far_from_the_arm(arm: Any) -> None:
    bus = ready(arm)
    arm.change(position=[2000, 2000, 1500, 2000, 2000])
    with pytest.raises(ServoError, match=r"goal registers .*\(id 13: goal 2000, present 1500\)"):
        bus.enable_torque()
    assert arm.log.torque_writes() == []


def test_torque_on_everywhere_or_nowhere(arm: Any) -> None:
    bus = ready(arm)
    # The last servo hears reads, but its torque write is lost.
    original = arm.log.incoming

    def lose(data: bytes, now: float) -> bytes:
        original(data, now)
        is_torque = data[4:5] == b"\x0f" and data[7:8] == b"\x03" and data[8:9] == b"\x40"
        return b"" if is_torque and data[10:11] == b"\x01" else data

    arm.log.incoming = lose
    with pytest.raises(PortError, match=r"servo 15 .* no reply to torque_enable in 3 attempts"):
        bus.enable_torque()
    assert not any(arm.emulator.torque_enabled().values())


def test_torque_off_tries_every_servo_and_reports_the_silent_one(arm: Any) -> None:
    bus = ready(arm)
    bus.enable_torque()
    arm.log.mute = {12}
    report = bus.disable_torque()
    assert not report.ok
    assert report.released == (11, 13, 14, 15) and list(report.failed) == [12]
    assert "12" in report.text()
    on = arm.emulator.torque_enabled()
    assert [id for id, state in on.items() if state] == [12]


def test_torque_off_on_a_vanished_port_reports_every_servo(arm: Any) -> None:
    bus = ready(arm)
    arm.port.close()
    report = bus.disable_torque()
    assert set(report.failed) == set(bus.ids)
    bus.close()
    assert set(bus.disable_torque().failed) == set(bus.ids)


# -- settings --------------------------------------------------------------------------------


def test_configure_writes_what_differs_once(make_arm: Maker) -> None:
    arm = make_arm({11: {"return_delay_us": 500, "registers": {"operating_mode": 1}}})
    bus = arm.bus()
    bus.open()
    changed = bus.configure()
    assert "id 11: return_delay_time 250 → 0" in changed
    assert "id 11: operating_mode 1 → 3" in changed
    assert bus.configure() == []
    assert arm.emulator.servo(11).registers.get("position_p_gain") == 800


def test_settings_in_eeprom_are_not_forced_while_torque_is_on(make_arm: Maker) -> None:
    arm = make_arm({12: {"return_delay_us": 500}})
    bus = arm.bus()
    bus.open()
    arm.emulator.servo(12).registers.put("torque_enable", 1)
    with pytest.raises(ServoError, match="access refused") as caught:
        bus.configure()
    assert caught.value.id == 12 and caught.value.register == "return_delay_time"
    assert "torque is off" in str(caught.value)


def test_zero_and_direction_are_not_changed_unasked(make_arm: Maker) -> None:
    arm = make_arm({11: {"registers": {"homing_offset": 50, "drive_mode": 1}}})
    bus = arm.bus()
    bus.open()
    bus.configure()
    assert arm.emulator.servo(11).registers.get("homing_offset") == 50
    asked = arm.bus(reset_geometry=True)
    bus.close()
    asked.open()
    asked.configure()
    assert arm.emulator.servo(11).registers.get("homing_offset") == 0
    assert arm.emulator.servo(11).registers.get("drive_mode") == 0


# -- registers, errors, watchdog -------------------------------------------------------------


def test_a_silent_servo_is_named_with_register_and_attempts(arm: Any) -> None:
    bus = arm.bus()
    bus.open()
    arm.log.mute = {14}
    with pytest.raises(PortError) as caught:
        bus.torque_enabled()
    error = caught.value
    assert (error.id, error.register, error.attempts) == (14, "torque_enable", 3)
    assert error.problem is PortProblem.NO_REPLY and not error.port_is_gone
    assert arm.path in str(error)
    assert bus.counters.register_retries == 2


def test_a_lost_reply_to_a_register_is_retried(arm: Any) -> None:
    bus = arm.bus()
    bus.open()
    lost: list[int] = []

    def lose_first(id: int, data: bytes) -> bytes:
        if not lost:
            lost.append(id)
            return b""
        return data

    arm.log.mangle = lose_first
    bus.torque_enabled()
    assert bus.counters.register_retries == 1


def test_a_value_out_of_range_is_the_servos_complaint(arm: Any) -> None:
    bus = arm.bus()
    bus.open()
    with pytest.raises(ServoError, match=r"servo 11 .* refused writing 200 to operating_mode"):
        bus.line.write(11, DYNAMIXEL_X["operating_mode"], 200)
    assert bus.counters.servo_errors == 1


def test_hardware_error_bits_follow_the_alert(arm: Any) -> None:
    bus = arm.bus()
    bus.open()
    assert not bus.read().hardware_error.any()
    arm.emulator.inject_hardware_error(13, 0x20)
    arm.clock.sleep(1 / 60)
    assert bus.read().hardware_error.tolist() == [0, 0, 0x20, 0, 0]
    arm.emulator.inject_hardware_error(13, 0)
    bus.reboot(13)
    arm.clock.sleep(1.0)
    assert not bus.read().hardware_error.any()


def test_reboot_of_a_stranger_names_our_ids(arm: Any) -> None:
    bus = arm.bus()
    bus.open()
    with pytest.raises(PortError, match=r"no servo 99 .* \[11, 12, 13, 14, 15\]"):
        bus.reboot(99)


def test_watchdog_stops_silent_masters_servos_and_is_cleared_by_arming(arm: Any) -> None:
    bus = ready(arm)
    bus.arm_watchdog(0.1)
    bus.enable_torque()
    assert bus.watchdog_tripped() == ()
    arm.clock.sleep(0.5)
    arm.emulator.tick()
    assert bus.watchdog_tripped() == bus.ids
    bus.arm_watchdog(0.0)
    assert bus.watchdog_tripped() == ()
    with pytest.raises(ValueError, match=r"expected at most 2\.54 s"):
        bus.arm_watchdog(3.0)


def test_repeated_values_are_not_fresh(arm: Any) -> None:
    bus = arm.bus()
    bus.open()
    bus.read()
    first: list[bytes] = []

    def freeze(id: int, data: bytes) -> bytes:
        # The fast reply of all servos, as it was the first time.
        first.append(data)
        return first[0]

    arm.log.mangle = freeze
    arm.clock.sleep(1 / 60)
    assert bus.read().fresh
    arm.clock.sleep(1 / 60)
    sample = bus.read()
    assert sample.valid.all() and sample.repeated.all() and not sample.fresh
    assert bus.counters.repeated_values == 5


def test_a_brown_out_shows_as_a_restart(arm: Any) -> None:
    bus = arm.bus()
    bus.open()
    arm.clock.sleep(3.0)
    bus.read()
    arm.emulator.brown_out()
    arm.clock.sleep(0.5)
    assert bus.read().rebooted.all()


def test_offline_robots_and_other_families_are_refused() -> None:
    with pytest.raises(ServoError, match=r"panda.*offline only"):
        DynamixelBus(load_robot_spec("panda"), "/dev/null")
    with pytest.raises(ServoError, match="does not speak dynamixel2"):
        DynamixelBus(load_robot_spec("so101"), "/dev/null")


def test_a_line_unplugged_in_the_middle_is_a_lost_port(arm: Any) -> None:
    bus = arm.bus()
    bus.open()
    bus.read()
    arm.port.close()
    with pytest.raises(PortError) as caught:
        bus.read()
    assert caught.value.port_is_gone
    with pytest.raises(PortError):
        bus.write_goal(np.zeros(5))
