# SPDX-License-Identifier: Apache-2.0
"""Test rig: one servo turning a pendulum (or a bare inertia), without MuJoCo.

The same controller, winding, friction and heat as in the arm. The load is either rigidly on the
rotor (as in the Better Actuator Models) or behind the servo's gears.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from na_sim.servo.friction import friction_limit, stick_slip
from na_sim.servo.jit import compiled
from na_sim.servo.motor import REFERENCE_TEMPERATURE
from na_sim.servo.records import COMMAND_DTYPE, COUNTS_PER_RADIAN, STATE_DTYPE
from na_sim.servo.step import MINIMUM_VISCOUS_SHARE, electric_step, rotor_step
from na_sim.servo.transmission import gear_torque

Array = NDArray[np.float64]

GRAVITY = 9.80665  # m/s^2


@dataclass(frozen=True)
class Pendulum:
    """Load on the servo's horn, hanging down at angle 0.

    Attributes:
        inertia: about the axis [kg m^2].
        weight: m g l [N m], 0 for a bare flywheel.
        offset: angle of the load at servo angle 0 [rad].
    """

    inertia: float
    weight: float
    offset: float = 0.0

    @classmethod
    def point_mass(
        cls, mass: float, length: float, rod: float = 0.0, offset: float = 0.0
    ) -> Pendulum:
        """Point `mass` [kg] at `length` [m] on a uniform rod of mass `rod` [kg]."""
        inertia = (mass + rod / 3.0) * length**2
        return cls(inertia, (mass + rod / 2.0) * GRAVITY * length, offset)


@compiled
def _rigid_step(p: Any, s: Any, inertia: float, weight: float, offset: float, dt: float) -> None:
    """Rotor and load as one body."""
    external = -weight * np.sin(s.angle + offset)
    net = s.motor_torque + external
    limit = friction_limit(p, s.motor_torque, external, s.velocity)
    warm = 1.0 + p.friction_temperature * (s.housing - REFERENCE_TEMPERATURE)
    viscous = p.viscous * max(warm, MINIMUM_VISCOUS_SHARE)
    total = p.inertia + inertia
    s.friction_torque = stick_slip(total, s.velocity, net, limit, viscous, dt)
    s.velocity += dt * (net + s.friction_torque) / total
    s.angle += dt * s.velocity
    s.link_angle, s.link_velocity = s.angle, s.velocity


@compiled
def _geared_step(p: Any, s: Any, inertia: float, weight: float, offset: float, dt: float) -> None:
    """Load behind backlash and gear stiffness."""
    s.gear_torque = gear_torque(p, s.angle - s.link_angle, s.velocity - s.link_velocity, dt)
    rotor_step(p, s, dt)
    pull = -weight * np.sin(s.link_angle + offset) - p.link_damping * s.link_velocity
    s.link_velocity += dt * (s.gear_torque + pull) / inertia
    s.link_angle += dt * s.link_velocity


@compiled
def run_rig(
    p: Any,
    s: Any,
    c: Any,
    goals: Any,
    enables: Any,
    volts: Any,
    inertia: float,
    weight: float,
    offset: float,
    rigid: bool,
    dt: float,
    substeps: int,
    position: Any,
    velocity: Any,
    current: Any,
) -> None:
    """Simulate len(goals) samples of `substeps` steps `dt` [s]; fills the output arrays (T,).

    goals (T,) [counts], enables (T,) 0 or 1, volts (T,) [V]; outputs hold the state before each
    sample's steps: angle [rad], velocity [rad/s], winding current [A].
    """
    for k in range(len(goals)):
        position[k], velocity[k], current[k] = s.link_angle, s.link_velocity, s.current
        c.goal_position = goals[k]
        c.goal_pwm = goals[k]
        c.torque_enable = enables[k]
        for _ in range(substeps):
            electric_step(p, s, c, volts[k], dt)
            if rigid:
                _rigid_step(p, s, inertia, weight, offset, dt)
            else:
                _geared_step(p, s, inertia, weight, offset, dt)


@dataclass(frozen=True)
class RigResult:
    """Angles (T,) [rad], velocities (T,) [rad/s] and currents (T,) [A] of a rig run."""

    position: Array
    velocity: Array
    current: Array


def simulate(
    parameters: NDArray[Any],
    pendulum: Pendulum,
    goals: Array,
    volts: Array,
    *,
    mode: int = 3,
    gains: tuple[float, float, float] = (800.0, 0.0, 0.0),
    enables: NDArray[np.int64] | None = None,
    start: tuple[float, float] = (0.0, 0.0),
    rigid: bool = True,
    dt: float = 0.001,
    substeps: int = 1,
    temperature: float = REFERENCE_TEMPERATURE,
) -> RigResult:
    """Run the rig from angle and velocity `start`, servo record `parameters` shape ().

    goals (T,): joint angle [rad] in position mode (3), PWM counts in PWM mode (16); one value per
    `substeps * dt`. volts (T,) supply [V]. gains are P, I, D in register units.
    """
    count = len(goals)
    if len(volts) != count:
        raise ValueError(f"{count} goals but {len(volts)} supply voltages; expected as many")
    state = np.zeros(1, STATE_DTYPE)
    command = np.zeros(1, COMMAND_DTYPE)
    s, c = state[0], command[0]
    p = np.atleast_1d(parameters)[0]
    s["angle"] = s["link_angle"] = start[0]
    s["velocity"] = s["link_velocity"] = start[1]
    s["winding"] = s["housing"] = temperature
    counts = p["zero_count"] + p["sign"] * start[0] * COUNTS_PER_RADIAN
    for name in ("count", "count_lag", "trajectory"):
        s[name] = counts
    c["mode"] = mode
    c["p"], c["i"], c["d"] = gains
    c["pwm_limit"] = p["pwm_full"]
    c["current_limit"] = c["velocity_limit"] = 1e6
    if mode != 16:
        goals = p["zero_count"] + p["sign"] * np.asarray(goals) * COUNTS_PER_RADIAN
    on = np.ones(count, np.int64) if enables is None else np.asarray(enables, np.int64)
    out = RigResult(np.zeros(count), np.zeros(count), np.zeros(count))
    run_rig(
        p,
        s,
        c,
        np.asarray(goals, dtype=np.float64),
        on,
        np.asarray(volts, dtype=np.float64),
        pendulum.inertia,
        pendulum.weight,
        pendulum.offset,
        rigid,
        dt,
        substeps,
        out.position,
        out.velocity,
        out.current,
    )
    return out
