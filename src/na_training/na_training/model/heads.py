# SPDX-License-Identifier: Apache-2.0
"""Output heads: effort, force with log-variance, gate, condition."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from na_core.stream_graph import MOST_PHYSICS, physics_force
from na_training.model.config import ModelConfig


class Outputs(NamedTuple):
    """One row per window.

    Attributes:
        effort: raw effort surrogate (batch, n) [N·m or N], before clipping.
        force: external force on the end effector (batch, 3) [N], base axes.
        gate: contact logit (batch, 1).
        condition: logit per joint, positive = restricted (batch, n).
        log_variance: of each force component (batch, 3) [log N²].
    """

    effort: Tensor
    force: Tensor
    gate: Tensor
    condition: Tensor
    log_variance: Tensor


class Estimates(NamedTuple):
    """All outputs but the effort; shapes as in `Outputs`, with any leading axes."""

    force: Tensor
    gate: Tensor
    condition: Tensor
    log_variance: Tensor


def _head(inputs: int, latent: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, latent), nn.GELU(), nn.Linear(latent, outputs))


class Heads(nn.Module):  # type: ignore[misc]
    """Heads on the latent and, where the feature set has memory, on all features of the tick.

    The effort reads the latent alone, because only that exists in a simulated arm. With memory
    features the force is the sum of a direct part, an estimate of external joint effort carried
    through the force map, and the gate times the physics estimate: net + P τ + gate · physics.
    That is the force by the loads behind friction where the features have it, else the observer's.

    Args:
        config: sizes.
        width: size of the latent.
        joints: number of joints n.
        names: of all features.
        basic: number of leading features without memory; with memory there are more.
        joint_names: in canonical order, to find the columns of the force map.

    Attributes:
        dropout: part of the hidden values of all heads but the effort that is dropped in training.
    """

    map_index: Tensor
    force_index: Tensor

    def __init__(
        self,
        config: ModelConfig,
        width: int,
        joints: int,
        names: tuple[str, ...],
        basic: int,
        joint_names: tuple[str, ...],
    ) -> None:
        super().__init__()
        latent = config.head_latent
        self.joints = joints
        self.dropout = 0.0
        self.has_extras = len(names) > basic
        shared = width
        if self.has_extras:
            side = config.side
            shared += side // 2
            self.side = nn.Sequential(
                nn.Linear(len(names), side),
                nn.GELU(),
                nn.Linear(side, side),
                nn.GELU(),
                nn.Linear(side, side // 2),
                nn.GELU(),
            )
            self.absent = nn.Parameter(torch.zeros(side // 2))
            places = {name: index for index, name in enumerate(names)}
            columns = [places[f"force_map.{axis}.{name}"] for axis in "xyz" for name in joint_names]
            self.register_buffer("map_index", torch.tensor(columns))
            physics = physics_force(places)
            self.register_buffer(
                "force_index", torch.tensor([places[f"{physics}.{axis}"] for axis in "xyz"])
            )
        self.effort = _head(width, latent, joints)
        self.force = _head(shared, latent, 3 + (joints if self.has_extras else 0))
        if self.has_extras:
            self.linear = nn.Linear(len(names), joints, bias=False)
            nn.init.zeros_(self.linear.weight)
        self.gate = _head(shared, latent, 1)
        self.condition = _head(shared, latent, joints)
        self.log_variance = _head(shared, latent, 3)

    def estimates(self, latent: Tensor, raw: Tensor | None, scaled: Tensor | None) -> Estimates:
        """Estimates from latents (..., width).

        Args:
            latent: from the encoder.
            raw: features of the tick in their own units (..., F), None where there is no memory.
            scaled: the same after scaling and clamping.
        """
        shared = latent
        if self.has_extras:
            if scaled is None:
                side = self.absent.expand(*latent.shape[:-1], -1)
            else:
                side = self._through(self.side, scaled)
            shared = torch.cat([latent, side], dim=-1)
        # Products of an output with forces in newtons are taken in full precision.
        full = self.gate[0].weight.dtype
        force = self._through(self.force, shared).to(full)
        gate = self._through(self.gate, shared).to(full)
        if self.has_extras:
            force, effort = force[..., :3], force[..., 3:]
            if raw is not None and scaled is not None:
                effort = effort + self.linear(scaled).to(full)
                inverse = raw.index_select(-1, self.map_index)
                inverse = inverse.unflatten(-1, (3, self.joints))
                force = force + (inverse * effort[..., None, :]).sum(-1)
                physics = raw.index_select(-1, self.force_index)
                force = force + torch.sigmoid(gate) * physics.clamp(-MOST_PHYSICS, MOST_PHYSICS)
        variance = self._through(self.log_variance, shared).clamp(-9.0, 6.0)
        return Estimates(force, gate, self._through(self.condition, shared), variance)

    def _through(self, layers: nn.Sequential, x: Tensor) -> Tensor:
        """Apply the layers, with dropout after each GELU while it is trained with any."""
        if not (self.training and self.dropout > 0.0):
            out: Tensor = layers(x)
            return out
        for layer in layers:
            x = layer(x)
            if isinstance(layer, nn.GELU):
                x = functional.dropout(x, self.dropout)
        return x
