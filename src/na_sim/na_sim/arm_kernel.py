# SPDX-License-Identifier: Apache-2.0
"""The inner loop: servos, external forces and MuJoCo, stepped together for many episodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from na_sim.forces import (
    KIND_BAND,
    KIND_NONE,
    apply_wrench,
    element_force,
    hand_torque,
    point_position,
)
from na_sim.native import call_step, load, store
from na_sim.servo.jit import compiled
from na_sim.servo.step import electric_step, rotor_step
from na_sim.servo.supply import sag
from na_sim.servo.transmission import gear_torque

FT_CAPACITY = 64  # force samples kept between two drains

# Addresses of one episode's MuJoCo arrays.
ADDRESS_DTYPE = np.dtype(
    [
        (name, "i8")
        for name in (
            "model",
            "data",
            "qpos",
            "qvel",
            "qfrc",
            "xpos",
            "xmat",
            "xipos",
            "xfrc",
            "sensor",
            "mass",
        )
    ]
)

# What happened to one episode, beside the servos' states.
TRUTH_DTYPE = np.dtype(
    [
        ("steps", "i8"),  # steps summed since the last drain
        ("time_steps", "i8"),  # steps since the start
        ("force_sum", "f8", (3,)),  # external force on the end effector, base axes [N]
        ("torque_sum", "f8", (3,)),  # about the end-effector origin, base axes [N m]
        ("contact_sum", "f8", (3,)),  # part of it from MuJoCo contacts [N]
        ("elsewhere_sum", "f8", (3,)),  # forces on other links [N]
        ("band_sum", "f8"),  # torque of rubber bands [N m]
        ("energy_in", "f8"),  # work of motors on rotors [J]
        ("payload_velocity", "f8", (3,)),
        ("payload_before", "f8", (3,)),
        ("payload_known", "i8"),
        ("ft_steps", "i8"),  # steps summed for the next force sample
        ("ft_sum", "f8", (6,)),
        ("ft_count", "i8"),
        ("ft", "f8", (FT_CAPACITY, 6)),  # samples of the true wrench, base axes
        ("ft_time", "i8", (FT_CAPACITY,)),  # step at which each sample ended
    ]
)


@compiled
def servo_side(
    parameters: Any,
    state: Any,
    command: Any,
    supply: Any,
    hand: Any,
    joints: Any,
    a: Any,
    dt: float,
) -> None:
    """Step all servos of one episode and write the joint forces into MuJoCo."""
    drawn = 0.0
    volts = supply.voltage
    for j in range(parameters.shape[0]):
        p, s, c, h = parameters[j], state[j], command[j], hand[j]
        first, second = joints[j, 1], joints[j, 3]
        angle = load(a.qpos, joints[j, 0]) / p.scale
        rate = load(a.qvel, first) / p.scale
        if second < 0:
            s.link_angle, s.link_velocity = angle, rate
        else:
            other = load(a.qpos, joints[j, 2]) / p.scale
            other_rate = load(a.qvel, second) / p.scale
            s.link_angle, s.link_velocity = 0.5 * (angle + other), 0.5 * (rate + other_rate)
        drawn += electric_step(p, s, c, volts, dt)
        by_hand = hand_torque(h, s.link_angle, s.link_velocity, dt)
        if second < 0:
            s.gear_torque = gear_torque(p, s.angle - angle, s.velocity - rate, dt)
            torque = s.gear_torque + by_hand - p.link_damping * rate
            store(a.qfrc, first, torque / p.scale)
        else:
            # Two fingers, each on half of the linkage's stiffness.
            one = 0.5 * gear_torque(p, s.angle - angle, s.velocity - rate, dt)
            two = 0.5 * gear_torque(p, s.angle - other, s.velocity - other_rate, dt)
            s.gear_torque = one + two
            store(a.qfrc, first, (one + 0.5 * (by_hand - p.link_damping * rate)) / p.scale)
            store(a.qfrc, second, (two + 0.5 * (by_hand - p.link_damping * other_rate)) / p.scale)
        rotor_step(p, s, dt)
    sag(supply, drawn)


@compiled
def force_side(forces: Any, truth: Any, joints: Any, tip: int, a: Any, dt: float) -> None:
    """Apply the episode's external elements and add them to the truth."""
    position = np.empty(3)
    for k in range(forces.shape[0]):
        f = forces[k]
        if f.kind != KIND_NONE and f.kind != KIND_BAND:
            for r in range(6):
                store(a.xfrc, 6 * f.body + r, 0.0)
    for k in range(forces.shape[0]):
        f = forces[k]
        if f.kind == KIND_NONE:
            continue
        if f.kind == KIND_BAND:
            angle = load(a.qpos, joints[f.joint, 0])
            rate = load(a.qvel, joints[f.joint, 1])
            f.torque = f.stiffness * (f.offset - angle) - f.damping * rate
            store(a.qfrc, joints[f.joint, 1], load(a.qfrc, joints[f.joint, 1]) + f.torque)
            truth.band_sum += f.torque
            continue
        point_position(f, a.xpos, a.xmat, position)
        element_force(f, position, dt)
        apply_wrench(f.body, f.force, position, a.xipos, a.xfrc)
        if f.on_tip != 0:
            add_wrench(truth, f.force, position, tip, a)
        else:
            for r in range(3):
                truth.elsewhere_sum[r] += f.force[r]


@compiled
def add_wrench(truth: Any, force: Any, position: Any, tip: int, a: Any) -> None:
    """Add `force` (3,) at `position` (3,) to the external wrench about the end-effector origin."""
    x = position[0] - load(a.xpos, 3 * tip)
    y = position[1] - load(a.xpos, 3 * tip + 1)
    z = position[2] - load(a.xpos, 3 * tip + 2)
    torque = (
        y * force[2] - z * force[1],
        z * force[0] - x * force[2],
        x * force[1] - y * force[0],
    )
    for r in range(3):
        truth.force_sum[r] += force[r]
        truth.torque_sum[r] += torque[r]
        truth.ft_sum[r] += force[r]
        truth.ft_sum[3 + r] += torque[r]


@compiled
def contact_side(truth: Any, contacts: int, tip: int, payload: int, a: Any, dt: float) -> None:
    """Add contact forces (from MuJoCo's sensors) and the payload's pull to the truth."""
    force = np.empty(3)
    position = np.empty(3)
    for k in range(contacts):
        base = 7 * k
        if load(a.sensor, base) <= 0.0:
            continue
        for r in range(3):
            force[r] = load(a.sensor, base + 1 + r)
            position[r] = load(a.sensor, base + 4 + r)
            truth.contact_sum[r] += force[r]
        add_wrench(truth, force, position, tip, a)
    mass = load(a.mass, payload)
    for r in range(3):
        position[r] = load(a.xipos, 3 * payload + r)
    if truth.payload_known == 1:
        for r in range(3):
            velocity = (position[r] - truth.payload_before[r]) / dt
            force[r] = -mass * (velocity - truth.payload_velocity[r]) / dt
            truth.payload_velocity[r] = velocity
        force[2] -= mass * 9.80665
    else:
        for r in range(3):
            truth.payload_velocity[r] = 0.0
            force[r] = 0.0
        truth.payload_known = 1
    for r in range(3):
        truth.payload_before[r] = position[r]
    if mass > 1e-6:
        add_wrench(truth, force, position, tip, a)


@compiled
def sample_side(truth: Any, stride: int) -> None:
    """Close a force sample when `stride` steps have been summed."""
    truth.steps += 1
    truth.time_steps += 1
    truth.ft_steps += 1
    if truth.ft_steps < stride:
        return
    slot = truth.ft_count % FT_CAPACITY
    for r in range(6):
        truth.ft[slot, r] = truth.ft_sum[r] / truth.ft_steps
        truth.ft_sum[r] = 0.0
    truth.ft_time[slot] = truth.time_steps
    truth.ft_count += 1
    truth.ft_steps = 0


@compiled
def advance_episodes(
    step: int,
    addresses: Any,
    joints: Any,
    parameters: Any,
    state: Any,
    command: Any,
    supply: Any,
    hand: Any,
    forces: Any,
    truth: Any,
    steps: Any,
    tip: int,
    payload: int,
    contacts: int,
    ft_stride: int,
    dt: float,
) -> None:
    """Advance every episode e by steps[e] physics steps of `dt` [s].

    Shapes: addresses, supply, truth, steps (E,); parameters, state, command, hand (E, n);
    forces (E, K); joints (n, 4) = qpos, dof, mimic qpos, mimic dof. `step` is the address of
    mj_step; `contacts` the number of contact sensors.
    """
    for e in range(addresses.shape[0]):
        a, t = addresses[e], truth[e]
        for _ in range(steps[e]):
            servo_side(parameters[e], state[e], command[e], supply[e], hand[e], joints, a, dt)
            force_side(forces[e], t, joints, tip, a, dt)
            call_step(step, a.model, a.data)
            contact_side(t, contacts, tip, payload, a, dt)
            sample_side(t, ft_stride)
