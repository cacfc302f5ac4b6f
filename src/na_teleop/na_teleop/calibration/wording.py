# SPDX-License-Identifier: Apache-2.0
"""How to tell a person which way to move a joint: by where the tip of the arm goes."""

from __future__ import annotations

import numpy as np

from na_core.kinematics import Kinematics
from na_core.robot_types import RobotSpec

WAYS = (("back", "forward"), ("right", "left"), ("down", "up"))  # -, + along x, y, z of the base
LEAST_ARM = 0.02  # m per rad; a joint that moves the tip less turns about its own axis


ROOM = 0.45  # rad of the servo that a direction check needs


def free_direction(spec: RobotSpec, joint: int) -> int:
    """Return +1, or -1 where only the negative direction has room at the park pose."""
    entry, home = spec.joints[joint], spec.home[joint]
    above, below = entry.upper - home, home - entry.lower
    return 1 if above >= ROOM * entry.ratio or above >= below else -1


def way_of(spec: RobotSpec, joint: int, direction: int = 1) -> str:
    """Describe the positive (+1) or negative direction of a joint when it leaves the park pose."""
    if spec.joints[joint].role == "gripper":
        return "so that the gripper opens" if direction > 0 else "so that the gripper closes"
    kinematics = Kinematics(spec)
    column = direction * kinematics.jacobian(spec.home)[:, joint]
    axis = int(np.argmax(np.abs(column)))
    if abs(column[axis]) < LEAST_ARM:
        return _turning(spec, kinematics, joint, direction)
    return f"so that the tip of the arm goes {WAYS[axis][int(column[axis] > 0.0)]}"


def _turning(spec: RobotSpec, kinematics: Kinematics, joint: int, direction: int) -> str:
    """Sense of a joint that turns about the arm's own axis, seen from behind it."""
    axis = direction * kinematics.axes(spec.home)[:, joint]
    along = kinematics.fk(spec.home).position - kinematics.origins(spec.home)[:, joint]
    clockwise = float(axis @ along) > 0.0
    side = "right (clockwise)" if clockwise else "left (anticlockwise)"
    return f"turning {side} as seen from the base along the gripper"
