# SPDX-License-Identifier: Apache-2.0
"""Motor constant, gears and friction of every joint from known forces, all at once.

Friction that grows with the load looks like another torque constant, and a joint that gravity
always pulls the same way looks as if its current had an offset. The constants are therefore fitted
together: those with which the load that `GearObserver` finds is the true one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from na_core.features import GearModel, GearObserver, MotorModel, PhysicsFeatures, Variant
from na_core.robot_spec import RobotSpec
from na_training.data.episode import Episode

Array = NDArray[np.float64]

PIECE = 1500
"""Ticks of the pieces that recordings are cut into."""
PIECES = 128
"""Pieces that are used, spread evenly over the tasks and over the recordings of each."""
MINIMUM = 600
"""Fewer labelled ticks than this leave the model as it was."""
EVERY = 4
"""One tick in this many is compared with the truth."""
FREE_WEIGHT = 0.3
"""Weight of ticks without contact, of which there are more."""
TOLERANCE = 0.05
"""Deviations of the load beyond this count linearly [N·m]."""
GUESS_SPREAD = 1.0
"""Standard deviation of a constant's logarithm about a guess ..."""
GUESS_TICKS = 20.0
"""... which weighs as much as this many compared ticks that are off by the tolerance."""
GUESS_OFFSET = 0.01
"""The same for an effort that is there without current, in shares of the servo's stall torque."""
UNIT_OFFSET = 0.001
UNIT_SPREAD = {
    "torque_constant": 0.015,
    "stiffness": 0.1,
    "backlash": 0.6,
    "coulomb": 0.5,
    "stribeck": 0.5,
    "stribeck_speed": 0.3,
    "viscous": 0.5,
    "load_share": 0.4,
}
"""Both about the constants of another unit of one make: wear changes friction the most."""
UNIT_SHARE = 0.1
"""... which weigh as much as this part of the compared ticks."""
LOWER = {"stribeck": 1e-3, "viscous": 1e-3, "coulomb": 1e-3, "backlash": 1e-4, "load_share": 1e-3}
UPPER = {"load_share": 0.4, "stribeck_speed": 5.0}
LARGEST_CHANGE = 0.7
"""A torque constant stays within this of where it started, in logarithms ..."""
LARGEST_OFFSET = 0.1
"""... and the effort without current within this share of the stall torque."""
NAMES = tuple(field.name for field in fields(GearModel))
GEARS = len(NAMES)


@dataclass(frozen=True)
class _Pieces:
    """Labelled pieces side by side, in servo units: arrays (T, E, n), weight (T, E)."""

    effort: Array  # with the torque constant that the fit starts from
    position: Array
    velocity: Array
    load: Array
    weight: Array


def fit_drives(
    spec: RobotSpec,
    episodes: Sequence[Episode],
    motor: MotorModel,
    gears: GearModel | None = None,
    *,
    near: bool = False,
) -> tuple[MotorModel, GearModel]:
    """Fit torque constant and offset of the motor, stiffness, backlash and friction of the gears.

    The load on a joint is M q̈ + C q̇ + g − Jᵀ f of the labelled force. The constants are those
    with which `GearObserver` comes closest to it, least absolute deviations (small ones squared),
    held near their starting values where the recordings say nothing. A joint that no force acts on
    (a gripper) keeps them: what it holds is not known.

    Args:
        spec: the robot.
        episodes: training episodes; those without a label, or of a restricted arm, are left out.
        motor: where its constants start from, e.g. `fit_motor`'s; its friction stays as it is.
        gears: the same, e.g. another unit's; guesses from published ratings when None.
        near: hold the constants near where they start by what units of one make differ in, for
            recordings too few to tell all of them (a payload tells no stiffness).

    Returns:
        The constants; `motor` and the start itself where there is too little data.
    """
    gears = gears or GearModel.guessed(spec)
    physics = PhysicsFeatures.for_robot(spec, 1.0 / spec.control_rate, motor)
    chosen = _choose([e for e in episodes if _usable(e)])
    if not chosen:
        return motor, gears
    pieces, dt = _pieces(physics, chosen), float(np.median([e.dt for e, _ in chosen]))
    if np.count_nonzero(pieces.weight) < MINIMUM:
        return motor, gears
    levers = np.abs(physics.arm.terms(np.asarray(spec.home), np.zeros(spec.n)).jacobian).max(axis=0)
    values = {name: np.array(array) for name, array in gears.to_json().items()}
    constant, offset = motor.torque_constant.copy(), motor.offset.copy()
    for joint in range(spec.n):
        servo = spec.joints[joint].servo
        if levers[joint] == 0.0 or spec.joints[joint].type == "prismatic" or servo is None:
            continue
        stall = servo.info.stall_torque
        found, scale, shift = _fit_joint(pieces, joint, gears, dt, stall, near)
        for name, value in zip(NAMES, found, strict=True):
            values[name][joint] = value
        constant[joint] *= scale
        offset[joint] += shift / (constant[joint] * physics.ratio[joint])
    return replace(motor, torque_constant=constant, offset=offset), GearModel(**values)


def _usable(episode: Episode) -> bool:
    known = np.asarray(np.isfinite(episode.force).all(axis=1))
    return not bool((np.nan_to_num(episode.restricted) > 0).any()) and int(known.sum()) > 50


def _choose(episodes: Sequence[Episode]) -> list[tuple[Episode, slice]]:
    """Up to `PIECES` pieces, tasks in equal shares."""
    kinds: dict[str, list[tuple[Episode, slice]]] = {}
    for episode in episodes:
        known = np.asarray(np.isfinite(episode.force).all(axis=1))
        for begin, end in episode.segments:
            for first in range(int(begin), int(end) - 50, PIECE):
                span = slice(first, min(first + PIECE, int(end)))
                if known[span].any():
                    kinds.setdefault(f"{episode.category}/{episode.task}", []).append(
                        (episode, span)
                    )
    share = max(PIECES // max(len(kinds), 1), 1)
    chosen = []
    for pieces in kinds.values():
        step = max(len(pieces) / share, 1.0)
        chosen += [pieces[int(k * step)] for k in range(min(share, len(pieces)))]
    return chosen


def _pieces(physics: PhysicsFeatures, chosen: Sequence[tuple[Episode, slice]]) -> _Pieces:
    length = max(span.stop - span.start for _, span in chosen)
    rows: list[list[Array]] = []
    for episode, span in chosen:
        ticks = episode.ticks[span]
        terms = physics.arm.terms(ticks.position, ticks.velocity)
        slope = np.zeros_like(ticks.position)  # of the momentum, over five ticks
        slope[2:-2] = (terms.momentum[4:] - terms.momentum[:-4]) / (4.0 * episode.dt)
        force, contact = episode.force[span], episode.contact[span]
        known = np.asarray(np.isfinite(force).all(axis=1))
        known[:2] = known[-2:] = False
        external = (np.nan_to_num(force)[:, None] @ terms.jacobian)[:, 0]
        load = (slope - terms.drift - external) * physics.ratio
        effort = physics.motor.effort(ticks.current) * physics.ratio
        weight = known * np.where(contact == 1.0, 1.0, FREE_WEIGHT)
        arrays = [effort, ticks.position / physics.ratio, ticks.velocity / physics.ratio, load]
        fill = length - len(load)
        arrays = [np.concatenate([a, np.repeat(a[-1:], fill, axis=0)]) for a in arrays]
        rows.append([*arrays, np.concatenate([weight, np.zeros(fill)])])
    return _Pieces(*(np.stack(column, axis=1) for column in zip(*rows, strict=True)))


def _fit_joint(
    pieces: _Pieces, joint: int, start: GearModel, dt: float, stall: float, near: bool
) -> tuple[Array, float, float]:
    """Gear constants of one joint in the order of `NAMES`, the factor of its torque constant,
    and the effort that its current shows when there is none [N·m, servo]."""
    first = np.array([getattr(start, name)[joint] for name in NAMES])
    low = np.array(
        [LOWER.get(name, 0.05 * value) for name, value in zip(NAMES, first, strict=True)]
    )
    high = np.array([UPPER.get(name, 20.0 * v) for name, v in zip(NAMES, first, strict=True)])
    high = np.maximum(high, 4.0 * low)
    # Logarithms of the gears' constants and of the torque constant's factor; the offset in shares
    # of the spread that is expected of it, so that one step width suits all of them.
    unit = stall * (UNIT_OFFSET if near else GUESS_OFFSET)
    origin = np.concatenate([np.log(np.clip(first, low * 1.01, high * 0.99)), [0.0, 0.0]])
    reach = LARGEST_OFFSET * stall / unit
    lower = np.concatenate([np.log(low), [-LARGEST_CHANGE, -reach]])
    upper = np.concatenate([np.log(high), [LARGEST_CHANGE, reach]])
    effort, position, velocity, load = (
        np.ascontiguousarray(a[..., joint : joint + 1])
        for a in (pieces.effort, pieces.position, pieces.velocity, pieces.load)
    )
    root = np.sqrt(pieces.weight[::EVERY])
    used = root > 0.0
    names = (*NAMES, "torque_constant")
    spread = np.array([UNIT_SPREAD[name] if near else GUESS_SPREAD for name in names] + [1.0])
    prior = np.sqrt(UNIT_SHARE * used.sum() if near else GUESS_TICKS) / spread
    width = np.array([0.02] * GEARS + [0.01, 0.001 * stall / unit])

    def residuals(candidates: Array) -> Array:
        """(C, R) of candidates (C, GEARS + 2)."""
        gears = GearModel(*np.exp(candidates[:, :GEARS]).T[:, :, None, None])
        factor = np.exp(candidates[:, GEARS, None, None])
        shift = unit * candidates[:, GEARS + 1, None, None]
        observer = GearObserver(gears, dt, (Variant("fitted"),))
        still = np.broadcast_to(position[0], (len(candidates), *position[0].shape))
        state = observer.start(factor * effort[0] - shift, still)
        rows = []
        for tick in range(len(effort)):
            motor = factor * effort[tick] - shift
            found, _, state = observer.step(state, motor, position[tick], velocity[tick])
            if tick % EVERY == 0:
                rows.append(found[..., 0, 0] - load[tick, :, 0])
        off = np.stack(rows, axis=1) * root / TOLERANCE
        return np.concatenate([off[:, used], prior * (candidates - origin)], axis=1)

    def jacobian(point: Array) -> Array:
        moved = np.concatenate([point + np.diag(width), point - np.diag(width)])
        plus, minus = np.split(residuals(moved), 2)
        return np.asarray((plus - minus).T / (2.0 * width))

    result = least_squares(
        lambda point: residuals(point[None])[0],
        origin,
        jac=jacobian,
        bounds=(lower, upper),
        loss="soft_l1",
        max_nfev=25,
        xtol=1e-3,
        ftol=1e-4,
    )
    factor, shift = np.exp(result.x[GEARS]), unit * result.x[GEARS + 1]
    return np.asarray(np.exp(result.x[:GEARS])), float(factor), float(shift)
