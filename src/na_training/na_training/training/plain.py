# SPDX-License-Identifier: Apache-2.0
"""The plain way to compute the same losses: whole model, whole window, every step. For checks."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from na_training.model import WINDOW, Actuator, Estimates
from na_training.training.loss import estimate_losses, pose_loss
from na_training.training.step import Objective

Indices = NDArray[np.int64]


class PlainObjective:
    """Recomputes all nine tokens and all heads at every step; the measure of the bench `diffsim`.

    Args:
        objective: the fast implementation, whose data, simulator and settings are used.
    """

    def __init__(self, objective: Objective) -> None:
        self.objective = objective

    def rollout_losses(self, model: Actuator, index: Indices) -> dict[str, Tensor]:
        """As `Objective.rollout_losses`, without telemetry dropout."""
        objective, cut = self.objective, model.layout.basic
        columns, config = objective.columns, objective.config
        basic = torch.from_numpy(objective.store.features[index][..., :cut])
        rows = list(basic[:, :WINDOW].unbind(1))
        q = columns.channel(rows[-1], "q")
        qd = (q - columns.channel(rows[-2], "q")) / objective.simulator.parameters.dt
        positions, estimates = [], []
        for step in range(basic.shape[1] - WINDOW):
            window = torch.stack(rows[-WINDOW:], dim=1)
            latent = model.encoder(model.scaled_basic(window))
            estimates.append(model.estimates(latent, None))
            q, qd = objective.simulator.step(q, qd, model.effort(latent))
            positions.append(q)
            recorded = basic[:, WINDOW + step]
            row = recorded.clone()
            row[:, columns.place["q"]] = q
            row[:, columns.place["qd"]] = qd
            row[:, columns.place["error"]] = columns.channel(recorded, "goal") - q
            rows.append(row)
        together = Estimates(*(torch.stack(parts, 1) for parts in zip(*estimates, strict=True)))
        losses = estimate_losses(together, objective.labels(index[:, WINDOW - 1 : -1]), config)
        measured = columns.channel(basic[:, WINDOW:], "q")
        pose = pose_loss(torch.stack(positions, 1), measured, objective.unit)
        result = {f"rollout/{name}": value for name, value in losses.items()}
        result["rollout/pose"] = config.pose_weight * pose
        return result

    def measured_losses(self, model: Actuator, index: Indices) -> dict[str, Tensor]:
        """As `Objective.measured_losses`, every window on its own."""
        objective = self.objective
        features = torch.from_numpy(objective.store.features[index])
        windows = features.unfold(1, WINDOW, 1).transpose(-1, -2)
        batch, length = windows.shape[:2]
        outputs = model(windows.reshape(batch * length, WINDOW, -1))
        shaped = Estimates(*(part.unflatten(0, (batch, length)) for part in outputs[1:]))
        labels = objective.labels(index[:, WINDOW - 1 :])
        losses = estimate_losses(shaped, labels, objective.config)
        return {f"measured/{name}": value for name, value in losses.items()}
