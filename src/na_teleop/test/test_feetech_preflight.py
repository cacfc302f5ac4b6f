# SPDX-License-Identifier: Apache-2.0
"""Preflight and start of an SO-101: the same report, with what is peculiar to STS servos."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from na_core.robot_spec import RobotSpec
from na_sim.feetech import FeetechServoConfig
from na_teleop.arm_start import ArmParameters, make_bus
from na_teleop.buses.dynamixel import DynamixelBus
from na_teleop.buses.dynamixel_settings import Role
from na_teleop.buses.errors import ServoError
from na_teleop.buses.feetech import FeetechBus
from na_teleop.buses.feetech_settings import speed_limit
from na_teleop.preflight import run_preflight

Maker = Callable[..., Any]
IDS = (1, 2, 3, 4, 5, 6)


@pytest.fixture
def make(make_arm: Maker, so101: RobotSpec) -> Maker:
    return lambda *args, **kwargs: make_arm(*args, spec=so101, **kwargs)


def topics(report: Any) -> set[str]:
    return {finding.topic for finding in report.errors}


def test_a_healthy_arm_is_ready_and_nothing_was_written(make: Maker) -> None:
    arm = make()
    report = run_preflight(arm.bus())
    assert report.ok and set(report.servos) == set(IDS)
    text = report.text()
    assert "sts3215" in text and "firmware 310" in text and "12.0 V" in text
    assert "no bus watchdog" in text
    assert all(arm.log.writes(address) == [] for address in range(71))


def test_wrong_baud_absent_id_wrong_model_and_twins_are_in_one_report(make: Maker) -> None:
    arm = make(
        {1: {"baud": 115_200}, 2: {"connected": False}, 3: {"model_number": 1234}},
        extra=(FeetechServoConfig(id=5),),
    )
    report = run_preflight(arm.bus())
    assert topics(report) == {"wrong baud", "absent id", "wrong model", "duplicate id"}
    assert "answer at 115200" in report.text() and "shoulder_lift (id 2)" in report.text()


def test_nobody_there_points_at_supply_and_protocol(make: Maker) -> None:
    report = run_preflight(make({id: {"connected": False} for id in IDS}).bus(latency_s=0.02))
    assert topics(report) == {"absent id"}
    assert "supply" in report.text() and "protocol" in report.text()


def test_a_homing_offset_that_is_not_the_robots_is_refused_not_mended(make: Maker) -> None:
    arm = make({4: {"registers": {"homing_offset": -300, "max_voltage_limit": 140}}})
    bus = arm.bus()
    report = run_preflight(bus)
    assert topics(report) == {"homing_offset"} and "-300 in id 4" in report.text()
    bus.configure()
    assert arm.emulator.servo(4).registers.get("homing_offset") == -300


def test_geometry_is_written_into_eeprom_when_asked(make: Maker) -> None:
    arm = make({4: {"registers": {"homing_offset": -300, "max_voltage_limit": 140}}})
    bus = arm.bus(reset_geometry=True)
    bus.open()
    assert "id 4: homing_offset -300 → 0" in bus.configure()
    assert arm.emulator.servo(4).registers.stored("homing_offset") == 0
    assert arm.emulator.servo(4).registers.get("lock") == 1


def test_an_offset_beyond_the_register_is_refused_before_it_is_sent(make: Maker) -> None:
    arm = make()
    bus = arm.bus()
    bus.open()
    with pytest.raises(ValueError, match=r"homing_offset of servo 1: 2048, expected -2047 to 2047"):
        bus.write_setting(1, "homing_offset", 2048)
    assert arm.emulator.servo(1).registers.get("lock") == 1


def test_latched_error_supply_and_position_forbid_the_start(make: Maker) -> None:
    arm = make()
    arm.emulator.inject_hardware_error(6, 0x20)
    arm.change(voltage=35)
    report = run_preflight(arm.bus())
    assert {"hardware error", "voltage"} <= topics(report)
    assert "0x21 (input voltage, overload)" in report.text()


def test_the_speed_at_which_a_goal_is_chased_is_bounded(make: Maker, so101: RobotSpec) -> None:
    arm = make()
    bus = arm.bus()
    bus.open()
    bus.configure()
    for joint, id in enumerate(bus.ids):
        counts = arm.emulator.servo(id).registers.get("goal_velocity")
        assert counts == speed_limit(so101, joint)
        assert counts * 2 * 3.14159 / 4096 == pytest.approx(
            1.2 * so101.velocity_limit[joint], rel=0.01
        )


def test_old_firmware_without_sync_read_is_asked_one_by_one(make: Maker) -> None:
    arm = make({id: {"knows_sync_read": False} for id in IDS})
    bus = arm.bus(latency_s=0.02)
    bus.open()
    fresh = []
    for _ in range(6):
        arm.clock.sleep(1 / 60)
        fresh.append(bus.read().fresh)
    assert fresh[-1] and not fresh[0]
    (note,) = bus.take_notes()
    assert "one by one" in note


def test_servos_that_were_away_for_a_moment_are_not_taken_for_old_firmware(make: Maker) -> None:
    arm = make()
    bus = arm.bus(latency_s=0.02)
    bus.open()
    for missed in range(1, 6):
        arm.log.mute = set(IDS)
        for _ in range(missed):
            arm.clock.sleep(1 / 60)
            assert not bus.read().valid.any()
        arm.log.mute = set()
        arm.clock.sleep(1 / 60)
        assert bus.read().valid.all()
    assert bus.take_notes() == []


def test_a_servo_of_this_family_cannot_be_restarted_over_the_bus(make: Maker) -> None:
    bus = make().bus()
    with pytest.raises(ServoError, match="supply off and on"):
        bus.reboot(1)


def test_the_robot_file_decides_which_bus_is_made(so101: RobotSpec, omx: RobotSpec) -> None:
    arm = ArmParameters("", "/dev/null", 0, 0.0, 0.0)
    assert isinstance(make_bus(so101, arm, Role.LEADER), FeetechBus)
    assert isinstance(make_bus(omx, arm, Role.FOLLOWER), DynamixelBus)
    assert so101.bus is not None
    other = replace(so101, bus=replace(so101.bus, protocol="can"))
    with pytest.raises(ServoError, match="'can', which this version cannot drive"):
        make_bus(other, arm, Role.FOLLOWER)
    with pytest.raises(ServoError, match="does not speak feetech"):
        FeetechBus(omx, "/dev/null")
