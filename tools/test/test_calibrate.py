# SPDX-License-Identifier: Apache-2.0
"""`./na calibrate` as a command: emulated run, import, check, accept."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from na_cli.registry import UsageError
from na_cli.verbs import calibrate
from na_core.calibration import load_calibration
from na_core.robot_spec import load_robot_spec


def run(*words: str) -> int:
    parser = argparse.ArgumentParser()
    calibrate.add_arguments(parser)
    return calibrate.run(parser.parse_args(list(words)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("robot", "first", "second"),
    [("omx", "joint2", "joint4"), ("so101", "elbow_flex", "wrist_flex")],
)
def test_an_emulated_hand_finds_how_the_arm_is_built(
    robot: str, first: str, second: str, tmp_path: Path
) -> None:
    """Physics, wire and hand are real time: half a minute."""
    out = tmp_path / "arm.yaml"
    words = ["--robot", robot, "--arm", "leader", "--emulated", "--out", str(out)]
    assert run(*words, "--turned", f"{first}=120", "--flipped", second) == 0
    found = load_calibration(out)
    spec = load_robot_spec(robot)
    for joint in spec.joints:
        assert joint.servo is not None
        measured = found.joints[joint.name]
        expected = joint.servo.zero_count + (120 if joint.name == first else 0)
        assert abs(measured.zero_count - expected) <= 8
        assert measured.sign == joint.servo.sign * (-1 if joint.name == second else 1)


@pytest.mark.slow
def test_a_seam_in_the_range_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "arm.yaml"
    assert run("--emulated", "--turned", "joint3=1500", "--out", str(out)) == 1
    text = capsys.readouterr().out
    assert "seam" in text and "joint3 (id 13)" in text and not out.exists()


def lerobot_file(folder: Path) -> Path:
    rows = {
        f"motor{i}": {
            "id": i,
            "drive_mode": 0,
            "homing_offset": 12,
            "range_min": 800,
            "range_max": 3300,
        }
        for i in range(1, 7)
    }
    path = folder / "lerobot.json"
    path.write_text(json.dumps(rows))
    return path


def imported(tmp_path: Path, arm: str) -> Path:
    out = tmp_path / f"{arm}.yaml"
    words = ["--robot", "so101", "--arm", arm, "--out", str(out)]
    assert run(*words, "--import-lerobot", str(lerobot_file(tmp_path))) == 0
    return out


def test_an_import_is_written_with_its_hash(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = imported(tmp_path, "follower")
    assert load_calibration(out).hash in capsys.readouterr().out
    assert load_calibration(out).source == "LeRobot lerobot.json"


def test_an_import_for_another_robot_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = lerobot_file(tmp_path)
    out = tmp_path / "x.yaml"
    assert run("--robot", "omx", "--import-lerobot", str(file), "--out", str(out)) == 1
    assert "servo ids of robot omx" in capsys.readouterr().out and not out.exists()


def test_a_pair_is_checked_and_a_changed_file_accepted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    leader, follower = imported(tmp_path, "leader"), imported(tmp_path, "follower")
    assert run("--check", str(leader), str(follower)) == 0
    assert run("--check", str(follower), str(leader)) == 1
    assert "or they are swapped" in capsys.readouterr().out
    leader.write_text(leader.read_text().replace("zero_count: 2050", "zero_count: 2053"))
    assert run("--check", str(leader)) == 1
    assert "changed by hand" in capsys.readouterr().out
    assert run("--accept", str(leader)) == 0
    assert run("--check", str(leader)) == 0


def test_a_real_arm_needs_a_port() -> None:
    with pytest.raises(UsageError, match="--port is missing"):
        run("--robot", "omx")


def test_misspelt_joints_are_usage_errors() -> None:
    with pytest.raises(UsageError, match="joint9"):
        run("--emulated", "--flipped", "joint9")
    with pytest.raises(UsageError, match="expected JOINT=COUNTS"):
        run("--emulated", "--turned", "joint1:5")
