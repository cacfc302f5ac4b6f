# SPDX-License-Identifier: Apache-2.0
"""Closed-loop evaluation: pose per joint at fixed horizons, with and without telemetry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from na_core.features.basic import basic_features
from na_core.robot_spec import RobotSpec
from na_training.data import Episode
from na_training.model import WINDOW, Actuator
from na_training.simulator import Simulator
from na_training.training.rollout import BasicColumns, roll_out

Array = NDArray[np.float64]

HORIZONS = (100, 300, 600)
TAIL = 50
"""Frames before a horizon over which "@horizon" is averaged."""
BATCH = 64


@dataclass(frozen=True)
class RolloutResult:
    """Rollouts of many pieces; H is the longest horizon that fits.

    Attributes:
        position: simulated (pieces, H, n) [rad or m].
        measured: recorded at the same ticks.
        goal: `q_sim = goal`, the goal in force one tick before (pieces, H, n).
        force: estimated on simulated states (pieces, H, 3) [N], at the tick before each position.
        label: force labels at the same ticks as `force`.
        pieces: (episode index, first tick) of each.
    """

    position: Array
    measured: Array
    goal: Array
    force: Array
    label: Array
    pieces: list[tuple[int, int]]


def pieces_of(episodes: Sequence[Episode], horizon: int) -> list[tuple[int, int]]:
    """Starts of non-overlapping pieces of 9 + horizon good ticks: (episode index, first tick)."""
    need = WINDOW + horizon
    return [
        (number, int(first))
        for number, episode in enumerate(episodes)
        for start, stop in episode.segments
        for first in range(start, stop - need + 1, need)
    ]


def roll_episodes(
    model: Actuator,
    simulator: Simulator,
    episodes: Sequence[Episode],
    *,
    telemetry: bool = True,
    limit: int = 128,
) -> RolloutResult | None:
    """Roll out evenly chosen pieces of the episodes; None when none is long enough.

    Args:
        model: the network.
        simulator: for its robot.
        episodes: recordings.
        telemetry: False withholds current, voltage and temperature (set to their means).
        limit: at most so many pieces.
    """
    for horizon in (HORIZONS[-1], HORIZONS[-2], HORIZONS[0]):
        pieces = pieces_of(episodes, horizon)
        if pieces:
            break
    else:
        return None
    if len(pieces) > limit:
        chosen = np.linspace(0, len(pieces) - 1, limit).astype(int)
        pieces = [pieces[index] for index in chosen]
    columns = BasicColumns(simulator.n)
    parts: list[list[Array]] = [[] for _ in range(5)]
    for first in range(0, len(pieces), BATCH):
        group = pieces[first : first + BATCH]
        cuts = [(episodes[number], slice(tick, tick + WINDOW + horizon)) for number, tick in group]
        values = np.stack([basic_features(episode.ticks[cut]) for episode, cut in cuts])
        basic = torch.from_numpy(values.astype(np.float32))
        fed = basic if telemetry else columns.without_telemetry(basic, model.mean)
        with torch.no_grad():
            rollout = roll_out(model, simulator, columns, fed)
            force = model.estimates(rollout.latent, None).force
        label = np.stack([episode.force[cut] for episode, cut in cuts])
        goal = columns.channel(basic, "goal")[:, WINDOW - 1 : -1]
        measured = columns.channel(basic, "q")[:, WINDOW:]
        group_parts = (rollout.position, measured, goal, force)
        for part, tensor in zip(parts, group_parts, strict=False):
            part.append(tensor.numpy().astype(np.float64))
        parts[4].append(label[:, WINDOW - 1 : -1])
    position, measured, goal, force, label = (np.concatenate(part) for part in parts)
    return RolloutResult(position, measured, goal, force, label, pieces)


def pose_figures(position: Array, measured: Array, spec: RobotSpec) -> dict[str, list[float]]:
    """Mean absolute error per joint [deg, or mm for a slide].

    Returns:
        "@H" for each horizon that was reached, over its last `TAIL` frames, and "all" frames.
    """
    unit = np.array(
        [np.rad2deg(1.0) if joint.type == "revolute" else 1000.0 for joint in spec.joints]
    )
    error = np.abs(position - measured) * unit
    figures = {
        f"@{horizon}": error[:, horizon - TAIL : horizon].mean(axis=(0, 1)).tolist()
        for horizon in HORIZONS
        if horizon <= error.shape[1]
    }
    figures["all"] = error.mean(axis=(0, 1)).tolist()
    return figures
