# SPDX-License-Identifier: Apache-2.0
"""The servo's own controller, in register units: position, velocity, current and PWM modes.

Dynamixel X (e-manual of XM430-W350, "Position PID Gain"): KPP = P/128, KPI = I/65536,
KPD = D/16, feed-forward FF1/4 and FF2/4, output in PWM counts with 885 = 100 %. The manual gives
no time unit; one sample of the loop is taken as 1 ms, so that the integral counts count*ms and the
derivative counts/ms. BAM measured P/256 on an XL330, which is set in the XL330's parameters.

Feetech STS3215: duty = P * 0.166 * error[rad] was measured with an oscilloscope by BAM at P = 32;
the output is in 0.1 % of the supply. Scales of I and D are not published: those of the records
are guesses and are marked so in catalogue.py.
"""

from __future__ import annotations

import math
from typing import Any

from na_sim.servo.jit import compiled
from na_sim.servo.motor import duty_window
from na_sim.servo.profile import profile_step
from na_sim.servo.records import COUNTS_PER_RADIAN

MODE_CURRENT = 0
MODE_VELOCITY = 1
MODE_POSITION = 3
MODE_EXTENDED_POSITION = 4
MODE_CURRENT_POSITION = 5
MODE_PWM = 16

MS = 1000.0


@compiled
def measure(p: Any, s: Any, dt: float) -> None:
    """Refresh the firmware's own count, its low-passed copy and velocity estimate."""
    shaft = s.angle if p.encoder_on_rotor != 0 else s.link_angle
    turn = p.zero_count + p.sign * shaft * COUNTS_PER_RADIAN
    error = p.encoder_amplitude * math.sin(shaft + p.encoder_phase)
    s.count = math.floor(turn + error + 0.5)
    blend = dt / (p.velocity_filter + dt)
    s.count_lag += blend * (s.count - s.count_lag)
    s.velocity_estimate = (s.count - s.count_lag) / p.velocity_filter


@compiled
def reset_loop(p: Any, s: Any) -> None:
    """Forget integrals and start the trajectory where the shaft is (torque switched on)."""
    s.integral = 0.0
    s.velocity_integral = 0.0
    s.trajectory = s.count
    s.trajectory_velocity = 0.0
    s.error_lag = 0.0


@compiled
def position_output(p: Any, s: Any, c: Any, dt: float) -> float:
    """PWM [counts] of the position PID with feed-forward; advances integral and lag."""
    before = s.trajectory_velocity
    profile_step(p, s, c, dt)
    error = s.trajectory - s.count
    if abs(error) <= p.dead_zone:
        error = 0.0
    blend = dt / (p.velocity_filter + dt)
    s.error_lag += blend * (error - s.error_lag)
    rate = (error - s.error_lag) / (p.velocity_filter * MS)  # counts/ms
    gain_i = c.i * p.loop_i
    if gain_i > 0.0:
        bound = c.pwm_limit / gain_i
        s.integral = min(max(s.integral + error * dt * MS, -bound), bound)
    else:
        s.integral = 0.0
    speed = s.trajectory_velocity / MS
    change = (s.trajectory_velocity - before) / (dt * MS * MS)
    output = c.p * p.loop_p * error + gain_i * s.integral + c.d * p.loop_d * rate
    return float(output + c.ff1 * p.loop_ff1 * speed + c.ff2 * p.loop_ff2 * change)


@compiled
def velocity_output(p: Any, s: Any, c: Any, dt: float) -> float:
    """PWM [counts] of the velocity PI loop (Dynamixel X: KVP = P/128, KVI = I/65536)."""
    unit = p.velocity_unit * COUNTS_PER_RADIAN
    wanted = min(max(c.goal_velocity, -c.velocity_limit), c.velocity_limit)
    top = c.profile_acceleration * p.acceleration_unit * COUNTS_PER_RADIAN
    change = wanted * unit - s.trajectory_velocity
    if top > 0.0:
        change = min(max(change, -top * dt), top * dt)
    s.trajectory_velocity += change
    s.trajectory = s.count
    error = (s.trajectory_velocity - s.velocity_estimate) / unit
    bound = c.pwm_limit
    s.velocity_integral += c.velocity_i / 65536.0 * error * dt * MS
    s.velocity_integral = min(max(s.velocity_integral, -bound), bound)
    return float(c.velocity_p / 128.0 * error + s.velocity_integral)


@compiled
def controller_step(
    p: Any, s: Any, c: Any, volts: float, constant: float, resistance: float, dt: float
) -> None:
    """Set `s.pwm` [PWM counts, servo direction] for this step from the command record `c`.

    `volts` [V] is the chain's voltage; `constant` [N m/A] and `resistance` [ohm] are used by the
    current limits, which act on the duty as in the real bridge.
    """
    measure(p, s, dt)
    if c.torque_enable == 0:
        s.enabled = 0
        s.pwm = 0.0
        s.trajectory = s.count
        s.trajectory_velocity = 0.0
        return
    if s.enabled == 0:
        reset_loop(p, s)
        s.enabled = 1
    ampere_limit = -1.0
    if c.mode == MODE_PWM:
        pwm = c.goal_pwm
        s.trajectory = s.count
    elif c.mode == MODE_VELOCITY:
        pwm = velocity_output(p, s, c, dt)
    elif c.mode == MODE_CURRENT:
        amperes = min(max(c.goal_current, -c.current_limit), c.current_limit) * p.current_unit
        back = p.sign * constant * s.velocity
        pwm = (amperes * resistance + back) / volts * p.pwm_full
        s.trajectory = s.count
    else:
        pwm = position_output(p, s, c, dt)
        if c.mode == MODE_CURRENT_POSITION:
            ampere_limit = min(abs(c.goal_current), c.current_limit) * p.current_unit
    if ampere_limit >= 0.0:
        low, high = duty_window(ampere_limit, volts, constant, resistance, p.sign * s.velocity)
        pwm = min(max(pwm, low * p.pwm_full), high * p.pwm_full)
    bound = min(c.pwm_limit, p.max_duty * p.pwm_full)
    s.pwm = min(max(pwm, -bound), bound)
