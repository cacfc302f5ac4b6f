# SPDX-License-Identifier: Apache-2.0
"""Command records as the follower configures its servos: the robot's modes and gains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from na_sim.servo.position_loop import MODE_CURRENT_POSITION, MODE_POSITION
from na_sim.servo.records import COMMAND_DTYPE, COUNTS_PER_RADIAN, FIRMWARE_FEETECH

if TYPE_CHECKING:
    from na_core.robot_spec import RobotSpec

Array = NDArray[np.float64]

# Factory gains in register units, for joints whose robot file gives none.
DYNAMIXEL_GAINS = (800.0, 0.0, 0.0)
FEETECH_GAINS = (32.0, 0.0, 32.0)
NO_LIMIT = 1e6


def goal_counts(parameters: NDArray[Any], position: Array) -> Array:
    """Goal register values (..., n) for joint positions (..., n) [rad or m], rounded."""
    p = parameters
    angle = position / p["scale"]
    return np.asarray(np.rint(p["zero_count"] + p["sign"] * angle * COUNTS_PER_RADIAN))


def holding_command(
    robot: RobotSpec, parameters: NDArray[Any], position: Array, *, torque: bool = True
) -> NDArray[Any]:
    """Command records (n,): the robot's modes and gains, goal at `position` (n,)."""
    c = np.zeros(robot.n, COMMAND_DTYPE)
    c["mode"] = MODE_POSITION
    c["torque_enable"] = int(torque)
    c["goal_position"] = goal_counts(parameters, position)
    for j, joint in enumerate(robot.joints):
        feetech = parameters[j]["firmware"] == FIRMWARE_FEETECH
        p, i, d = FEETECH_GAINS if feetech else DYNAMIXEL_GAINS
        if joint.gains is not None:
            p, i, d = float(joint.gains.p), float(joint.gains.i), float(joint.gains.d)
        c[j]["p"], c[j]["i"], c[j]["d"] = p, i, d
        if joint.operating_mode == "current_position":
            c[j]["mode"], c[j]["goal_current"] = MODE_CURRENT_POSITION, joint.goal_current or 0
    c["pwm_limit"] = parameters["pwm_full"]
    c["current_limit"] = NO_LIMIT
    c["velocity_limit"] = NO_LIMIT
    return c
