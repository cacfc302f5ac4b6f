# SPDX-License-Identifier: Apache-2.0
"""Refuses recordings of another robot, rate or unit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from na_core.robot_spec import RobotSpec
from na_training.data.episode import DataError

Array = NDArray[np.float64]

RATE_TOLERANCE = 0.05
"""A recording whose rate differs from the robot's by more than this share is refused."""


def check_robot(name: str, robot: str, spec: RobotSpec) -> None:
    """Raise DataError when a recording names another robot."""
    if robot and robot != spec.robot:
        raise DataError(
            f"episode {name} was recorded with robot {robot!r}, expected {spec.robot!r}; pass "
            f"--robot {robot} to use it"
        )


def joint_order(name: str, joints: Sequence[str], spec: RobotSpec) -> list[int]:
    """Columns of the canonical joints; raises DataError naming those that are missing."""
    missing = [joint for joint in spec.names if joint not in joints]
    if missing:
        raise DataError(
            f"episode {name}: telemetry has joints {list(joints)}, {missing} of robot "
            f"{spec.robot!r} missing"
        )
    return [list(joints).index(joint) for joint in spec.names]


def check_units(name: str, position: Array, spec: RobotSpec) -> None:
    """Raise DataError when positions lie far outside the limits: degrees or counts, perhaps."""
    span = spec.upper - spec.lower
    with np.errstate(invalid="ignore"):
        outside = (position < spec.lower - 0.25 * span) | (position > spec.upper + 0.25 * span)
    for joint in range(spec.n):
        share = float(np.mean(outside[:, joint]))
        if share > 0.05:
            unit = "rad" if spec.joints[joint].type == "revolute" else "m"
            low, high = np.nanmin(position[:, joint]), np.nanmax(position[:, joint])
            raise DataError(
                f"episode {name}: {spec.names[joint]} moves from {low:.4g} to {high:.4g}, expected "
                f"[{unit}] within {spec.lower[joint]:.4g} to {spec.upper[joint]:.4g}; are these "
                "degrees or register counts?"
            )


def check_rate(name: str, time: Array, rate: float) -> None:
    """Raise DataError when the median rate differs by more than `RATE_TOLERANCE`."""
    found = 1.0 / float(np.median(np.diff(time)))
    if abs(found / rate - 1.0) > RATE_TOLERANCE:
        raise DataError(
            f"episode {name}: {found:.1f} Hz, expected {rate:.1f} Hz ± {RATE_TOLERANCE:.0%}; "
            "features and simulator are tied to the rate, so record or resample at it"
        )
