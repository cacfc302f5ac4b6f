# SPDX-License-Identifier: Apache-2.0
"""From what the steps found to a calibration, or to the list of what is wrong with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from na_core.calibration import Calibration, JointCalibration
from na_core.robot_types import JointSpec, RobotSpec
from na_teleop.calibration.steps import COUNTS, TURN, JointRange

LEAST_SHARE = 0.5  # a sweep shorter than this share of the robot's range was not one
OVERSHOOT = 0.14  # rad of the servo beyond the robot's limits that is still plausible (8 degrees)
LINKAGE_TOLERANCE = 0.15  # largest relative difference of a measured linkage from the robot file's


class CalibrationRefusedError(Exception):
    """The figures contradict the robot; `problems` names each joint, value and remedy."""

    def __init__(self, problems: Sequence[str]) -> None:
        """One line per problem."""
        self.problems = tuple(problems)
        lines = "\n".join(f"  {problem}" for problem in self.problems)
        super().__init__(f"calibration refused:\n{lines}")


@dataclass(frozen=True, slots=True)
class Findings:
    """What the steps found.

    Attributes:
        home: counts (n,) in the reference pose, the robot's park pose.
        signs: +1 or -1 per joint.
        ranges: per joint, not folded into one turn.
        travel: measured travel of the gripper between its ends [m], None: not measured.
        homing_offset: register per joint.

    """

    home: COUNTS
    signs: tuple[int, ...]
    ranges: tuple[JointRange, ...]
    travel: float | None = None
    homing_offset: tuple[int, ...] | None = None


def assemble(spec: RobotSpec, arm: str, found: Findings, source: str) -> Calibration:
    """Return the calibration; CalibrationRefusedError lists every problem at once."""
    problems: list[str] = []
    joints: dict[str, JointCalibration] = {}
    for i, joint in enumerate(spec.joints):
        offset = 0 if found.homing_offset is None else found.homing_offset[i]
        count = int(found.home[i])
        ratio = _ratio(joint, found.ranges[i], found.travel, problems)
        result = _joint(joint, count, found.signs[i], found.ranges[i], ratio, spec.home[i], offset)
        _check(joint, result, found.ranges[i], count, problems)
        joints[joint.name] = result
    if problems:
        raise CalibrationRefusedError(problems)
    return Calibration(spec.robot, arm, joints, source=source)


def _ratio(joint: JointSpec, seen: JointRange, travel: float | None, problems: list[str]) -> float:
    """Joint units per servo radian; measured only for a gripper whose travel was given."""
    if joint.role != "gripper" or joint.type != "prismatic" or travel is None or not seen.span:
        return joint.ratio
    measured = travel / (seen.span * 2.0 * np.pi / TURN)
    if abs(measured / joint.ratio - 1.0) > LINKAGE_TOLERANCE:
        problems.append(
            f"{joint.name}: {1e3 * travel:.1f} mm of travel over {seen.span} counts make a linkage "
            f"of {1e3 * measured:.3f} mm/rad, the robot file has {1e3 * joint.ratio:.3f}: open and "
            "close it fully, and measure the travel of one finger"
        )
    return float(measured)


def _joint(
    joint: JointSpec,
    count: int,
    sign: int,
    seen: JointRange,
    ratio: float,
    home: float,
    offset: int,
) -> JointCalibration:
    if joint.servo is None:
        raise CalibrationRefusedError([f"{joint.name}: has no servo"])
    turns = seen.low // TURN  # fold so that the low end is within one turn
    zero = count - sign * home / ratio * TURN / (2.0 * np.pi)
    return JointCalibration(
        id=joint.servo.id,
        model=joint.servo.model,
        sign=sign,
        zero_count=round(zero) - turns * TURN,
        homing_offset=offset,
        range_min=seen.low - turns * TURN,
        range_max=seen.high - turns * TURN,
        ratio=ratio,
    )


def _check(
    joint: JointSpec,
    result: JointCalibration,
    seen: JointRange,
    home_count: int,
    problems: list[str],
) -> None:
    name = f"{joint.name} (id {result.id})"
    if result.range_max >= TURN:
        problems.append(
            f"{name}: the encoder's seam (count 4095 to 0) lies inside its range, "
            f"{result.range_min} to {result.range_max}: position control cannot pass it. Take the "
            "horn off and mount it turned by "
            f"{_turn_needed(result)} so that mid-range is near count 2048, then calibrate again"
        )
        return
    wanted = (joint.upper - joint.lower) / joint.ratio * TURN / (2.0 * np.pi)
    if seen.span < LEAST_SHARE * wanted:
        problems.append(
            f"{name}: swept {seen.span} counts, expected about {wanted:.0f}: move it from end to "
            "end"
        )
        return
    if not seen.low <= home_count <= seen.high:
        problems.append(
            f"{name}: stood at count {home_count} in the reference pose, outside the swept range "
            f"{seen.low} to {seen.high}: sweep over the whole range"
        )
    slack = OVERSHOOT * result.ratio
    low, high = result.limits
    if low < joint.lower - slack or high > joint.upper + slack:
        problems.append(
            f"{name}: reaches {low:.3f} to {high:.3f}, the robot file allows {joint.lower:.3f} to "
            f"{joint.upper:.3f}: hold the reference pose more exactly, or the horn sits wrong"
        )


def _turn_needed(result: JointCalibration) -> str:
    degrees = ((result.range_min + result.range_max) / 2.0 - TURN / 2.0) * 360.0 / TURN
    return f"{round(degrees) % 360} degrees"
