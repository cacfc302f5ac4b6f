# SPDX-License-Identifier: Apache-2.0
"""Bad starts: one report names port, ids and remedy, and torque is never written."""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import Any

import pytest

from na_core.robot_spec import RobotSpec
from na_sim.dynamixel.servo_config import ServoConfig
from na_teleop import preflight
from na_teleop.buses import port as port_module
from na_teleop.buses.dynamixel import DynamixelBus
from na_teleop.buses.dynamixel_settings import Role
from na_teleop.preflight import (
    PreflightError,
    hardware_error_text,
    require_preflight,
    run_preflight,
)

Maker = Callable[..., Any]


def refused(bus: DynamixelBus) -> str:
    """Run the preflight; return the text of the refusal."""
    with pytest.raises(PreflightError) as caught:
        require_preflight(bus)
    text = str(caught.value)
    assert text == caught.value.report.text()
    assert bus.port in text and "torque stays off" in text
    return text


def test_a_healthy_arm_is_ready_and_nothing_was_written(arm: Any) -> None:
    report = require_preflight(arm.bus())
    assert report.ok and set(report.servos) == {11, 12, 13, 14, 15}
    text = report.text()
    assert "ready" in text and "xm430-w350" in text and "12.0 V" in text
    for register in range(147):
        assert arm.log.writes(register) == []


@pytest.mark.parametrize("baud", [57_600, 115_200, 4_000_000])
def test_wrong_baud_says_at_which_rate_they_answer(make_arm: Maker, baud: int) -> None:
    ids = (11, 12, 13, 14, 15)
    arm = make_arm({id: {"baud": baud} for id in ids})
    text = refused(arm.bus())
    assert f"ids {list(ids)} are silent at 1000000 baud" in text
    assert f"answer at {baud}" in text and f"baud:={baud}" in text
    assert arm.log.torque_writes() == []


def test_one_servo_at_the_factory_baud_is_told_from_an_absent_one(make_arm: Maker) -> None:
    arm = make_arm({14: {"baud": 57_600}})
    report = run_preflight(arm.bus())
    assert [(f.topic, f.ids) for f in report.errors] == [("wrong baud", (14,))]


def test_absent_id_names_joint_and_cable(make_arm: Maker) -> None:
    arm = make_arm({13: {"connected": False}})
    text = refused(arm.bus())
    assert "no reply from joint3 (id 13)" in text and "Check the cable" in text
    assert arm.log.torque_writes() == []


def test_a_servo_that_is_still_starting_is_found_at_the_second_look(
    arm: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    arm.log.mute.add(13)
    looked: list[float] = []

    def start(seconds: float) -> None:
        looked.append(seconds)
        arm.log.mute.clear()

    monkeypatch.setattr(preflight.time, "sleep", start)
    report = run_preflight(arm.bus())
    assert report.ok, report.text()
    assert sorted(report.servos) == [11, 12, 13, 14, 15]
    assert looked == [preflight.SECOND_LOOK_S]


def test_a_stranger_with_the_factory_id_is_mentioned(make_arm: Maker) -> None:
    arm = make_arm({13: {"connected": False}}, extra=(ServoConfig(id=1),))
    text = refused(arm.bus())
    assert "id 1 (model number 1020)" in text and "new servo" in text


def test_nobody_there_points_at_the_supply(make_arm: Maker) -> None:
    arm = make_arm({id: {"connected": False} for id in (11, 12, 13, 14, 15)})
    report = run_preflight(arm.bus())
    assert len(report.errors) == 1
    assert "No servo answers at any rate" in report.text() and "supply" in report.text()


@pytest.mark.parametrize("twins", [1, 2])
def test_duplicate_id_is_recognised_by_colliding_replies(make_arm: Maker, twins: int) -> None:
    arm = make_arm(extra=tuple(ServoConfig(id=12) for _ in range(twins)))
    text = refused(arm.bus())
    assert "duplicate id" in text and "id 12" in text and "one at a time" in text
    assert arm.log.torque_writes() == []


def test_wrong_model_names_both(make_arm: Maker) -> None:
    arm = make_arm({15: {"model": "xl430-w250"}})
    text = refused(arm.bus())
    assert "id 15 (gripper_left_joint) is xl430-w250 (model number 1060)" in text
    assert "expected xm430-w350 (1020)" in text
    assert arm.log.torque_writes() == []


def test_unknown_model_is_named_by_its_number(make_arm: Maker) -> None:
    arm = make_arm({15: {"model_number": 4242}})
    assert "model number 4242" in refused(arm.bus())


def test_everything_wrong_is_in_one_report(make_arm: Maker) -> None:
    arm = make_arm(
        {
            11: {"connected": False},
            12: {"model": "xl430-w250"},
            13: {"registers": {"homing_offset": 77}},
            15: {"baud": 57_600},
        },
        extra=(ServoConfig(id=14),),
    )
    report = run_preflight(arm.bus())
    topics = {finding.topic for finding in report.errors}
    assert topics == {"absent id", "wrong model", "homing_offset", "wrong baud", "duplicate id"}
    assert arm.log.torque_writes() == []


# -- the port --------------------------------------------------------------------------------


def test_missing_port(omx: RobotSpec) -> None:
    text = refused(DynamixelBus(omx, "/dev/ttyNOT_THERE"))
    assert "/dev/ttyNOT_THERE does not exist" in text and "Plug in" in text
    assert "[11, 12, 13, 14, 15]" in text


def test_no_permission(arm: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    bus = arm.bus()
    monkeypatch.setattr(port_module.os, "open", refuse)
    text = refused(bus)
    assert "no permission" in text and "usermod" in text
    monkeypatch.undo()
    assert bytes(arm.log.heard) == b""


def test_second_instance(arm: Any) -> None:
    first = arm.bus()
    first.open()
    text = refused(arm.bus())
    assert "already in use" in text and "Stop that process first" in text
    assert bytes(arm.log.heard) == b""


def test_unplugged_at_start(make_arm: Maker, tmp_path: Any) -> None:
    arm = make_arm(link=tmp_path / "follower")
    bus = arm.bus()
    arm.port.close()
    assert "does not exist" in refused(bus)


def test_unplugged_during_the_preflight_is_reported_and_the_port_closed(arm: Any) -> None:
    bus = arm.bus()
    bus.open()
    arm.port.close()
    text = refused(bus)
    assert "was lost" in text and "cable" in text
    assert not bus.is_open


def test_a_rate_the_port_cannot_do(arm: Any) -> None:
    text = refused(arm.bus(baud=4_500_000))
    assert "cannot run at 4500000 baud" in text


# -- settings and state ----------------------------------------------------------------------


def test_settings_that_will_be_written_do_not_forbid_the_start(make_arm: Maker) -> None:
    arm = make_arm({11: {"registers": {"operating_mode": 1}, "return_delay_us": 500}})
    report = run_preflight(arm.bus())
    assert report.ok
    text = report.text()
    assert "operating_mode: is 1 in id 11; expected 3" in text
    assert "return_delay_time: is 250 in id 11; expected 0" in text


def test_leader_is_not_asked_for_gains_and_mode(make_arm: Maker) -> None:
    arm = make_arm({11: {"registers": {"operating_mode": 1}}})
    text = run_preflight(arm.bus(role=Role.LEADER)).text()
    assert "operating_mode" not in text and "gain" not in text


def test_drive_mode_and_homing_offset_forbid_the_start_unless_reset(make_arm: Maker) -> None:
    arm = make_arm({13: {"registers": {"drive_mode": 1, "homing_offset": -40}}})
    text = refused(arm.bus())
    assert "drive_mode: is 1 in id 13" in text and "homing_offset: is -40 in id 13" in text
    for bus in arm.buses:
        bus.close()
    assert run_preflight(arm.bus(reset_geometry=True)).ok


@pytest.mark.parametrize(("tenths", "volts"), [(60, "6.0 V"), (150, "15.0 V")])
def test_supply_out_of_range(make_arm: Maker, tenths: int, volts: str) -> None:
    arm = make_arm()
    arm.change(voltage=tenths)
    text = refused(arm.bus())
    assert volts in text and "9.5 to 14.8 V" in text


def test_latched_hardware_error_forbids_a_follower_but_not_a_leader(arm: Any) -> None:
    arm.emulator.inject_hardware_error(14, 0x20)
    text = refused(arm.bus())
    assert "id 14 (joint4) has latched 0x20 (overload)" in text
    for bus in arm.buses:
        bus.close()
    assert run_preflight(arm.bus(role=Role.LEADER)).ok


def test_torque_left_on_and_a_tripped_watchdog_are_mentioned(arm: Any) -> None:
    servo = arm.emulator.servo(12)
    servo.registers.put("torque_enable", 1)
    servo.registers.put("bus_watchdog", -1)
    report = run_preflight(arm.bus())
    assert report.ok
    assert "torque on, left by another program" in report.text()
    assert "stopped by its bus watchdog" in report.text()
    assert arm.log.torque_writes() == []


def test_hot_servos_and_old_or_mixed_firmware_are_mentioned(make_arm: Maker) -> None:
    arm = make_arm({11: {"firmware": 30}})
    arm.change(temperature=[35, 35, 35, 78, 35])
    text = run_preflight(arm.bus()).text()
    assert "id 14 (joint4) is at 78 °C" in text
    assert "older than the bus watchdog" in text and "versions differ (30: ids [11]; 48:" in text


def test_a_joint_outside_the_servos_limits_must_be_moved_by_hand(make_arm: Maker) -> None:
    limits = {"min_position_limit": 2100, "max_position_limit": 3000}
    arm = make_arm({12: {"registers": limits}})
    text = refused(arm.bus())
    assert "stands at count 2000, outside its own position limits 2100 to 3000" in text
    assert "goals beyond are cut" in text


def test_error_bits_have_names() -> None:
    assert hardware_error_text(0x24) == "0x24 (overheating, overload)"
    assert hardware_error_text(0x80) == "0x80 (bit 7)"
