# SPDX-License-Identifier: Apache-2.0
"""What this project needs in a Dynamixel's registers, per joint and role of the arm."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from na_core.robot_spec import RobotSpec

POSITION_MODE = 3  # Operating Mode: position control within one turn
EXTENDED_POSITION_MODE = 4  # multi-turn; not used, because the power-on turn is unknown
CURRENT_POSITION_MODE = 5  # position control with a current limit, Goal Current


class Role(StrEnum):
    """Which end of the teleoperation an arm is."""

    LEADER = "leader"
    FOLLOWER = "follower"


@dataclass(frozen=True, slots=True)
class Setting:
    """One register that must hold `value`, why, and whether we may write it unasked.

    `ours` settings do not change where the joint is; the others (zero, direction) do, and are
    reported instead of mended unless the user asks for it.
    """

    register: str
    value: int
    why: str
    ours: bool = True


def required_settings(spec: RobotSpec, joint: int, role: Role) -> tuple[Setting, ...]:
    """Return the settings of one joint, EEPROM before RAM, in the order of writing."""
    delay_us = spec.bus.return_delay_us if spec.bus is not None else 0
    servo = spec.joints[joint].servo
    homing_offset = 0 if servo is None else servo.homing_offset
    settings = [
        Setting("status_return_level", 2, "every instruction must be acknowledged"),
        Setting(
            "return_delay_time",
            delay_us // 2,
            "the factory's 500 µs per servo would eat a sixth of the control period",
        ),
        Setting("drive_mode", 0, "direction is the `sign` of the robot file", ours=False),
        Setting(
            "homing_offset",
            homing_offset,
            "the zero is the `zero_count` of the robot file or calibration",
            ours=False,
        ),
    ]
    if role is Role.FOLLOWER:
        limited = spec.joints[joint].operating_mode == "current_position"
        mode = CURRENT_POSITION_MODE if limited else POSITION_MODE
        settings += [
            Setting("operating_mode", mode, "goals are positions"),
            Setting("profile_acceleration", 0, "goals are already shaped, every tick"),
            Setting("profile_velocity", 0, "goals are already shaped, every tick"),
        ]
        goal_current = spec.joints[joint].goal_current
        if limited and goal_current is not None:
            settings.append(
                Setting("goal_current", goal_current, "the current limit of the robot file")
            )
        gains = spec.joints[joint].gains
        if gains is not None:
            why = "the gains of the robot file"
            settings += [
                Setting("position_p_gain", gains.p, why),
                Setting("position_i_gain", gains.i, why),
                Setting("position_d_gain", gains.d, why),
            ]
    return tuple(settings)
