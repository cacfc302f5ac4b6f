# SPDX-License-Identifier: Apache-2.0
"""How gradients through the simulator behave as the horizon grows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from na_core.features.basic import basic_features
from na_training.data import Episode
from na_training.evaluation.rollouts import pieces_of
from na_training.model import WINDOW, Actuator
from na_training.simulator import Simulator
from na_training.training.loss import pose_loss
from na_training.training.rollout import BasicColumns, roll_out

HORIZONS = (64, 128, 200, 300, 400, 500)
REFERENCE = 128


def gradient_table(
    model: Actuator,
    simulator: Simulator,
    episodes: Sequence[Episode],
    unit: NDArray[np.float64],
    *,
    batch: int = 8,
) -> list[dict[str, float]]:
    """Gradient of the pose loss with respect to all weights, per horizon, from the same starts.

    Args:
        model: the network.
        simulator: for its robot.
        episodes: recordings long enough for the longest horizon.
        unit: pose error that costs one unit (n,) [rad or m].
        batch: rollouts.

    Returns:
        horizon, norm, loss, cosine to the gradient at H = 128; fewer rows where no episode is long
        enough.
    """
    columns = BasicColumns(simulator.n)
    scale = torch.as_tensor(unit, dtype=torch.float32)
    longest = max((h for h in HORIZONS if pieces_of(episodes, h)), default=0)
    if not longest:
        return []
    pieces = pieces_of(episodes, longest)
    chosen = np.unique(np.linspace(0, len(pieces) - 1, min(batch, len(pieces))).astype(int))
    starts = [pieces[index] for index in chosen]
    rows: list[dict[str, float]] = []
    gradients: dict[int, Tensor] = {}
    for horizon in (h for h in HORIZONS if h <= longest):
        cuts = [(episodes[e], slice(t, t + WINDOW + horizon)) for e, t in starts]
        values = np.stack([basic_features(episode.ticks[cut]) for episode, cut in cuts])
        basic = torch.from_numpy(values.astype(np.float32))
        model.zero_grad(set_to_none=True)
        rollout = roll_out(model, simulator, columns, basic)
        loss = pose_loss(rollout.position, columns.channel(basic[:, WINDOW:], "q"), scale)
        loss.backward()
        parts = [p.grad.flatten() for p in model.parameters() if p.grad is not None]
        gradients[horizon] = torch.cat(parts).double()
        rows.append(
            {
                "horizon": float(horizon),
                "loss": float(loss.detach()),
                "norm": float(gradients[horizon].norm()),
            }
        )
    reference = gradients.get(REFERENCE)
    for row in rows:
        mine = gradients[int(row["horizon"])]
        if reference is not None:
            row["cosine_to_128"] = float(
                torch.dot(mine, reference) / (mine.norm() * reference.norm() + 1e-30)
            )
    model.zero_grad(set_to_none=True)
    return rows
