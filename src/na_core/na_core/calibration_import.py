# SPDX-License-Identifier: Apache-2.0
"""Calibrations made by LeRobot: JSON with id, drive_mode, homing_offset and range per motor."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from na_core.calibration import (
    COUNTS_PER_TURN,
    Calibration,
    CalibrationError,
    JointCalibration,
    check_joint,
)
from na_core.robot_types import JointSpec, RobotSpec

FIELDS = ("id", "drive_mode", "homing_offset", "range_min", "range_max")


def import_lerobot(path: str | Path, spec: RobotSpec, arm: str) -> Calibration:
    """Read LeRobot's calibration of one arm as ours.

    Counts there are those of the position register with `homing_offset` in the servo, as here. A
    joint of the arm has its zero in the middle of its range (what LeRobot calls degrees); the
    gripper has its lower limit at `range_min` (at `range_max` in reverse drive mode). Entries are
    matched by servo id, so the motors may have other names than our joints.

    Raises CalibrationError for a file that is not such a calibration or not of this robot.
    """
    path = Path(path)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CalibrationError(
            path, "(file)", error.strerror, "a LeRobot calibration (JSON)"
        ) from None
    except ValueError as error:
        raise CalibrationError(path, "(syntax)", str(error), "well-formed JSON") from None
    by_id = _by_id(path, content)
    wanted = {joint.servo.id: joint for joint in spec.joints if joint.servo is not None}
    if set(by_id) != set(wanted):
        raise CalibrationError(
            path,
            "id",
            sorted(by_id),
            f"{sorted(wanted)}, the servo ids of robot {spec.robot}",
            "name the robot that the file belongs to with --robot",
        )
    joints = {joint.name: _joint(path, *by_id[number], joint) for number, joint in wanted.items()}
    return Calibration(spec.robot, arm, joints, source=f"LeRobot {path.name}")


def _by_id(path: Path, content: Any) -> dict[int, tuple[str, dict[str, int]]]:
    if not isinstance(content, dict) or not content:
        raise CalibrationError(path, "(top level)", content, "one entry per motor")
    found: dict[int, tuple[str, dict[str, int]]] = {}
    for name, row in content.items():
        if not isinstance(row, dict):
            raise CalibrationError(path, name, row, f"the fields {', '.join(FIELDS)}")
        for field in FIELDS:
            value = row.get(field)
            if isinstance(value, bool) or not isinstance(value, int):
                raise CalibrationError(path, f"{name}.{field}", value, "an integer")
        if row["id"] in found:
            raise CalibrationError(path, f"{name}.id", row["id"], "an id of its own")
        if row["drive_mode"] not in (0, 1):
            raise CalibrationError(path, f"{name}.drive_mode", row["drive_mode"], "0 or 1")
        found[row["id"]] = (name, row)
    return found


def _joint(path: Path, name: str, row: dict[str, int], joint: JointSpec) -> JointCalibration:
    servo = joint.servo
    if servo is None:
        raise CalibrationError(path, name, row, "a joint with a servo")
    sign = servo.sign * (-1 if row["drive_mode"] else 1)
    low, high = row["range_min"], row["range_max"]
    if joint.role == "gripper":
        anchor, position = float(low if sign > 0 else high), joint.lower
    else:
        anchor, position = (low + high) / 2.0, 0.0
    per_count = joint.ratio * sign * 2.0 * np.pi / COUNTS_PER_TURN
    result = JointCalibration(
        id=row["id"],
        model=servo.model,
        sign=sign,
        zero_count=round(anchor - position / per_count),
        homing_offset=row["homing_offset"],
        range_min=low,
        range_max=high,
        ratio=joint.ratio,
    )
    check_joint(path, name, result)
    return result
