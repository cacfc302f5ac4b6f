# SPDX-License-Identifier: Apache-2.0
"""Tunes every observer and its dead band on validation episodes, as its author would have.

The same care goes into each method: a grid of its own settings, then a grid of dead bands, so that
no method wins by its gate alone. Test episodes are never looked at.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from na_core.features import GearModel, MotorModel, Ticks
from na_core.features.rigid import RigidArm, RigidTerms
from na_core.observers import (
    OBSERVERS,
    DeadBand,
    ForceEstimator,
    Observer,
    force_from_effort,
)
from na_core.observers.estimator import arm_of
from na_core.robot_spec import RobotSpec
from na_training.classical.samples import FitError
from na_training.data import Episode
from na_training.data.drive_fit import fit_drives
from na_training.data.motor_fit import fit_motor

Array = NDArray[np.float64]

GRIDS: dict[str, list[dict[str, float]]] = {
    "id_linear": [{"ticks": float(t)} for t in (2, 4, 8, 16, 32, 64)],
    "id_friction": [{"ticks": float(t)} for t in (2, 4, 8, 16, 32, 64)],
    "gmo": [{"gain": g} for g in (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)],
    "gmo_memory": [
        {"gain": g, "hold": h, "stroke": s}
        for g in (2.0, 4.0, 8.0)
        for h in (0.4, 0.8, 1.0)
        for s in (0.002, 0.006, 0.015)
    ],
    "kalman": [
        {"walk": w, "drive_noise": d} for w in (0.03, 0.1, 0.3, 1.0) for d in (0.1, 0.4, 1.5)
    ],
    "gears": [{"gain": g} for g in (2.0, 4.0, 8.0, 16.0, 32.0)],
    "dob": [{"cutoff": c, "inertia": i} for c in (2.0, 5.0, 10.0, 20.0) for i in (0.003, 0.01)],
}
"""Settings that are tried, by observer. Slower ones than these would score better on long payload
episodes and answer to nothing within two seconds."""
BANDS = tuple(np.round(np.geomspace(0.15, 6.0, 22), 3))
"""Sizes of force at which the gate may open [N]."""
CLOSES = (0.5, 0.7, 0.9)
"""Where it may close, as a share of that."""
DWELL = 3


@dataclass(frozen=True)
class Block:
    """Recordings side by side, padded at the end to one length by their last tick.

    Attributes:
        ticks: (T, B, n).
        terms: of them.
        force: labels (T, B, 3) [N], NaN where unknown or padded.
        contact: 1, 0 or NaN (T, B).
        group: kind of task, a number per column (B,).
        owner: (episode, first tick, length) of each column.
    """

    ticks: Ticks
    terms: RigidTerms
    force: Array
    contact: Array
    group: NDArray[np.int64]
    owner: tuple[tuple[int, int, int], ...]


def make_blocks(arm: RigidArm, episodes: Sequence[Episode], width: int = 48) -> list[Block]:
    """Arrange the usable segments of episodes in blocks of `width`, alike lengths together."""
    pieces = [
        (index, int(start), int(stop - start))
        for index, episode in enumerate(episodes)
        for start, stop in episode.segments
    ]
    pieces.sort(key=lambda piece: piece[2])
    kinds = [f"{episode.category}/{episode.task}" for episode in episodes]
    numbers = {kind: number for number, kind in enumerate(sorted(set(kinds)))}
    group = np.array([numbers[kind] for kind in kinds], dtype=np.int64)
    return [
        _block(arm, episodes, group, pieces[first : first + width])
        for first in range(0, len(pieces), width)
    ]


def _block(
    arm: RigidArm,
    episodes: Sequence[Episode],
    group: NDArray[np.int64],
    pieces: Sequence[tuple[int, int, int]],
) -> Block:
    length = max(piece[2] for piece in pieces)

    def padded(values: Array, piece: tuple[int, int, int], fill: float | None) -> Array:
        cut = values[piece[1] : piece[1] + piece[2]]
        rest = length - len(cut)
        last = cut[-1:] if fill is None else np.full_like(cut[-1:], fill)
        return np.concatenate([cut, np.repeat(last, rest, axis=0)])

    def stacked(name: str) -> Array:
        return np.stack(
            [padded(getattr(episodes[p[0]].ticks, name), p, None) for p in pieces], axis=1
        )

    names = ("position", "velocity", "goal", "current", "voltage", "temperature")
    ticks = Ticks(**{name: stacked(name) for name in names})
    terms = arm.terms(ticks.position, ticks.velocity)
    force = np.stack([padded(episodes[p[0]].force, p, np.nan) for p in pieces], axis=1)
    contact = np.stack([padded(episodes[p[0]].contact, p, np.nan) for p in pieces], axis=1)
    kinds = group[[piece[0] for piece in pieces]]
    return Block(ticks, terms, force, contact, kinds, tuple(pieces))


@dataclass(frozen=True)
class Tuned:
    """A tuned method.

    Attributes:
        estimator: ready to run live or in replay.
        settings: of the observer, chosen.
        motor: constants "fitted" together with the gears, "regressed" on effort, or "published".
        weighted: whether joints are weighted by their noise.
        score: balanced validation error [N].
        seconds: wall-clock of tuning, without the motor fit [s].
    """

    estimator: ForceEstimator
    settings: Mapping[str, float]
    motor: str
    weighted: bool
    score: float
    seconds: float


def balanced_error(
    force: Array, label: Array, contact: Array, group: NDArray[np.int64] | None = None
) -> float:
    """Mean vector error [N]: every kind of task weighs the same, contact as much as no contact.

    Args:
        force: estimates (N, 3) [N].
        label: labels (N, 3) [N], NaN where unknown.
        contact: 1, 0 or NaN (N,).
        group: kind of task (N,); one kind when None.

    Raises:
        FitError: no tick has a known force.
    """
    error = np.linalg.norm(force - label, axis=-1)
    kinds = np.zeros(len(error), dtype=np.int64) if group is None else group
    means = []
    for state in (1.0, 0.0):
        rows = (contact == state) & np.isfinite(error)
        each = [error[rows & (kinds == kind)].mean() for kind in np.unique(kinds[rows])]
        if each:
            means.append(np.mean(each))
    if not means:
        raise FitError("no tick with a known force; tuning needs labelled episodes")
    return float(np.mean(means))


def _run(
    kind: str,
    constants: tuple[MotorModel, GearModel],
    dt: float,
    settings: Mapping[str, float],
    b: Block,
) -> Array:
    return _make(kind, constants, dt, settings).replay(b.ticks, b.terms)


def _make(
    kind: str, constants: tuple[MotorModel, GearModel], dt: float, settings: Mapping[str, float]
) -> Observer:
    made = OBSERVERS[kind]
    motor, gears = constants
    return made(motor, dt, gears if made.needs_gears else None, **settings)


def noise_weights(effort: list[Array], blocks: Sequence[Block]) -> Array:
    """Trust in each joint (n,): one over the mean square of its residual in free ticks."""
    rows = np.concatenate(
        [value[block.contact == 0.0] for value, block in zip(effort, blocks, strict=True)]
    )
    if not len(rows):
        raise FitError("no free tick; tuning needs episodes without contact")
    return np.asarray(1.0 / np.maximum(np.mean(rows**2, axis=0), 1e-9))


def tune_observer(
    kind: str,
    spec: RobotSpec,
    constants: Mapping[str, tuple[MotorModel, GearModel]],
    blocks: Mapping[str, Sequence[Block]],
    dt: float,
) -> Tuned:
    """Choose settings, motor constants, weights and dead band of one observer.

    Args:
        kind: key of `OBSERVERS`.
        spec: the robot.
        constants: of motors and gears to choose from, by name.
        blocks: validation recordings with the terms of each of those (rotors differ).
        dt: seconds per tick.
    """
    started = time.perf_counter()
    best: tuple[float, str, dict[str, float], Array | None] | None = None
    for name, known in constants.items():
        for settings in GRIDS[kind]:
            effort = [_run(kind, known, dt, settings, block) for block in blocks[name]]
            for weight in (None, noise_weights(effort, blocks[name])):
                force = [
                    force_from_effort(value, block.terms.jacobian, weight)
                    for value, block in zip(effort, blocks[name], strict=True)
                ]
                score = balanced_error(*_joined(force, blocks[name]))
                if best is None or score < best[0]:
                    best = (score, name, settings, weight)
    if best is None:
        raise FitError(f"observer {kind}: nothing to choose from")
    score, name, settings, weight = best
    known = constants[name]
    force = [
        force_from_effort(_run(kind, known, dt, settings, b), b.terms.jacobian, weight)
        for b in blocks[name]
    ]
    gate = tune_gate(force, blocks[name])
    estimator = ForceEstimator(
        arm_of(spec, known[0]), _make(kind, known, dt, settings), gate, weight
    )
    seconds = time.perf_counter() - started
    return Tuned(estimator, settings, name, weight is not None, score, seconds)


def _joined(
    force: Sequence[Array], blocks: Sequence[Block]
) -> tuple[Array, Array, Array, NDArray[np.int64]]:
    return (
        np.concatenate([value.reshape(-1, 3) for value in force]),
        np.concatenate([block.force.reshape(-1, 3) for block in blocks]),
        np.concatenate([block.contact.reshape(-1) for block in blocks]),
        np.concatenate([np.tile(block.group, len(block.contact)) for block in blocks]),
    )


def gate_columns(size: Array, on: float, off: float, dwell: int = DWELL) -> NDArray[np.bool_]:
    """`DeadBand.replay` over many columns (T, B) of force sizes at once."""
    is_open = np.zeros(size.shape[1], dtype=bool)
    count = np.zeros(size.shape[1], dtype=np.int64)
    out = np.zeros(size.shape, dtype=bool)
    for index in range(len(size)):
        against = np.where(is_open, size[index] < off, size[index] >= on)
        count = np.where(against, count + 1, 0)
        flip = count >= dwell
        is_open = is_open ^ flip
        count[flip] = 0
        out[index] = is_open
    return out


def tune_gate(force: Sequence[Array], blocks: Sequence[Block]) -> DeadBand:
    """The dead band with the smallest balanced error of the gated force."""
    best = (np.inf, DeadBand(1.0, 0.7, DWELL))
    sizes = [np.linalg.norm(value, axis=-1) for value in force]
    for on in BANDS:
        for share in CLOSES:
            gated = [
                np.where(gate_columns(size, on, share * on)[..., None], value, 0.0)
                for size, value in zip(sizes, force, strict=True)
            ]
            score = balanced_error(*_joined(gated, blocks))
            if score < best[0]:
                best = (score, DeadBand(float(on), float(share * on), DWELL))
    return best[1]


def frictionless(motor: MotorModel) -> MotorModel:
    """The same constants without friction."""
    zeros = np.zeros_like(motor.coulomb)
    return replace(motor, coulomb=zeros, viscous=zeros)


def tune_all(
    spec: RobotSpec,
    training: Sequence[Episode],
    validation: Sequence[Episode],
    dt: float,
    kinds: Sequence[str] = tuple(OBSERVERS),
) -> tuple[dict[str, Tuned], MotorModel, float]:
    """Fit motor and gears on training episodes, tune every observer on validation episodes.

    Returns:
        tuned observers by name, the fitted motor, and the seconds of its fit.
    """
    started = time.perf_counter()
    regressed = fit_motor(spec, training)
    fitted, gears = fit_drives(spec, training, regressed)
    seconds = time.perf_counter() - started
    constants = {
        "fitted": (fitted, gears),
        "regressed": (regressed, gears),
        "published": (MotorModel.published(spec), GearModel.guessed(spec)),
    }
    blocks = {
        name: make_blocks(arm_of(spec, motor), validation) for name, (motor, _) in constants.items()
    }
    tuned = {kind: tune_observer(kind, spec, constants, blocks, dt) for kind in kinds}
    return tuned, fitted, seconds


def run_episodes(tuned: Tuned, episodes: Sequence[Episode]) -> list[tuple[Array, Array]]:
    """Force (T, 3) [N] and gate (T,) of every episode, NaN and False outside usable segments."""
    estimator = tuned.estimator
    blocks = make_blocks(estimator.arm, episodes)
    out = [
        (np.full((episode.length, 3), np.nan), np.zeros(episode.length, dtype=bool))
        for episode in episodes
    ]
    for block in blocks:
        effort = estimator.observer.replay(block.ticks, block.terms)
        force = force_from_effort(effort, block.terms.jacobian, estimator.weight)
        gate = estimator.gate
        state = gate_columns(np.linalg.norm(force, axis=-1), gate.on, gate.off, gate.dwell)
        for column, (index, first, length) in enumerate(block.owner):
            out[index][0][first : first + length] = force[:length, column]
            out[index][1][first : first + length] = state[:length, column]
    return out


def tick_cost(estimator: ForceEstimator, ticks: Ticks, count: int = 300) -> float:
    """Microseconds per live tick on this machine, median of single calls."""
    estimator.reset()
    spent = []
    for index in range(min(count, ticks.shape[0])):
        row = ticks[index]
        started = time.perf_counter()
        estimator.step(row)
        spent.append(time.perf_counter() - started)
    estimator.reset()
    return float(np.median(spent) * 1e6)
