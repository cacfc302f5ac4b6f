# SPDX-License-Identifier: Apache-2.0
"""The effort surrogate on any small arm: learned through the simulator from positions alone."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from na_core.features import Ticks
from na_core.features.basic import CHANNELS, BasicFeatures
from na_training.model import WINDOW, Actuator, Layout, ModelConfig
from na_training.simulator import Simulator
from na_training.training.loss import pose_loss
from na_training.training.rollout import BasicColumns, roll_out
from na_training.training.step import take_step

Array = NDArray[np.float64]

SMALL = ModelConfig("small", "mlp", "basic35", 128, 2, head_latent=64)
"""A window network of about 40,000 parameters: these recordings last seconds, not hours."""
HORIZONS = (8, 16, 32, 64)


@dataclass(frozen=True)
class SurrogateSettings:
    """Settings of a fit.

    Attributes:
        seconds: wall-clock time of the training [s].
        batch: rollouts per update.
        rate: learning rate at the start.
        pose_unit: position error that costs one unit (n,) [rad].
        effort_scale: effort of a head output of one (n,) [N·m].
        seed: of weights and sampling.
        patience: no longer horizon than this many ticks.
    """

    seconds: float
    pose_unit: Array
    effort_scale: Array
    batch: int = 16
    rate: float = 2e-3
    seed: int = 0
    longest: int = 64


def scales(rows: Array, joints: int) -> tuple[Array, Array]:
    """Mean and scale of the basic features (7 n,): the rules of the arm's own training."""
    mean, deviation = rows.mean(axis=0), rows.std(axis=0)
    for joint in range(joints):
        at = {name: joint * len(CHANNELS) + i for i, name in enumerate(CHANNELS)}
        mean[at["goal"]], deviation[at["goal"]] = mean[at["q"]], deviation[at["q"]]
        for name in ("qd", "error", "current"):
            mean[at[name]], deviation[at[name]] = 0.0, np.sqrt(np.mean(rows[:, at[name]] ** 2))
    deviation[deviation < 1e-7] = 1.0
    return mean, deviation


def train_surrogate(
    recordings: Sequence[Ticks], simulator: Simulator, settings: SurrogateSettings
) -> Actuator:
    """Train the effort head so that the simulated arm follows the recorded positions.

    Only positions are labels. Current or load is an input, as in the live system.

    Args:
        recordings: telemetry at the simulator's step, without gaps.
        simulator: of the arm.
        settings: see `SurrogateSettings`.
    """
    n = simulator.n
    names = tuple(f"joint{index + 1}" for index in range(n))
    features = BasicFeatures(names)
    rows = [features.replay(ticks) for ticks in recordings]
    mean, scale = scales(np.concatenate(rows), n)
    torch.manual_seed(settings.seed)
    layout = Layout(names, features.names, features.basic)
    parts = [torch.as_tensor(x, dtype=torch.float32) for x in (mean, scale, settings.effort_scale)]
    model = Actuator(SMALL, layout, *parts)
    optimizer = torch.optim.AdamW(model.parameters(), lr=settings.rate, weight_decay=1e-4)
    columns = BasicColumns(n)
    unit = torch.as_tensor(settings.pose_unit, dtype=torch.float32)
    tensors = [torch.from_numpy(row.astype(np.float32)) for row in rows]
    rng = np.random.default_rng(settings.seed)
    start = time.monotonic()
    progress = 0.0
    while progress < 1.0:
        horizons = [h for h in HORIZONS if h <= settings.longest]
        horizon = horizons[min(int(progress * len(horizons)), len(horizons) - 1)]
        for group in optimizer.param_groups:
            group["lr"] = settings.rate * (0.05 + 0.95 * 0.5 * (1.0 + np.cos(np.pi * progress)))
        batch = _draw(tensors, rng, settings.batch, WINDOW + horizon)
        rollout = roll_out(model, simulator, columns, batch)
        measured = columns.channel(batch[:, WINDOW:], "q")
        take_step(model, optimizer, {"pose": pose_loss(rollout.position, measured, unit)}, 1.0)
        progress = (time.monotonic() - start) / settings.seconds
    model.eval()
    return model


def _draw(
    tensors: Sequence[torch.Tensor], rng: np.random.Generator, batch: int, length: int
) -> torch.Tensor:
    """Pieces (batch, length, 7 n), recordings weighted by the room they offer."""
    room = np.array([max(len(rows) - length + 1, 0) for rows in tensors], dtype=float)
    if room.sum() <= 0.0:
        raise ValueError(f"no recording has {length} ticks; shorten the horizon")
    chosen = rng.choice(len(tensors), batch, p=room / room.sum())
    pieces = []
    for index in chosen:
        first = int(rng.integers(int(room[index])))
        pieces.append(tensors[index][first : first + length])
    return torch.stack(pieces)


def surrogate_of(model: Actuator, simulator: Simulator, ticks: Ticks) -> Array:
    """Clipped efforts (T, n) [N·m] on measured states; NaN in the first eight ticks."""
    rows = BasicFeatures(model.layout.joints).replay(ticks).astype(np.float32)
    out = np.full(ticks.shape, np.nan)
    with torch.no_grad():
        effort = model.sequence(torch.from_numpy(rows)[None]).effort[0]
        out[WINDOW - 1 :] = simulator.clip(effort).numpy()
    return out


def rolled(model: Actuator, simulator: Simulator, ticks: Ticks) -> Array:
    """Positions (T, n) of one closed-loop rollout over a whole recording; NaN in the first nine."""
    rows = BasicFeatures(model.layout.joints).replay(ticks).astype(np.float32)
    out = np.full(ticks.shape, np.nan)
    with torch.no_grad():
        rollout = roll_out(
            model, simulator, BasicColumns(simulator.n), torch.from_numpy(rows)[None]
        )
    out[WINDOW:] = rollout.position[0].numpy()
    return out
