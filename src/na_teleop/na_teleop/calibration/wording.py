# SPDX-License-Identifier: Apache-2.0
"""How to tell a person which way is positive: by where the tip of the arm goes."""

from __future__ import annotations

import numpy as np

from na_core.kinematics import Kinematics
from na_core.robot_types import RobotSpec

WAYS = (("back", "forward"), ("right", "left"), ("down", "up"))  # -, + along x, y, z of the base
LEAST_ARM = 0.02  # m per rad; a joint that moves the tip less turns about its own axis


def positive_way(spec: RobotSpec, joint: int) -> str:
    """Describe the positive direction of a joint when it leaves the park pose."""
    if spec.joints[joint].role == "gripper":
        return "so that the gripper opens"
    column = Kinematics(spec).jacobian(spec.home)[:, joint]
    axis = int(np.argmax(np.abs(column)))
    if abs(column[axis]) < LEAST_ARM:
        return "turning right (clockwise) as seen along the gripper"
    return f"so that the tip of the arm goes {WAYS[axis][int(column[axis] > 0.0)]}"
