# SPDX-License-Identifier: Apache-2.0
"""Calibration of one arm: zero, direction, range and linkage per joint, in a file with a hash."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from na_core.robot_schema import StrictLoader
from na_core.robot_types import JointSpec, RobotSpec

SCHEMA = 1
ARMS = ("leader", "follower")
COUNTS_PER_TURN = 4096
END_MARGIN = 0.0175  # rad of the servo kept clear of each end of the measured range (1 degree)
REMEDY = "calibrate this arm: ./na calibrate --robot {robot} --arm {arm} --port PORT"

HEADER = """\
# Calibration of one arm, written by ./na calibrate. `hash` covers robot, arm and joints: after a
# change by hand, `./na calibrate --accept FILE` writes it anew. See docs/calibration.md.
"""


class CalibrationError(ValueError):
    """A calibration that cannot be used.

    Attributes:
        file: where it came from.
        key: dotted path of the entry concerned.
        value: what was found there.
        expected: what would have been accepted.
        remedy: what to do next.

    """

    def __init__(
        self, file: str | Path, key: str, value: object, expected: str, remedy: str = ""
    ) -> None:
        """Build the text from the evidence."""
        self.file, self.key, self.value = str(file), key, value
        self.expected, self.remedy = expected, remedy
        ending = f". {remedy[0].upper()}{remedy[1:]}" if remedy else ""
        super().__init__(f"{file}: {key} = {value!r}: expected {expected}{ending}")


@dataclass(frozen=True)
class JointCalibration:
    """One joint, in encoder counts as the position register reports them.

    Attributes:
        id: bus id of the servo.
        model: its model, a key of SERVO_MODELS.
        sign: +1 where growing counts mean a growing joint position, else -1.
        zero_count: count at joint position zero; outside 0..4095 when zero is out of reach.
        homing_offset: what the servo's own homing offset register must hold.
        range_min, range_max: lowest and highest count reached, 0..4095, no seam between them.
        ratio: joint units per servo radian.

    """

    id: int
    model: str
    sign: int
    zero_count: int
    homing_offset: int
    range_min: int
    range_max: int
    ratio: float

    def position(self, count: float) -> float:
        """Joint position [rad or m] at an encoder count."""
        turn = 2.0 * np.pi / COUNTS_PER_TURN
        return float(self.ratio * self.sign * (count - self.zero_count) * turn)

    @property
    def limits(self) -> tuple[float, float]:
        """Measured range as joint positions, lower and upper [rad or m]."""
        a, b = self.position(self.range_min), self.position(self.range_max)
        return min(a, b), max(a, b)


@dataclass(frozen=True)
class Calibration:
    """All joints of one arm.

    Attributes:
        robot: robot name.
        arm: "leader" or "follower".
        joints: by joint name, in canonical order.
        source: how it was made, for people.
        created: when, ISO 8601.
        path: file it was read from, None for one that was not.

    """

    robot: str
    arm: str
    joints: Mapping[str, JointCalibration]
    source: str = ""
    created: str = ""
    path: Path | None = None

    @property
    def hash(self) -> str:
        """SHA-256 (hex) of robot, arm and joints; not of when, how or where."""
        content = {"robot": self.robot, "arm": self.arm, "joints": _plain(self.joints)}
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def name(self) -> str:
        """The file, or how it was made, for messages."""
        return str(self.path or self.source or "calibration")


def _plain(joints: Mapping[str, JointCalibration]) -> dict[str, dict[str, Any]]:
    return {
        name: {field: getattr(joint, field) for field in JointCalibration.__dataclass_fields__}
        for name, joint in joints.items()
    }


def write_calibration(path: Path, calibration: Calibration) -> Calibration:
    """Write a file that `load_calibration` reads back, in one step; returns it with its path."""
    created = calibration.created or datetime.now(UTC).isoformat(timespec="seconds")
    content = {
        "schema": SCHEMA,
        "robot": calibration.robot,
        "arm": calibration.arm,
        "source": calibration.source,
        "created": created,
        "joints": _plain(calibration.joints),
        "hash": calibration.hash,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    text = HEADER + yaml.safe_dump(content, sort_keys=False, default_flow_style=None)
    part.write_text(text, encoding="utf-8")
    os.replace(part, path)
    return replace(calibration, path=path, created=created)


def load_calibration(path: str | Path, *, check_hash: bool = True) -> Calibration:
    """Read and check a calibration file.

    Raises CalibrationError for a file that is absent, malformed, or whose hash does not fit its
    content (`check_hash` False: accepted).
    """
    path = Path(path).expanduser()
    try:
        content = yaml.load(path.read_bytes(), Loader=StrictLoader)
    except OSError as error:
        raise CalibrationError(
            path,
            "(file)",
            error.strerror,
            "a readable calibration",
            "make one with ./na calibrate, or leave the parameter calibration empty",
        ) from None
    except yaml.YAMLError as error:
        detail = " ".join(str(error).split())
        raise CalibrationError(path, "(syntax)", detail, "well-formed YAML") from None
    calibration = _parse(path, content)
    written = content.get("hash")
    if check_hash and written != calibration.hash:
        raise CalibrationError(
            path,
            "hash",
            written,
            f"{calibration.hash}, as its content has it: the file was changed by hand",
            f"undo the change, or accept it with ./na calibrate --accept {path}",
        )
    return calibration


def _parse(path: Path, content: Any) -> Calibration:
    if not isinstance(content, dict):
        raise CalibrationError(path, "(top level)", content, "a mapping of named entries")
    if content.get("schema") != SCHEMA:
        raise CalibrationError(path, "schema", content.get("schema"), f"{SCHEMA}")
    if content.get("arm") not in ARMS:
        raise CalibrationError(path, "arm", content.get("arm"), " or ".join(ARMS))
    rows = content.get("joints")
    if not isinstance(rows, dict) or not rows:
        raise CalibrationError(path, "joints", rows, "one entry per joint")
    return Calibration(
        robot=str(content.get("robot", "")),
        arm=str(content["arm"]),
        joints={str(name): _joint(path, f"joints.{name}", row) for name, row in rows.items()},
        source=str(content.get("source", "")),
        created=str(content.get("created", "")),
        path=path,
    )


def _joint(path: Path, key: str, row: Any) -> JointCalibration:
    fields = JointCalibration.__dataclass_fields__
    if not isinstance(row, dict) or set(row) != set(fields):
        found = sorted(row) if isinstance(row, dict) else row
        raise CalibrationError(path, key, found, f"the entries {', '.join(fields)}")
    for name, value in row.items():
        kind: Any = {"model": str, "ratio": (int, float)}.get(name, int)
        if isinstance(value, bool) or not isinstance(value, kind):
            raise CalibrationError(path, f"{key}.{name}", value, "a number (model: a text)")
    joint = JointCalibration(**row)
    check_joint(path, key, joint)
    return joint


def check_joint(path: str | Path, key: str, joint: JointCalibration) -> None:
    """Refuse figures that no arm can have; CalibrationError names the entry."""
    if joint.sign not in (-1, 1):
        raise CalibrationError(path, f"{key}.sign", joint.sign, "1 or -1")
    if not np.isfinite(joint.ratio) or joint.ratio <= 0.0:
        raise CalibrationError(path, f"{key}.ratio", joint.ratio, "a number greater than 0")
    if not 0 <= joint.range_min < joint.range_max < COUNTS_PER_TURN:
        raise CalibrationError(
            path,
            f"{key}.range_min",
            (joint.range_min, joint.range_max),
            f"range_min < range_max, both in 0..{COUNTS_PER_TURN - 1}: the encoder's seam must "
            "lie outside the range",
            "turn the horn (or set the homing offset) so that mid-range is near 2048, then "
            "calibrate again",
        )


def check_fits(calibration: Calibration, spec: RobotSpec, arm: str) -> None:
    """Refuse a calibration of another robot, another arm, or other servos."""
    file = calibration.name
    remedy = REMEDY.format(robot=spec.robot, arm=arm)
    if calibration.robot != spec.robot:
        raise CalibrationError(
            file, "robot", calibration.robot, f"{spec.robot!r}, the robot in use", remedy
        )
    if calibration.arm != arm:
        raise CalibrationError(
            file,
            "arm",
            calibration.arm,
            f"{arm!r}: the two arms are calibrated apart, and this is the other one's file",
            remedy,
        )
    if tuple(calibration.joints) != spec.names:
        raise CalibrationError(
            file, "joints", list(calibration.joints), f"{list(spec.names)}", remedy
        )
    for joint, (name, measured) in zip(spec.joints, calibration.joints.items(), strict=True):
        servo = joint.servo
        if servo is None or (servo.id, servo.model) != (measured.id, measured.model):
            wanted = "no servo" if servo is None else f"id {servo.id}, {servo.model}"
            raise CalibrationError(
                file,
                f"joints.{name}",
                f"id {measured.id}, {measured.model}",
                f"{wanted}, as in {spec.path}",
                remedy,
            )


def check_pair(leader: Calibration, follower: Calibration) -> None:
    """Refuse two files that do not belong to one leader and one follower of one robot."""
    if leader.robot != follower.robot:
        raise CalibrationError(
            follower.name,
            "robot",
            follower.robot,
            f"{leader.robot!r}, the robot of {leader.name}",
            "calibrate both arms for the same robot",
        )
    for calibration, arm in ((leader, "leader"), (follower, "follower")):
        if calibration.arm != arm:
            raise CalibrationError(
                calibration.name,
                "arm",
                calibration.arm,
                f"{arm!r}",
                "give each arm its own file: one was given for both, or they are swapped",
            )


def apply_calibration(spec: RobotSpec, calibration: Calibration, arm: str) -> RobotSpec:
    """Return the robot as this very arm is built: zero, sign, ratio, narrower limits, hash.

    Limits are the robot file's, cut to what the joint was seen to reach less a margin. Raises
    CalibrationError when the file is not this arm's, or the park pose lies outside.
    """
    check_fits(calibration, spec, arm)
    joints = tuple(
        _applied(joint, measured)
        for joint, measured in zip(spec.joints, calibration.joints.values(), strict=True)
    )
    for joint, home in zip(joints, spec.home, strict=True):
        if not joint.lower <= home <= joint.upper:
            raise CalibrationError(
                calibration.name,
                f"joints.{joint.name}",
                (round(joint.lower, 4), round(joint.upper, 4)),
                f"a range that contains the park pose {home:.4g} of {spec.path}",
                "sweep the joint over its whole range, and check the pose held while homing",
            )
    return replace(spec, joints=joints, calibration=calibration.hash)


def _applied(joint: JointSpec, measured: JointCalibration) -> JointSpec:
    if joint.servo is None:
        raise CalibrationError(joint.name, "servo", None, "a joint with a servo")
    low, high = measured.limits
    margin = END_MARGIN * measured.ratio
    servo = replace(
        joint.servo,
        sign=measured.sign,
        zero_count=measured.zero_count,
        homing_offset=measured.homing_offset,
    )
    return replace(
        joint,
        servo=servo,
        ratio=measured.ratio,
        lower=max(joint.lower, low + margin),
        upper=min(joint.upper, high - margin),
    )
