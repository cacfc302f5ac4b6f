# SPDX-License-Identifier: Apache-2.0
"""Contact tasks: the arm presses against a surface, or a hand pushes the resting arm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from na_sim.nad_generator.episode_plan import PlanePlan
from na_sim.nad_generator.gripping import Grip, with_grip
from na_sim.nad_generator.workshop import Stops, Workshop, through

Array = NDArray[np.float64]

JOINT_STIFFNESS = 24.0  # N m/rad, of a servo held by P gain 800
SOFTNESS_RANGE = (1e-4, 6e-3)  # m/N; stretched arms are stiff, folded ones soft
SLACK_FORCE = 0.5  # N worth of motion lost in backlash before the force builds up

DIRECTIONS: dict[str, tuple[float, float, float]] = {
    "+x": (1.0, 0.0, 0.0),
    "-x": (-1.0, 0.0, 0.0),
    "+y": (0.0, 1.0, 0.0),
    "-y": (0.0, -1.0, 0.0),
    "+z": (0.0, 0.0, 1.0),
    "-z": (0.0, 0.0, -1.0),
}


@dataclass
class Press:
    """The arm drives its tip into a surface and back, several times.

    Attributes:
        path: leader path (T, n) before tremor.
        plane: the surface; leave it out for the repeat without contact.
    """

    path: Array
    plane: PlanePlan


def press(
    shop: Workshop,
    rng: np.random.Generator,
    ticks: int,
    grip: Grip,
    direction: Array,
    *,
    force: tuple[float, float] = (0.6, 6.0),
    stiffness: tuple[float, float] = (1500.0, 15000.0),
    base: Array | None = None,
    dwell: tuple[float, float] = (0.8, 5.0),
) -> Press:
    """Press along `direction` (3,) (unit, base axes) from a random pose, or from `base`.

    `force` [N] is what the operator is after; friction and the servos' integrators decide what
    comes of it. The surface has `stiffness` [N/m]; presses last `dwell` [s].
    """
    times = shop.times(ticks)
    end = ticks / shop.rate
    pose = with_grip(shop.free_pose(rng) if base is None else base, grip)
    tip = shop.reach.tip(pose)
    gap = rng.uniform(0.015, 0.04)
    plane = PlanePlan(
        point=tip + gap * direction,
        normal=-direction,
        stiffness=rng.uniform(*stiffness),
        damping=rng.uniform(10.0, 60.0),
        friction=rng.uniform(0.1, 0.6),
    )
    stops = Stops(pose, shop.pace)
    stops.wait(rng.uniform(0.3, 3.0))
    side = np.cross(direction, rng.standard_normal(3))
    side = side / max(float(np.linalg.norm(side)), 1e-6)
    while stops.time < end:
        lateral = side * rng.normal(0.0, 0.008)
        touch = with_grip(shop.move(pose, direction * (gap - 0.004) + lateral), grip)
        depth = (SLACK_FORCE + rng.uniform(*force)) * softness(shop, touch, direction)
        inside = with_grip(shop.move(touch, direction * (0.004 + depth)), grip)
        stops.go(touch, rng.uniform(0.15, 0.6))
        if rng.uniform() < 0.3:
            stops.wait(rng.uniform(0.1, 1.0))
        stops.go(inside, rng.uniform(0.02, 0.2), shortest=0.25)
        stops.wait(rng.uniform(*dwell))
        if rng.uniform() < 0.35:
            change = rng.normal(0.0, 0.3) * depth
            further = with_grip(shop.move(inside, direction * change), grip)
            stops.go(further, rng.uniform(0.02, 0.1), shortest=0.25)
            stops.wait(rng.uniform(*dwell))
        stops.go(touch, rng.uniform(0.03, 0.3), shortest=0.25)
        back = with_grip(shop.move(pose, side * rng.normal(0.0, 0.01)), grip)
        stops.go(back, rng.uniform(0.15, 0.6))
        stops.wait(rng.uniform(0.3, 3.0))
    return Press(through(times, stops.stops), plane)


def softness(shop: Workshop, q: Array, direction: Array) -> float:
    """Yielding of the held tip along `direction` (3,) per force [m/N], servos as springs."""
    jacobian = shop.reach.jacobian(q)[:, shop.arm]
    levers = jacobian.T @ direction  # (arm,) [m]
    return float(np.clip((levers**2).sum() / JOINT_STIFFNESS, *SOFTNESS_RANGE))


def hand_forces(
    shop: Workshop,
    rng: np.random.Generator,
    ticks: int,
    *,
    direction: Array | None = None,
    peak: tuple[float, float] = (0.4, 8.0),
    dwell: tuple[float, float] = (0.2, 4.0),
    pause: tuple[float, float] = (0.4, 4.0),
    spread: float = 0.15,
) -> Array:
    """Pushes of a hand (T, 3) [N]: ramp up, hold (sometimes at a second level), ramp down, pause.

    Directions are random on the sphere for each push, or within about `spread` rad of `direction`
    (3,). A hand is not steady: holds wobble by a few per cent.
    """
    times = shop.times(ticks)
    end = ticks / shop.rate
    knots: list[tuple[float, Array]] = [(0.0, np.zeros(3))]
    t = rng.uniform(*pause)
    while t < end:
        if direction is None:
            axis = rng.standard_normal(3)
        else:
            axis = direction + spread * rng.standard_normal(3)
        axis = axis / np.linalg.norm(axis)
        size = float(np.exp(rng.uniform(np.log(peak[0]), np.log(peak[1]))))
        knots.append((t, np.zeros(3)))
        t += rng.uniform(0.12, 1.5) / shop.pace
        knots.append((t, axis * size))
        t += rng.uniform(*dwell)
        knots.append((t, axis * size * rng.uniform(0.9, 1.1)))
        if rng.uniform() < 0.35:
            t += rng.uniform(0.2, 1.0) / shop.pace
            level = axis * size * rng.uniform(0.2, 1.6)
            knots.append((t, level))
            t += rng.uniform(*dwell)
            knots.append((t, level))
        t += rng.uniform(0.1, 1.2) / shop.pace
        knots.append((t, np.zeros(3)))
        t += rng.uniform(*pause)
    at = np.array([knot[0] for knot in knots])
    values = np.stack([knot[1] for knot in knots])
    force = np.stack([np.interp(times, at, values[:, r]) for r in range(3)], axis=1)
    wobble = np.ones((ticks, 1))
    for _ in range(3):
        frequency, phase = rng.uniform(0.7, 6.0), rng.uniform(0.0, 6.28)
        size = rng.uniform(0.0, 0.02)
        wobble[:, 0] += size * np.sin(2.0 * np.pi * frequency * times + phase)
    return np.asarray(force * wobble)


def held_poses(
    shop: Workshop,
    rng: np.random.Generator,
    ticks: int,
    grip: Grip,
    hold: tuple[float, float],
) -> tuple[Array, list[tuple[float, float]]]:
    """Static poses held for `hold` [s] each with moves between; path (T, n) and hold spans."""
    stops = Stops(with_grip(shop.free_pose(rng), grip), shop.pace)
    end = ticks / shop.rate
    spans = []
    while stops.time < end:
        begin = stops.time
        stops.wait(rng.uniform(*hold))
        spans.append((begin, stops.time))
        stops.go(with_grip(shop.free_pose(rng, stops.now), grip), rng.uniform(0.3, 0.9))
    return through(shop.times(ticks), stops.stops), spans
