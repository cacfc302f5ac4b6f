# SPDX-License-Identifier: Apache-2.0
"""The doctor's checks on made-up computers and on emulated arms, healthy and broken."""

from __future__ import annotations

import calendar
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from na_core.calibration import Calibration, JointCalibration, write_calibration
from na_core.robot_spec import RobotSpec
from na_teleop.buses.port import SerialPort
from na_teleop.doctor import host
from na_teleop.doctor import serial_port as ports
from na_teleop.doctor.arm import check_arm, check_calibration
from na_teleop.doctor.checks import Check, Page, Status

Maker = Callable[..., Any]


def by_name(checks: list[Check]) -> dict[str, Check]:
    return {check.name: check for check in checks}


def failed(checks: list[Check]) -> list[str]:
    return [check.name for check in checks if check.status is Status.FAIL]


# -- the page --------------------------------------------------------------------------------


def test_warnings_do_not_fail_a_page_and_failures_do() -> None:
    page = Page([Check("a", "one", Status.OK, "x"), Check("a", "two", Status.WARN, "y", "mend it")])
    assert page.ok and "ready: 0 failed, 1 warnings, 2 checks" in page.text()
    assert "→ mend it" in page.text()
    page.add([Check("b", "three", Status.FAIL, "z")])
    assert not page.ok and page.text().splitlines()[-1].startswith("not ready: 1 failed")
    assert page.as_dict()["checks"][2]["status"] == "FAIL"


# -- the computer ----------------------------------------------------------------------------


def test_a_clock_before_this_software_existed_is_wrong(tmp_path: Path) -> None:
    old = host.check_clock(tmp_path, now=calendar.timegm((2000, 1, 1, 0, 0, 0)))
    assert failed(old) == ["time"] and "says 2000" in old[0].found
    assert not failed(host.check_clock(tmp_path, now=calendar.timegm((2027, 1, 1, 0, 0, 0))))


def put(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n")


def test_slow_clock_sources_are_named(tmp_path: Path) -> None:
    name = "sys/devices/system/clocksource/clocksource0/current_clocksource"
    put(tmp_path, name, "hpet")
    assert by_name(host.check_clock(tmp_path))["source"].status is Status.WARN
    put(tmp_path, name, "tsc")
    assert by_name(host.check_clock(tmp_path))["source"].status is Status.OK


def test_a_saving_governor_is_worth_a_warning(tmp_path: Path) -> None:
    for core, governor in enumerate(("performance", "powersave")):
        put(tmp_path, f"sys/devices/system/cpu/cpu{core}/cpufreq/scaling_governor", governor)
    row = by_name(host.check_processor(tmp_path, load=0.1))["governor"]
    assert row.status is Status.WARN and "tee" in row.remedy
    busy = by_name(host.check_processor(tmp_path, load=1000.0))["load"]
    assert busy.status is Status.WARN


def test_a_full_or_read_only_disk_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not failed(host.check_disk(tmp_path / "bags" / "new"))
    assert not list(tmp_path.iterdir())  # nothing is left behind
    monkeypatch.setattr(host.shutil, "disk_usage", lambda _: type("U", (), {"free": 2e8})())
    monkeypatch.setattr(host, "_write_rate", lambda _: None)
    assert failed(host.check_disk(tmp_path)) == ["space", "writing"]


def test_late_wake_ups_are_told() -> None:
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds + 0.006

    (row,) = host.check_wake_up(lambda: now[0], sleep)
    assert row.status is Status.WARN and "6.00 ms" in row.found


def test_leftovers_in_shared_memory_are_counted(tmp_path: Path) -> None:
    for k in range(201):
        put(tmp_path, f"dev/shm/fastrtps_{k}", "")
    rows = by_name(host.check_ros({"ROS_DOMAIN_ID": "7"}, tmp_path))
    assert rows["shared memory"].status is Status.WARN
    assert rows["graph"].found.startswith("domain 7, discovery SUBNET")
    assert rows["rclpy"].status is Status.OK


# -- the port --------------------------------------------------------------------------------


def test_an_absent_port_lists_those_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "candidate_ports", lambda: ["/dev/ttyUSB3"])
    (row,) = ports.check_port("/dev/no-such-port")
    assert row.status is Status.FAIL and "/dev/ttyUSB3" in row.remedy


def test_a_file_is_no_port(tmp_path: Path) -> None:
    put(tmp_path, "arm", "")
    assert failed(ports.check_port(str(tmp_path / "arm")))[0] == "exists"


def test_a_port_without_permission_says_how_to_get_it(
    arm: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ports.os, "access", lambda *_: False)
    row = by_name(ports.check_port(arm.path))["permission"]
    assert row.status is Status.FAIL and "usermod -aG" in row.remedy and "udev" in row.remedy


def test_a_held_port_names_the_holder(arm: Any) -> None:
    other = SerialPort(arm.path, 1_000_000)
    other.openPort()
    try:
        row = by_name(ports.check_port(arm.path))["free"]
        assert row.status is Status.FAIL and f"process {os.getpid()}" in row.found
    finally:
        other.closePort()
    assert not failed(ports.check_port(arm.path))


def test_a_slow_adapter_gets_the_udev_rule(arm: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "latency_timer_ms", lambda _: 16)
    row = by_name(ports.check_port(arm.path))["latency timer"]
    assert row.status is Status.WARN and "16 ms" in row.found and "udev" in row.remedy


def test_a_name_that_may_change_is_noted(tmp_path: Path) -> None:
    device = tmp_path / "ttyUSB0"
    device.write_text("")
    by_id = tmp_path / "dev/serial/by-id"
    by_id.mkdir(parents=True)
    (by_id / "usb-U2D2-port0").symlink_to(device)
    row = by_name(ports.check_port(str(device), tmp_path))["name"]
    assert row.status is Status.NOTE and "usb-U2D2-port0" in row.remedy


# -- the arm ---------------------------------------------------------------------------------


def test_a_healthy_arm_passes_and_nothing_is_written(arm: Any, omx: RobotSpec) -> None:
    rows = check_arm(omx, arm.path, "follower")
    assert not failed(rows)
    names = by_name(rows)
    assert names["ids"].found.startswith("[11, 12, 13, 14, 15] of")
    assert names["voltage"].found == "12.0 to 12.0 V" and names["firmware"].found == "48"
    assert not arm.log.torque_writes() and not arm.log.writes(11)


@pytest.mark.parametrize(
    ("change", "name", "found"),
    [
        ({13: {"connected": False}}, "absent id", "joint3 (id 13)"),
        ({12: {"id": 1}}, "absent id", "joint2 (id 12)"),
        ({14: {"model": "xl430-w250"}}, "wrong model", "id 14 (joint4) is xl430-w250"),
        ({11: {"baud": 57_600}}, "wrong baud", "ids [11]"),
    ],
)
def test_broken_arms_fail_with_the_cause(
    make_arm: Maker, omx: RobotSpec, change: Any, name: str, found: str
) -> None:
    rows = check_arm(omx, make_arm(change).path, "follower")
    assert name in failed(rows)
    row = by_name(rows)[name]
    assert found in row.found and row.remedy


def test_what_concerns_every_servo_is_said_once(arm: Any, omx: RobotSpec) -> None:
    arm.change(voltage=66)
    rows = [r for r in check_arm(omx, arm.path, "follower") if r.name == "voltage"]
    assert len(rows) == 2  # the range, and the finding
    assert rows[0].status is Status.FAIL and "likewise ids [12, 13, 14, 15]" in rows[1].found


def test_a_leaders_calibration_is_checked(omx: RobotSpec, tmp_path: Path) -> None:
    joints = {}
    for joint in omx.joints:
        servo = joint.servo
        assert servo is not None
        joints[joint.name] = JointCalibration(
            servo.id, servo.model, servo.sign, 2100, 0, 100, 4000, joint.ratio
        )
    path = tmp_path / "leader.yaml"
    write_calibration(path, Calibration("omx", "leader", joints))
    applied, rows = check_calibration(omx, str(path), "leader")
    assert not failed(rows) and applied.calibration
    unchanged, rows = check_calibration(omx, str(path), "follower")
    assert rows[0].status is Status.FAIL and unchanged is omx
