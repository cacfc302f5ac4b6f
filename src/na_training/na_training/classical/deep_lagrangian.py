# SPDX-License-Identifier: Apache-2.0
"""Deep Lagrangian network (Lutter et al., 2019): a learned inertia matrix and potential."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from na_training.classical.samples import Samples
from na_training.classical.torch_fit import FitSettings, fit, tensor, validation_rows

Array = NDArray[np.float64]


class LagrangianNetwork(nn.Module):  # type: ignore[misc]
    """``τ = d/dt ∂L/∂q̇ − ∂L/∂q`` with ``L = ½ q̇ᵀ H(q) q̇ − V(q)``, and joint friction beside it.

    H = L Lᵀ + ε with L from a network of sin q and cos q, so it is symmetric and positive; V from
    another. Inputs are in joint units, outputs in units of `scale`.

    Args:
        n: number of joints.
        scale: effort unit per joint (n,).
        width: hidden units.
    """

    needs_gradient = True
    scale: Tensor

    def __init__(self, n: int, scale: Array, width: int = 48) -> None:
        super().__init__()
        self.n = n
        self.register_buffer("scale", tensor(scale))
        self.inertia = nn.Sequential(
            nn.Linear(2 * n, width),
            nn.Softplus(),
            nn.Linear(width, width),
            nn.Softplus(),
            nn.Linear(width, n * (n + 1) // 2),
        )
        self.potential = nn.Sequential(
            nn.Linear(2 * n, width), nn.Softplus(), nn.Linear(width, width), nn.Softplus(),
            nn.Linear(width, 1),
        )  # fmt: skip
        self.coulomb = nn.Parameter(torch.zeros(n))
        self.viscous = nn.Parameter(torch.zeros(n))
        self.offset = nn.Parameter(torch.zeros(n))
        rows, columns = torch.tril_indices(n, n).unbind(0)
        self.rows, self.columns = rows, columns

    def factor(self, q: Tensor) -> Tensor:
        """Lower factor L (..., n, n) of the inertia matrix."""
        raw = self.inertia(torch.cat([torch.sin(q), torch.cos(q)], dim=-1))
        entries = torch.where(self.rows == self.columns, nn.functional.softplus(raw) + 1e-2, raw)
        flat = q.new_zeros(*q.shape[:-1], self.n * self.n)
        place = (self.rows * self.n + self.columns).expand(entries.shape)
        return flat.scatter(-1, place, entries).unflatten(-1, (self.n, self.n))

    def mass_matrix(self, q: Tensor) -> Tensor:
        """H(q) (..., n, n), symmetric and positive definite, in units of scale."""
        lower = self.factor(q)
        return lower @ lower.transpose(-1, -2)

    def energy(self, q: Tensor) -> Tensor:
        """Potential V(q) (...)."""
        out: Tensor = self.potential(torch.cat([torch.sin(q), torch.cos(q)], dim=-1))[..., 0]
        return out

    def forward(self, q: Tensor, qd: Tensor, qdd: Tensor) -> Tensor:
        """Efforts (N, n) in units of `scale`, by automatic differentiation of the Lagrangian."""
        q = q.detach().requires_grad_(True)
        speed = qd.detach()

        def momentum(position: Tensor) -> Tensor:
            return (self.mass_matrix(position) @ speed[..., None])[..., 0]

        value, rate = torch.autograd.functional.jvp(momentum, q, speed, create_graph=True)
        kinetic = 0.5 * (value * speed).sum()
        (by_q,) = torch.autograd.grad(kinetic, q, create_graph=True)
        (gravity,) = torch.autograd.grad(self.energy(q).sum(), q, create_graph=True)
        inertial = (self.mass_matrix(q) @ qdd[..., None])[..., 0]
        drag = self.coulomb * torch.tanh(qd / 0.05) + self.viscous * qd + self.offset
        return inertial + rate - by_q + gravity + drag


@dataclass(frozen=True)
class DeepLagrangian:
    """A fitted network; `predict` gives efforts (N, n) [N·m or N]."""

    network: LagrangianNetwork

    def predict(self, samples: Samples) -> Array:
        """Efforts (N, n) [N·m or N]."""
        parts = [tensor(x) for x in (samples.q, samples.qd, samples.qdd)]
        chunks = []
        for first in range(0, len(samples), 4096):
            out = self.network(*(part[first : first + 4096] for part in parts))
            chunks.append((out * self.network.scale).detach().numpy().astype(np.float64))
        return np.concatenate(chunks)


def fit_deep_lagrangian(
    samples: Samples, *, width: int = 48, settings: FitSettings | None = None
) -> DeepLagrangian:
    """Fit to measured efforts, smooth-L1 in units of each joint's deviation."""
    settings = settings or FitSettings(epochs=60, rate=5e-3, weight_decay=1e-5, updates=2500)
    torch.manual_seed(settings.seed)
    scale = np.maximum(samples.effort.std(axis=0), 1e-9)
    network = LagrangianNetwork(samples.q.shape[1], scale, width)
    held = torch.from_numpy(validation_rows(len(samples)))
    parts = [tensor(x) for x in (samples.q, samples.qd, samples.qdd, samples.effort / scale)]

    def loss(net: nn.Module, rows: tuple[Tensor, ...]) -> Tensor:
        return nn.functional.smooth_l1_loss(net(*rows[:3]), rows[3])

    fit(
        network,
        loss,
        tuple(part[~held] for part in parts),
        tuple(part[held] for part in parts),
        settings,
    )
    return DeepLagrangian(network)
