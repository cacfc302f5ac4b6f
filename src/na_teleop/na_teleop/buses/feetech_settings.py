# SPDX-License-Identifier: Apache-2.0
"""What this project needs in an STS servo's registers, per joint and role of the arm."""

from __future__ import annotations

import math

from na_core.robot_spec import RobotSpec
from na_teleop.buses.dynamixel_settings import Role, Setting

POSITION_MODE = 0
FULL_TORQUE = 1000  # 0.1 % of stall
SPEED_MARGIN = 1.2  # the servo's own speed limit over the joint's, which shapes the goals


def required_settings(spec: RobotSpec, joint: int, role: Role) -> tuple[Setting, ...]:
    """Return the settings of one joint, EEPROM before RAM, in the order of writing."""
    delay_us = spec.bus.return_delay_us if spec.bus is not None else 0
    servo = spec.joints[joint].servo
    settings = [
        Setting("status_return_level", 1, "every instruction must be acknowledged"),
        Setting(
            "return_delay_time",
            delay_us // 2,
            "the factory's 500 µs per servo would eat a fifth of the control period",
        ),
        Setting(
            "homing_offset",
            0 if servo is None else servo.homing_offset,
            "the zero is the `zero_count` of the robot file or calibration",
            ours=False,
        ),
    ]
    if role is Role.FOLLOWER:
        gains = spec.joints[joint].gains
        settings.append(Setting("operating_mode", POSITION_MODE, "goals are positions"))
        if gains is not None:
            why = "the gains of the robot file"
            settings += [
                Setting("position_p_gain", gains.p, why),
                Setting("position_d_gain", gains.d, why),
                Setting("position_i_gain", gains.i, why),
            ]
        settings += [
            Setting("acceleration", 0, "goals are already shaped, every tick"),
            Setting("goal_time", 0, "goals are already shaped, every tick"),
            Setting(
                "goal_velocity",
                speed_limit(spec, joint),
                "a goal garbled on the wire must not be reached faster than the joint may move",
            ),
        ]
    return tuple(settings)


def speed_limit(spec: RobotSpec, joint: int) -> int:
    """Return the speed at which the servo chases a goal [count/s], a little over the joint's."""
    limits = spec.joints[joint]
    servo_speed = abs(limits.velocity_limit / limits.ratio) * 4096.0 / (2.0 * math.pi)
    return min(math.ceil(SPEED_MARGIN * servo_speed), (1 << 15) - 1)
