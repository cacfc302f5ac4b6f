# SPDX-License-Identifier: Apache-2.0
"""Calibration files: what they change in a robot, and each way in which one is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from na_core.calibration import (
    Calibration,
    CalibrationError,
    JointCalibration,
    apply_calibration,
    check_pair,
    load_calibration,
    write_calibration,
)
from na_core.calibration_import import import_lerobot
from na_core.raw_si import JointConversion
from na_core.robot_spec import RobotSpec, load_robot_spec


@pytest.fixture(scope="module")
def omx() -> RobotSpec:
    return load_robot_spec("omx")


@pytest.fixture
def made(omx: RobotSpec) -> Calibration:
    """A leader whose joint2 is 100 counts off and whose joint4 turns the other way."""
    joints = {}
    for joint in omx.joints:
        assert joint.servo is not None
        zero = 2148 if joint.name == "joint2" else 2048
        sign = -joint.servo.sign if joint.name == "joint4" else joint.servo.sign
        joints[joint.name] = JointCalibration(
            joint.servo.id, joint.servo.model, sign, zero, 0, 700, 3300, joint.ratio
        )
    return Calibration("omx", "leader", joints, source="test")


def test_a_file_comes_back_as_it_was_written(made: Calibration, tmp_path: Path) -> None:
    written = write_calibration(tmp_path / "sub" / "leader.yaml", made)
    read = load_calibration(tmp_path / "sub" / "leader.yaml")
    assert read == written and read.hash == made.hash
    assert [path.name for path in (tmp_path / "sub").iterdir()] == ["leader.yaml"]


def test_the_hash_covers_figures_and_not_the_story(made: Calibration) -> None:
    assert replace(made, source="other", created="later").hash == made.hash
    assert replace(made, arm="follower").hash != made.hash
    moved = {**made.joints, "joint1": replace(made.joints["joint1"], zero_count=2049)}
    assert replace(made, joints=moved).hash != made.hash


def test_a_file_changed_by_hand_is_refused_with_the_remedy(
    made: Calibration, tmp_path: Path
) -> None:
    path = tmp_path / "leader.yaml"
    write_calibration(path, made)
    path.write_text(path.read_text().replace("zero_count: 2148", "zero_count: 2150"))
    with pytest.raises(CalibrationError, match=r"changed by hand.*--accept"):
        load_calibration(path)
    assert load_calibration(path, check_hash=False).joints["joint2"].zero_count == 2150


def test_applied_zero_sign_and_limits_reach_the_conversion(
    omx: RobotSpec, made: Calibration
) -> None:
    spec = apply_calibration(omx, made, "leader")
    assert spec.calibration == made.hash and spec.digest == omx.digest
    position = JointConversion(spec).position_from_raw([2048, 2148, 2048, 3072, 2048])
    np.testing.assert_allclose(position, [0.0, 0.0, 0.0, -np.pi / 2, 0.0], atol=1e-12)
    # joint1: the file allows 3.14, the sweep ended at counts 700 and 3300.
    assert spec.upper[0] == pytest.approx((3300 - 2048) * 2 * np.pi / 4096 - 0.0175)
    assert spec.upper[1] == omx.upper[1]
    assert omx.joints[1].servo is not None and omx.joints[1].servo.zero_count == 2048


def _row(changes: dict[str, Any]) -> Any:
    def change(content: dict[str, Any]) -> None:
        content["joints"]["joint2"].update(changes)

    return change


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda c: c.update(schema=7), r"schema = 7"),
        (lambda c: c.update(arm="middle"), r"arm = 'middle': expected leader or follower"),
        (lambda c: c["joints"].clear(), r"joints = .*one entry per joint"),
        (lambda c: c["joints"]["joint2"].pop("sign"), r"joints\.joint2 = .*the entries id"),
        (_row({"sign": 0}), r"joints\.joint2\.sign = 0: expected 1 or -1"),
        (_row({"ratio": 0.0}), r"joints\.joint2\.ratio"),
        (_row({"zero_count": "2048"}), r"joints\.joint2\.zero_count = '2048'"),
        (_row({"range_max": 4200}), r"seam must lie outside.*Turn the horn"),
        (_row({"range_min": 3400}), r"range_min < range_max"),
    ],
)
def test_malformed_files_name_the_entry(
    made: Calibration, tmp_path: Path, change: Any, expected: str
) -> None:
    path = tmp_path / "leader.yaml"
    write_calibration(path, made)
    content = yaml.safe_load(path.read_text())
    change(content)
    path.write_text(yaml.safe_dump(content))
    with pytest.raises(CalibrationError, match=expected):
        load_calibration(path)


def test_an_absent_file_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(CalibrationError, match=r"No such file.*\./na calibrate"):
        load_calibration(tmp_path / "none.yaml")


@pytest.mark.parametrize(
    ("robot", "arm", "expected"),
    [
        ("so101", "leader", r"robot = 'omx': expected 'so101', the robot in use. Calibrate"),
        ("omx", "follower", r"arm = 'leader': expected 'follower'.*the other one's file"),
    ],
)
def test_another_robots_or_arms_file_is_refused(
    made: Calibration, robot: str, arm: str, expected: str
) -> None:
    with pytest.raises(CalibrationError, match=expected):
        apply_calibration(load_robot_spec(robot), made, arm)


def test_other_servos_are_refused(omx: RobotSpec, made: Calibration) -> None:
    other = {**made.joints, "joint3": replace(made.joints["joint3"], id=21)}
    with pytest.raises(CalibrationError, match=r"joints\.joint3 = 'id 21.*expected id 13"):
        apply_calibration(omx, replace(made, joints=other), "leader")


def test_a_range_without_the_park_pose_is_refused(omx: RobotSpec, made: Calibration) -> None:
    narrow = {**made.joints, "joint2": replace(made.joints["joint2"], range_min=2000)}
    with pytest.raises(CalibrationError, match=r"contains the park pose -1\.05"):
        apply_calibration(omx, replace(made, joints=narrow), "leader")


def test_a_pair_of_files_must_be_one_leader_and_one_follower(made: Calibration) -> None:
    follower = replace(made, arm="follower")
    check_pair(made, follower)
    with pytest.raises(CalibrationError, match="Give each arm its own file"):
        check_pair(made, made)
    with pytest.raises(CalibrationError, match="robot = 'so101': expected 'omx'"):
        check_pair(made, replace(follower, robot="so101"))


SO101 = ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper")


@pytest.fixture
def lerobot(tmp_path: Path) -> tuple[Path, dict[str, dict[str, int]]]:
    """A file as LeRobot writes it."""
    rows = {
        name: {
            "id": i + 1,
            "drive_mode": int(name == "wrist_flex"),
            "homing_offset": -40 + i,
            "range_min": 900,
            "range_max": 3300 + 2 * i,
        }
        for i, name in enumerate(SO101)
    }
    path = tmp_path / "blue_follower.json"
    path.write_text(json.dumps(rows))
    return path, rows


def test_lerobots_file_becomes_ours(lerobot: tuple[Path, dict[str, dict[str, int]]]) -> None:
    path, rows = lerobot
    spec = load_robot_spec("so101")
    found = import_lerobot(path, spec, "follower")
    pan, flex, grip = (found.joints[n] for n in ("shoulder_pan", "wrist_flex", "gripper"))
    assert (pan.zero_count, pan.sign, pan.homing_offset) == (2100, 1, -40)
    assert flex.sign == -1 and flex.zero_count == round((900 + 3306) / 2)
    # Closed gripper: the robot's lower limit at range_min.
    assert grip.position(900) == pytest.approx(spec.joints[5].lower, abs=2e-3)
    applied = apply_calibration(spec, found, "follower")
    servo = applied.joints[0].servo
    assert servo is not None and servo.homing_offset == rows["shoulder_pan"]["homing_offset"]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda r: r["elbow_flex"].pop("drive_mode"), r"elbow_flex\.drive_mode = None"),
        (lambda r: r["elbow_flex"].update(drive_mode=2), "expected 0 or 1"),
        (lambda r: r["elbow_flex"].update(id=4), "an id of its own"),
        (lambda r: r.pop("gripper"), r"the servo ids of robot so101"),
        (lambda r: r["elbow_flex"].update(range_max=5000), "seam must lie outside"),
        (lambda r: r["elbow_flex"].update(range_min=900.5), r"range_min = 900\.5"),
    ],
)
def test_lerobots_mistakes_are_named(
    lerobot: tuple[Path, dict[str, dict[str, int]]], change: Any, expected: str
) -> None:
    path, rows = lerobot
    change(rows)
    path.write_text(json.dumps(rows))
    with pytest.raises(CalibrationError, match=expected):
        import_lerobot(path, load_robot_spec("so101"), "follower")
