# SPDX-License-Identifier: Apache-2.0
"""Losses: pose of a rollout, force with its variance, contact, condition; all masked by labels."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from na_training.model import Estimates
from na_training.training.config import TrainConfig


@dataclass(frozen=True)
class Labels:
    """Labels of the ticks that are estimated; NaN where unknown.

    Attributes:
        force: (..., 3) [N].
        contact: 1, 0 or NaN (...).
        restricted: 1, 0 or NaN (..., n).
    """

    force: Tensor
    contact: Tensor
    restricted: Tensor

    def __getitem__(self, index: object) -> Labels:
        return Labels(self.force[index], self.contact[index], self.restricted[index])


def pose_loss(position: Tensor, measured: Tensor, unit: Tensor) -> Tensor:
    """Smooth-L1 of the position error in units of `unit` (n,) [rad or m], mean over all."""
    return functional.smooth_l1_loss(position / unit, measured / unit)


def force_loss(estimates: Estimates, labels: Labels, config: TrainConfig) -> Tensor:
    """Smooth-L1 of the force error in units of `force_unit`, mean over labelled components."""
    known = torch.isfinite(labels.force)
    target = torch.where(known, labels.force, estimates.force.detach())
    error = (estimates.force - target) / config.force_unit
    each = functional.smooth_l1_loss(
        error, torch.zeros_like(error), reduction="none", beta=config.force_beta
    )
    return each.sum() / known.sum().clamp(min=1)


def variance_loss(estimates: Estimates, labels: Labels) -> Tensor:
    """Gaussian negative log-likelihood of the labels; trains the variance, not the force."""
    known = torch.isfinite(labels.force)
    force = estimates.force.detach()
    square = torch.where(known, labels.force - force, torch.zeros_like(force)) ** 2
    log = estimates.log_variance
    each = 0.5 * (square * torch.exp(-log) + log) * known
    return each.sum() / known.sum().clamp(min=1)


def gate_loss(estimates: Estimates, labels: Labels) -> Tensor:
    """Cross-entropy of contact, mean over ticks where contact is known."""
    known = torch.isfinite(labels.contact)
    target = torch.where(known, labels.contact, torch.zeros_like(labels.contact))
    each = functional.binary_cross_entropy_with_logits(
        estimates.gate.squeeze(-1), target, reduction="none"
    )
    return (each * known).sum() / known.sum().clamp(min=1)


def condition_loss(estimates: Estimates, labels: Labels) -> Tensor:
    """Cross-entropy per supervised joint, its two classes weighing the same."""
    known = torch.isfinite(labels.restricted)
    target = torch.where(known, labels.restricted, torch.zeros_like(labels.restricted))
    axes = tuple(range(target.dim() - 1))
    positive = ((target > 0.5) & known).sum(axes)
    negative = ((target < 0.5) & known).sum(axes)
    total = (positive + negative).clamp(min=1)
    weight = torch.where(
        target > 0.5, 0.5 * total / positive.clamp(min=1), 0.5 * total / negative.clamp(min=1)
    )
    each = functional.binary_cross_entropy_with_logits(
        estimates.condition, target, reduction="none"
    )
    return (each * weight.clamp(max=20.0) * known).sum() / known.sum().clamp(min=1)


def estimate_losses(estimates: Estimates, labels: Labels, config: TrainConfig) -> dict[str, Tensor]:
    """Every loss on estimates, by name, weighted."""
    return {
        "force": config.force_weight * force_loss(estimates, labels, config),
        "variance": config.variance_weight * variance_loss(estimates, labels),
        "gate": config.gate_weight * gate_loss(estimates, labels),
        "condition": config.condition_weight * condition_loss(estimates, labels),
    }
