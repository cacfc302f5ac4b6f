# SPDX-License-Identifier: Apache-2.0
"""Array layouts of servo parameters, state and commands: one record per (episode, joint).

All angles are of the servo's output shaft, positive in the joint's positive direction, so that
`joint = scale * angle` with `scale` the joint units per servo radian (rad or m).
"""

from __future__ import annotations

import numpy as np

COUNTS_PER_TURN = 4096
COUNTS_PER_RADIAN = COUNTS_PER_TURN / (2.0 * np.pi)
RPM = 2.0 * np.pi / 60.0  # rad/s per rev/min

FIRMWARE_DYNAMIXEL = 0
FIRMWARE_FEETECH = 1

PARAMETER_DTYPE = np.dtype(
    [
        ("scale", "f8"),  # joint units per servo radian, positive [rad/rad or m/rad]
        ("sign", "f8"),  # +1 or -1: direction of counts against the joint
        ("zero_count", "f8"),  # counts at joint zero
        ("firmware", "i8"),  # FIRMWARE_*
        ("pwm_full", "f8"),  # PWM register value of 100 % duty
        ("max_duty", "f8"),  # largest duty that the bridge delivers [-]
        ("loop_p", "f8"),  # PWM counts per position count, per gain unit
        ("loop_i", "f8"),  # PWM counts per (count * ms), per gain unit
        ("loop_d", "f8"),  # PWM counts per (count / ms), per gain unit
        ("loop_ff1", "f8"),  # PWM counts per (count / ms), per gain unit
        ("loop_ff2", "f8"),  # PWM counts per (count / ms^2), per gain unit
        ("dead_zone", "f8"),  # position errors up to this are taken as zero [counts]
        ("velocity_unit", "f8"),  # velocity register unit [rad/s]
        ("acceleration_unit", "f8"),  # profile acceleration unit [rad/s^2]
        ("current_unit", "f8"),  # current register unit [A]
        ("velocity_filter", "f8"),  # time constant of the velocity estimate [s]
        ("current_filter", "f8"),  # time constant of the current measurement [s]
        ("resistance", "f8"),  # winding resistance at 25 degC [ohm]
        ("copper", "f8"),  # relative change of resistance [1/K]
        ("torque_constant", "f8"),  # Kt = Ke at 25 degC, at the output [N m/A]
        ("magnet", "f8"),  # relative change of the torque constant [1/K], negative
        ("inertia", "f8"),  # rotor and gears reflected to the output [kg m^2]
        ("friction_family", "i8"),  # 1..6, see friction.py
        ("coulomb", "f8"),  # [N m]
        ("stribeck", "f8"),  # extra friction at rest [N m]
        ("viscous", "f8"),  # [N m s/rad]
        ("stribeck_velocity", "f8"),  # [rad/s]
        ("stribeck_exponent", "f8"),  # [-]
        ("load_motor", "f8"),  # friction per motor torque (M5, M6) or per load (M3, M4) [-]
        ("load_external", "f8"),  # friction per external torque [-]
        ("load_motor_stribeck", "f8"),  # [-]
        ("load_external_stribeck", "f8"),  # [-]
        ("quad_motor", "f8"),  # [1/(N m)]
        ("quad_external", "f8"),  # [1/(N m)]
        ("friction_temperature", "f8"),  # relative change of viscous friction [1/K], negative
        ("backlash", "f8"),  # full width of the dead zone at the output [rad]
        ("stiffness", "f8"),  # gear stiffness at the output [N m/rad]
        ("gear_damping", "f8"),  # damping of engaged gears [N m s/rad]
        ("link_damping", "f8"),  # bearings of the link [N m s/rad]
        ("encoder_on_rotor", "i8"),  # 1: compliance lies behind the encoder (gripper linkage)
        ("encoder_amplitude", "f8"),  # once-per-turn encoder error [counts]
        ("encoder_phase", "f8"),  # [rad]
        ("heat_to_housing", "f8"),  # thermal resistance winding to housing [K/W]
        ("heat_to_air", "f8"),  # thermal resistance housing to air [K/W]
        ("heat_winding", "f8"),  # heat capacity of the winding [J/K]
        ("heat_housing", "f8"),  # heat capacity of the housing [J/K]
        ("ambient", "f8"),  # air temperature [degC]
        ("idle_current", "f8"),  # supply current of the electronics [A]
        ("current_noise", "f8"),  # standard deviation of one reading [A]
        ("current_bias", "f8"),  # [A]
        ("current_gain", "f8"),  # multiplies the true current [-]
        ("voltage_bias", "f8"),  # [V]
        ("voltage_noise", "f8"),  # [V]
        ("temperature_bias", "f8"),  # [K]
        ("position_noise", "f8"),  # [counts]
        ("velocity_noise", "f8"),  # [velocity register units]
    ]
)

STATE_DTYPE = np.dtype(
    [
        ("angle", "f8"),  # rotor angle at the output [rad]
        ("velocity", "f8"),  # rotor velocity at the output [rad/s]
        ("link_angle", "f8"),  # output shaft (link side of the gears) [rad]
        ("link_velocity", "f8"),  # [rad/s]
        ("winding", "f8"),  # winding temperature [degC]
        ("housing", "f8"),  # housing temperature [degC]
        ("integral", "f8"),  # integral of the position error [count ms]
        ("velocity_integral", "f8"),  # integral of the velocity loop [PWM counts]
        ("error_lag", "f8"),  # low-passed position error [counts]
        ("count_lag", "f8"),  # low-passed present position [counts]
        ("count", "f8"),  # present position, firmware's own [counts], without homing offset
        ("velocity_estimate", "f8"),  # [counts/s]
        ("trajectory", "f8"),  # profile position [counts]
        ("trajectory_velocity", "f8"),  # profile velocity [counts/s]
        ("pwm", "f8"),  # output [PWM counts], servo direction
        ("current", "f8"),  # winding current [A], joint direction
        ("current_lag", "f8"),  # filtered current [A], joint direction
        ("motor_torque", "f8"),  # Kt i [N m], joint direction
        ("gear_torque", "f8"),  # rotor on link [N m], joint direction
        ("friction_torque", "f8"),  # friction on rotor [N m]
        ("enabled", "i8"),  # torque was on in the last step
    ]
)

COMMAND_DTYPE = np.dtype(
    [
        ("mode", "i8"),
        ("torque_enable", "i8"),
        ("time_based", "i8"),  # drive mode bit 2
        ("goal_position", "f8"),  # counts of the shaft
        ("goal_velocity", "f8"),  # register units
        ("goal_current", "f8"),  # register units
        ("goal_pwm", "f8"),  # PWM counts
        ("profile_velocity", "f8"),
        ("profile_acceleration", "f8"),
        ("p", "f8"),
        ("i", "f8"),
        ("d", "f8"),
        ("ff1", "f8"),
        ("ff2", "f8"),
        ("velocity_p", "f8"),
        ("velocity_i", "f8"),
        ("pwm_limit", "f8"),
        ("current_limit", "f8"),
        ("velocity_limit", "f8"),
    ]
)

SUPPLY_DTYPE = np.dtype(
    [
        ("open_circuit", "f8"),  # supply voltage without load [V]
        ("resistance", "f8"),  # supply and cable [ohm]
        ("voltage", "f8"),  # voltage at the chain now [V]
        ("current", "f8"),  # current drawn by the chain now [A]
    ]
)
