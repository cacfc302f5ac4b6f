# SPDX-License-Identifier: Apache-2.0
"""Leader paths of tasks without external force: circles, sweeps, leaning, wandering."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from na_sim.nad_generator.gripping import Grip, with_grip
from na_sim.nad_generator.workshop import Stops, Workshop, through

Array = NDArray[np.float64]

CIRCLE_POINTS = 24


def circle(shop: Workshop, rng: np.random.Generator, ticks: int, grip: Grip, sense: int) -> Array:
    """Tip on circles in a random plane, `sense` +1 counter-clockwise or -1; path (T, n)."""
    times = shop.times(ticks)
    radius = rng.uniform(0.025, 0.07)
    centre_pose = shop.pose_at(rng, (0.17, 0.25), (0.12, 0.24))
    centre = shop.reach.tip(centre_pose)
    azimuth, tilt = float(np.arctan2(centre[1], centre[0])), rng.uniform(0.0, 0.5 * np.pi)
    side = np.array([-np.sin(azimuth), np.cos(azimuth), 0.0])
    ahead = np.array([np.cos(azimuth), np.sin(azimuth), 0.0])
    up = np.cos(tilt) * np.array([0.0, 0.0, 1.0]) + np.sin(tilt) * ahead
    angles = np.linspace(0.0, 2.0 * np.pi, CIRCLE_POINTS, endpoint=False)
    q = with_grip(centre_pose, grip)
    ring = []
    for angle in angles:
        target = centre + radius * (np.cos(angle) * side + np.sin(angle) * up)
        q, _ = shop.reach.solve(target, q)
        ring.append(q)
    table = np.stack([*ring, ring[0]])
    # Phase: angular speed varies from turn to turn and within it.
    period = rng.uniform(3.0, 8.0) / shop.pace
    wobble = rng.uniform(0.0, 0.35)
    slow = rng.uniform(0.05, 0.2)
    phase = 2.0 * np.pi * times / period
    phase = phase + wobble * np.sin(2.0 * np.pi * slow * times + rng.uniform(0.0, 6.28))
    phase = np.mod(sense * phase + rng.uniform(0.0, 2.0 * np.pi), 2.0 * np.pi)
    grid = np.append(angles, 2.0 * np.pi)
    return np.stack([_smooth(phase, grid, table[:, j]) for j in range(shop.robot.n)], axis=1)


def _smooth(phase: Array, grid: Array, values: Array) -> Array:
    """Periodic cubic (Catmull-Rom) interpolation of `values` on a uniform grid over one turn."""
    step = grid[1] - grid[0]
    count = len(grid) - 1
    index = np.minimum((phase / step).astype(int), count - 1)
    u = phase / step - index
    ring = values[:-1]
    p0, p1 = ring[(index - 1) % count], ring[index % count]
    p2, p3 = ring[(index + 1) % count], ring[(index + 2) % count]
    a = -0.5 * p0 + 1.5 * p1 - 1.5 * p2 + 0.5 * p3
    b = p0 - 2.5 * p1 + 2.0 * p2 - 0.5 * p3
    return np.asarray(((a * u + b) * u + 0.5 * (p2 - p0)) * u + p1)


def joint_sweep(
    shop: Workshop, rng: np.random.Generator, ticks: int, grip: Grip, joint: int
) -> Array:
    """Sweep one joint back and forth around a random pose; path (T, n)."""
    stops = Stops(with_grip(shop.free_pose(rng), grip), shop.pace)
    end = ticks / shop.rate
    low, high = shop.robot.lower[joint], shop.robot.upper[joint]
    prismatic = shop.robot.joints[joint].type == "prismatic"
    margin = 0.001 if prismatic else 0.08
    reach = (high - low) if prismatic or shop.robot.joints[joint].role == "gripper" else 1.0
    stops.wait(rng.uniform(0.2, 1.0))
    centre = stops.now[joint]
    sign = rng.choice([-1.0, 1.0])
    while stops.time < end:
        goal = stops.now.copy()
        for _ in range(20):
            goal[joint] = np.clip(
                centre + sign * rng.uniform(0.2, 0.9) * reach, low + margin, high - margin
            )
            if shop.reach.lowest(goal) > 0.02:
                break
        else:
            goal[joint] = centre
        stops.go(goal, rng.uniform(0.3, 1.4))
        sign = -sign
        if rng.uniform() < 0.4:
            stops.wait(rng.uniform(0.1, 1.2))
        if rng.uniform() < 0.15:
            fresh = with_grip(shop.free_pose(rng), grip)
            stops.go(fresh, rng.uniform(0.3, 0.8))
            centre = stops.now[joint]
    return through(shop.times(ticks), stops.stops)


def lean(shop: Workshop, rng: np.random.Generator, ticks: int, grip: Grip) -> Array:
    """Lean back and forward: between a folded and a stretched pose, turning a little; (T, n)."""
    back = with_grip(shop.pose_at(rng, (0.10, 0.16), (0.14, 0.26)), grip)
    stops = Stops(back, shop.pace)
    end = ticks / shop.rate
    while stops.time < end:
        forward = with_grip(shop.pose_at(rng, (0.24, 0.32), (0.10, 0.26)), grip)
        forward[0] = stops.now[0] + rng.normal(0.0, 0.15)
        stops.go(forward, rng.uniform(0.3, 1.1))
        stops.wait(rng.uniform(0.0, 1.5))
        back = with_grip(shop.pose_at(rng, (0.10, 0.16), (0.14, 0.26)), grip)
        back[0] = stops.now[0] + rng.normal(0.0, 0.15)
        stops.go(back, rng.uniform(0.3, 1.1))
        stops.wait(rng.uniform(0.0, 1.5))
    return through(shop.times(ticks), stops.stops)


def wander(shop: Workshop, rng: np.random.Generator, ticks: int, grip: Grip) -> Array:
    """Visit random poses with pauses; path (T, n)."""
    stops = Stops(with_grip(shop.free_pose(rng), grip), shop.pace)
    end = ticks / shop.rate
    stops.wait(rng.uniform(0.2, 1.5))
    while stops.time < end:
        stops.go(with_grip(shop.free_pose(rng, stops.now), grip), rng.uniform(0.25, 1.1))
        if rng.uniform() < 0.5:
            stops.wait(rng.uniform(0.1, 2.5))
    return through(shop.times(ticks), stops.stops)
