# SPDX-License-Identifier: Apache-2.0
"""Profile generator: the trapezoid that a servo drives through towards its goal position."""

from __future__ import annotations

import math
from typing import Any

from na_sim.servo.jit import compiled
from na_sim.servo.records import COUNTS_PER_RADIAN

TIME_BASED_MS = 0.001  # s per unit of profile velocity (duration) in time-based drive mode


@compiled
def profile_step(p: Any, s: Any, c: Any, dt: float) -> None:
    """Move `s.trajectory` [counts] towards `c.goal_position` within the profile's limits.

    Profile velocity 0 means no profile: the trajectory is the goal itself. Acceleration 0 means
    no acceleration limit. In time-based mode the velocity is chosen each step from the distance
    left at the average speed of the whole duration (an approximation: no S-curve).
    """
    distance = c.goal_position - s.trajectory
    if c.profile_velocity <= 0.0:
        s.trajectory = c.goal_position
        s.trajectory_velocity = 0.0
        return
    if c.time_based != 0:
        duration = max(c.profile_velocity * TIME_BASED_MS, dt)
        top = max(abs(distance) / duration * 3.0, COUNTS_PER_RADIAN * 0.1)
        limit = math.inf
    else:
        top = c.profile_velocity * p.velocity_unit * COUNTS_PER_RADIAN
        limit = c.profile_acceleration * p.acceleration_unit * COUNTS_PER_RADIAN
        if limit <= 0.0:
            limit = math.inf
    wanted = top
    if limit < math.inf:
        # Half a step of braking is taken off, or the last step would overshoot.
        half = 0.5 * limit * dt
        wanted = min(top, math.sqrt(half * half + 2.0 * limit * abs(distance)) - half)
    wanted = math.copysign(wanted, distance)
    change = wanted - s.trajectory_velocity
    if limit < math.inf:
        change = min(max(change, -limit * dt), limit * dt)
    s.trajectory_velocity += change
    move = s.trajectory_velocity * dt
    if move * distance > 0.0 and abs(move) >= abs(distance):
        s.trajectory = c.goal_position
        s.trajectory_velocity = 0.0
    else:
        s.trajectory += move
