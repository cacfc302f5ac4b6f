# SPDX-License-Identifier: Apache-2.0
"""One physics step of one servo: controller, winding, friction, gears, heat."""

from __future__ import annotations

from typing import Any

from na_sim.servo.friction import friction_limit, stick_slip
from na_sim.servo.jit import compiled
from na_sim.servo.motor import REFERENCE_TEMPERATURE, torque_constant, winding_current
from na_sim.servo.motor import winding_resistance as resistance_at
from na_sim.servo.position_loop import controller_step
from na_sim.servo.thermal import heat_step

MINIMUM_VISCOUS_SHARE = 0.2


@compiled
def electric_step(p: Any, s: Any, c: Any, volts: float, dt: float) -> float:
    """Run controller and winding; sets pwm, current, motor torque; returns supply current [A].

    With torque off the bridge is open: no current flows and the motor does not brake.
    """
    resistance = resistance_at(p, s.winding)
    constant = torque_constant(p, s.winding)
    controller_step(p, s, c, volts, constant, resistance, dt)
    drawn = p.idle_current
    if s.enabled == 0:
        s.current = 0.0
    else:
        duty = p.sign * s.pwm / p.pwm_full
        s.current = winding_current(duty * volts, constant, resistance, s.velocity)
        drawn += duty * s.current
    s.motor_torque = constant * s.current
    s.current_lag += dt / (p.current_filter + dt) * (s.current - s.current_lag)
    heat_step(p, s, s.current * s.current * resistance, dt)
    return float(drawn)


@compiled
def rotor_step(p: Any, s: Any, dt: float) -> None:
    """Advance the rotor under motor, gear and friction torque; `s.gear_torque` is already set."""
    external = -s.gear_torque
    net = s.motor_torque + external
    limit = friction_limit(p, s.motor_torque, external, s.velocity)
    warm = 1.0 + p.friction_temperature * (s.housing - REFERENCE_TEMPERATURE)
    viscous = p.viscous * max(warm, MINIMUM_VISCOUS_SHARE)
    s.friction_torque = stick_slip(p.inertia, s.velocity, net, limit, viscous, dt)
    s.velocity += dt * (net + s.friction_torque) / p.inertia
    s.angle += dt * s.velocity
