# SPDX-License-Identifier: Apache-2.0
"""The robot as this arm is built: robot file and calibration put together, or refused."""

from __future__ import annotations

from dataclasses import dataclass

from na_core.calibration import (
    Calibration,
    CalibrationError,
    apply_calibration,
    check_pair,
    load_calibration,
)
from na_core.robot_spec import RobotSpec, load_robot_spec
from na_teleop.arm_start import ArmParameters


def arm_spec(arm: ArmParameters, role: str) -> RobotSpec:
    """Load robot file and calibration of an arm ("leader" or "follower").

    Raises RobotSpecError or CalibrationError, which say what does not fit and what to do.
    """
    spec = load_robot_spec(arm.robot)
    if not arm.calibration:
        return spec
    return apply_calibration(spec, load_calibration(arm.calibration), role)


@dataclass(frozen=True, slots=True)
class PairCalibration:
    """Calibrations of both arms of a pair, as the recorder is told them; empty: none."""

    leader: str = ""
    follower: str = ""

    def recorded_hash(self, robot: str, given: str = "") -> str:
        """Return the hash that goes into recordings: the follower's, whose telemetry is learned.

        `given`: a hash stated by hand, which must agree. Raises CalibrationError when a file
        cannot be used for `robot`, when the two do not belong together, or when hashes differ.
        """
        spec = load_robot_spec(robot)
        found: dict[str, Calibration] = {}
        for role, path in (("leader", self.leader), ("follower", self.follower)):
            if path:
                found[role] = load_calibration(path)
        if len(found) == 2:
            check_pair(found["leader"], found["follower"])
        for role, calibration in found.items():
            apply_calibration(spec, calibration, role)
        if "follower" not in found:
            return given
        follower = found["follower"]
        if given and given != follower.hash:
            raise CalibrationError(
                follower.name,
                "hash",
                follower.hash,
                f"{given}, as parameter calibration_hash says",
                "leave calibration_hash empty, or name the file that it belongs to",
            )
        return follower.hash
