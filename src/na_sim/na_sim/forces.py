# SPDX-License-Identifier: Apache-2.0
"""External influences on an arm: wrenches, a compliant hand, rubber bands; applied every step.

Forces are in base axes [N], exerted by the environment on the arm.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from na_sim.native import load, store
from na_sim.servo.jit import compiled

KIND_NONE = 0
KIND_FORCE = 1  # f = value
KIND_SPRING = 2  # f = stiffness (value - x) - damping v, at most `limit`
KIND_SUPPORT = 4  # vertical push of a table under a carried object: stiffness (value_z - z)
KIND_PLANE = 5  # one-sided stiff surface through `value` with outward `normal`, with friction
KIND_BAND = 3  # torque = stiffness (offset - q) on joint `joint`, q in joint units

SLIP_SPEED = 0.005  # m/s, below which a plane's friction grows linearly with speed

FORCE_DTYPE = np.dtype(
    [
        ("kind", "i8"),
        ("body", "i8"),  # MuJoCo body id
        ("on_tip", "i8"),  # 1 where the force counts as acting on the end effector
        ("joint", "i8"),  # joint index of a band
        ("point", "f8", (3,)),  # point of attack in the body's frame [m]
        ("value", "f8", (3,)),  # force [N], or anchor [m]
        ("rate", "f8", (3,)),  # change of `value` per second
        ("normal", "f8", (3,)),  # unit vector out of a plane, towards the arm
        ("friction", "f8"),  # friction coefficient of a plane [-]
        ("stiffness", "f8"),  # [N/m], or [N m/rad] of a band
        ("damping", "f8"),  # [N s/m], or [N m s/rad]
        ("limit", "f8"),  # largest force of a spring [N]; 0 = none
        ("offset", "f8"),  # rest position of a band [rad or m]
        ("before", "f8", (3,)),  # where the point was one step ago [m]
        ("started", "i8"),
        ("force", "f8", (3,)),  # force of the last step [N]
        ("torque", "f8"),  # torque of a band in the last step [N m]
    ]
)

HAND_DTYPE = np.dtype(
    [
        ("target", "f8"),  # where the hand wants the servo shaft [rad]
        ("rate", "f8"),  # [rad/s]
        ("stiffness", "f8"),  # [N m/rad]; 0 = no hand
        ("damping", "f8"),  # [N m s/rad]
        ("limit", "f8"),  # largest torque [N m]
    ]
)


@compiled
def hand_torque(h: Any, angle: float, velocity: float, dt: float) -> float:
    """Torque [N m] of a hand on a servo shaft; moves the hand's target on by one step."""
    if h.stiffness <= 0.0:
        return 0.0
    torque = h.stiffness * (h.target - angle) + h.damping * (h.rate - velocity)
    h.target += h.rate * dt
    return float(min(max(torque, -h.limit), h.limit))


@compiled
def point_position(f: Any, positions: int, rotations: int, out: Any) -> None:
    """World position [m] of the element's point, into out (3,)."""
    for r in range(3):
        out[r] = load(positions, 3 * f.body + r)
        for k in range(3):
            out[r] += load(rotations, 9 * f.body + 3 * r + k) * f.point[k]


@compiled
def plane_force(f: Any, position: Any, dt: float) -> None:
    """Push of a stiff surface: normal spring and damper, regularised Coulomb friction."""
    depth = 0.0
    for r in range(3):
        depth += (f.value[r] - position[r]) * f.normal[r]
    for r in range(3):
        f.force[r] = 0.0
    if depth <= 0.0 or f.started == 0:
        return
    closing = 0.0
    for r in range(3):
        closing += (position[r] - f.before[r]) / dt * f.normal[r]
    size = max(f.stiffness * depth - f.damping * closing, 0.0)
    for r in range(3):
        slide = (position[r] - f.before[r]) / dt - closing * f.normal[r]
        drag = f.friction * size * min(max(slide / SLIP_SPEED, -1.0), 1.0)
        f.force[r] = size * f.normal[r] - drag


@compiled
def element_force(f: Any, position: Any, dt: float) -> None:
    """Set `f.force` [N] for a point at `position` (3,) [m]; advances value by its rate."""
    if f.kind == KIND_FORCE:
        for r in range(3):
            f.force[r] = f.value[r]
    elif f.kind == KIND_SUPPORT:
        speed = 0.0 if f.started == 0 else (position[2] - f.before[2]) / dt
        f.force[0] = f.force[1] = 0.0
        f.force[2] = max(f.stiffness * (f.value[2] - position[2]) - f.damping * speed, 0.0)
        if f.value[2] < position[2]:
            f.force[2] = 0.0
    elif f.kind == KIND_PLANE:
        plane_force(f, position, dt)
    else:
        size = 0.0
        for r in range(3):
            speed = 0.0 if f.started == 0 else (position[r] - f.before[r]) / dt
            f.force[r] = f.stiffness * (f.value[r] - position[r]) + f.damping * (f.rate[r] - speed)
            size += f.force[r] * f.force[r]
        size = size**0.5
        if f.limit > 0.0 and size > f.limit:
            for r in range(3):
                f.force[r] *= f.limit / size
    f.started = 1
    for r in range(3):
        f.before[r] = position[r]
        f.value[r] += f.rate[r] * dt


@compiled
def apply_wrench(body: int, force: Any, position: Any, centres: int, applied: int) -> None:
    """Add `force` (3,) at world `position` (3,) to MuJoCo's wrench on `body` (at its centre)."""
    arm0 = position[0] - load(centres, 3 * body)
    arm1 = position[1] - load(centres, 3 * body + 1)
    arm2 = position[2] - load(centres, 3 * body + 2)
    base = 6 * body
    for r in range(3):
        store(applied, base + r, load(applied, base + r) + force[r])
    store(applied, base + 3, load(applied, base + 3) + arm1 * force[2] - arm2 * force[1])
    store(applied, base + 4, load(applied, base + 4) + arm2 * force[0] - arm0 * force[2])
    store(applied, base + 5, load(applied, base + 5) + arm0 * force[1] - arm1 * force[0])
