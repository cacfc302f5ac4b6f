# SPDX-License-Identifier: Apache-2.0
"""Motor constants from free motion: current regressed on model effort, moving samples only."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from na_core.features import MotorModel, PhysicsFeatures
from na_core.robot_spec import RobotSpec
from na_training.data.episode import Episode

Array = NDArray[np.float64]

MOVING = 0.1
"""A joint faster than this counts as moving [servo rad/s]."""
MINIMUM = 400
"""Fewer moving samples than this leave the published constant in place."""


def fit_motor(spec: RobotSpec, episodes: Sequence[Episode]) -> MotorModel:
    """Fit torque constant, offset, Coulomb and viscous friction of every joint.

    Current is regressed on effort, i = τ / K + i₀ + (c sign(q̇) + v q̇) / K, because the effort of
    the model is the cleaner of the two: the other way round the noise of the current shrinks K.
    Effort is that of the rigid bodies less Jᵀ f of the labelled force; only ticks with a force
    label, of an arm that is not restricted, are used.

    Args:
        spec: the robot.
        episodes: training episodes; those without such ticks are left out.

    Returns:
        Constants; a joint that hardly moves keeps its published ones.
    """
    start = MotorModel.published(spec)
    physics = PhysicsFeatures.for_robot(spec, 1.0 / spec.control_rate, start)
    rows: list[tuple[Array, Array, Array]] = []
    for episode in episodes:
        free = np.array(np.isfinite(episode.force).all(axis=1))
        if bool((np.nan_to_num(episode.restricted) > 0).any()) or free.sum() < 20:
            continue
        q, qd = episode.ticks.position, episode.ticks.velocity
        dt = episode.dt
        terms = physics.arm.terms(q, qd)
        # M q̈ + C q̇ + g, from the slope of the momentum over five ticks.
        slope = np.zeros_like(q)
        slope[2:-2] = (terms.momentum[4:] - terms.momentum[:-4]) / (4.0 * dt)
        external = (np.nan_to_num(episode.force)[:, None] @ terms.jacobian)[:, 0]
        effort = slope - terms.drift - external
        free[:2] = free[-2:] = False
        rows.append((effort[free], qd[free], episode.ticks.current[free]))
    constants = {key: np.array(value) for key, value in start.to_json().items()}
    if rows:
        effort, qd, current = (np.concatenate(parts) for parts in zip(*rows, strict=True))
        for joint in range(spec.n):
            _fit_joint(joint, effort[:, joint], qd[:, joint], current[:, joint], constants, spec)
    return MotorModel(**constants)


def _fit_joint(
    joint: int,
    effort: Array,
    qd: Array,
    current: Array,
    constants: dict[str, Array],
    spec: RobotSpec,
) -> None:
    ratio = spec.joints[joint].ratio
    moving = (np.abs(qd) > MOVING * ratio) & np.isfinite(current)
    if moving.sum() < MINIMUM:
        return
    tau, speed, measured = effort[moving], qd[moving], current[moving]
    columns = np.stack([tau, np.ones_like(tau), np.sign(speed), speed], axis=1)
    scale = np.abs(columns).max(axis=0) + 1e-12
    solution = np.linalg.lstsq(columns / scale, measured, rcond=None)[0] / scale
    inverse, offset, coulomb, viscous = solution
    published = constants["torque_constant"][joint]
    spread = float(np.std(tau) / (published * np.std(measured) + 1e-12))
    if spread > 0.15 and 0.25 < inverse * published < 4.0:
        constants["torque_constant"][joint] = 1.0 / inverse
    constant = constants["torque_constant"][joint]
    constants["offset"][joint] = np.clip(offset, -0.05, 0.05)
    constants["coulomb"][joint] = max(coulomb, 0.0) * constant
    constants["viscous"][joint] = max(viscous, 0.0) * constant
