# SPDX-License-Identifier: Apache-2.0
"""Back end `torch`: batched rigid-body dynamics of any chain, differentiable and compilable."""

from __future__ import annotations

import torch
from torch import Tensor

from na_training.simulator.chain import Chain, chain_from_urdf
from na_training.simulator.interface import Simulator, SimulatorParameters


class TorchSimulator(Simulator):
    """Wide batches, and any device torch knows.

    The mass matrix and the bias are summed over bodies from Jacobians in base axes; the (n, n)
    system is solved by Cholesky.

    Args:
        urdf: URDF text.
        joints: joint names in canonical order; all other joints are locked at zero.
        parameters: step, damping, armature, bounds.
        dtype: of all tensors.
        device: of all tensors.
        compiled: use torch.compile; falls back to eager mode where no compiler is found.
    """

    name = "torch"

    def __init__(
        self,
        urdf: str,
        joints: tuple[str, ...],
        parameters: SimulatorParameters,
        dtype: torch.dtype = torch.float32,
        device: str | torch.device = "cpu",
        *,
        compiled: bool = True,
    ) -> None:
        super().__init__(parameters, dtype, device)
        chain = chain_from_urdf(urdf, joints)
        self.figures = _Figures(chain, parameters, dtype, device)
        self.compiled = compiled
        self._function = torch.compile(self.figures.acceleration) if compiled else None

    def acceleration(self, q: Tensor, qd: Tensor, effort: Tensor) -> Tensor:
        if self._function is not None:
            try:
                return self._function(q, qd, effort)
            except Exception as error:  # torch wraps compiler failures in several kinds
                print(f"simulator back end torch: not compiled ({str(error).splitlines()[0]})")
                self._function, self.compiled = None, False
        return self.figures.acceleration(q, qd, effort)


class _Figures:
    """The chain as tensors, and the dynamics on them."""

    def __init__(
        self,
        chain: Chain,
        parameters: SimulatorParameters,
        dtype: torch.dtype,
        device: str | torch.device,
    ) -> None:
        def tensor(values: object) -> Tensor:
            return torch.as_tensor(values, dtype=dtype, device=device)

        self.n = chain.n
        self.parent = chain.parent
        self.revolute = chain.revolute
        self.rotation = tensor(chain.rotation)
        self.translation = tensor(chain.translation)
        self.axis = tensor(chain.axis)
        self.mass = tensor(chain.mass)
        self.com = tensor(chain.com)
        self.inertia = tensor(chain.inertia)
        self.gravity = tensor(chain.gravity)
        self.diagonal = torch.diag(tensor(parameters.armature + parameters.dt * parameters.damping))
        moves = tensor(chain.moves())
        turning = tensor(chain.revolute)
        self.turning_moves = (moves * turning)[:, :, None]  # (body, joint, 1)
        self.sliding_moves = (moves * (1.0 - turning))[:, :, None]
        # Rodrigues' formula: R = 1 + sin θ K + (1 − cos θ) K².
        skew = torch.zeros(chain.n, 3, 3, dtype=dtype, device=device)
        x, y, z = self.axis.unbind(-1)
        skew[:, 0, 1], skew[:, 0, 2] = -z, y
        skew[:, 1, 0], skew[:, 1, 2] = z, -x
        skew[:, 2, 0], skew[:, 2, 1] = -y, x
        self.rotated_skew = self.rotation @ skew
        self.rotated_square = self.rotation @ skew @ skew
        self.joint_axis = (self.rotation @ self.axis[..., None]).squeeze(-1)  # parent axes

    def acceleration(self, q: Tensor, qd: Tensor, effort: Tensor) -> Tensor:
        """(M + A + dt D)⁻¹ (effort − h) for (batch, n) inputs."""
        turn, origin, axis = self._place(q)
        com = origin + _rotate(turn, self.com)  # (batch, n, 3), base axes
        inertia = turn @ self.inertia @ turn.transpose(-1, -2)
        # Columns of the Jacobians: (batch, body, joint, 3).
        columns = axis[:, None]
        angular = columns * self.turning_moves
        arms = com[:, :, None] - origin[:, None]
        linear = _cross(angular, arms) + columns * self.sliding_moves
        weighted = torch.einsum("bikl,bijl->bijk", inertia, angular)
        matrix = torch.einsum("i,bijk,bimk->bjm", self.mass, linear, linear)
        matrix = matrix + torch.einsum("bijk,bimk->bjm", angular, weighted) + self.diagonal
        spin, drift_spin, drift = self._drift(qd, origin, axis, com)
        force = self.mass[:, None] * (drift - self.gravity)
        moment = _rotate(inertia, drift_spin) + _cross(spin, _rotate(inertia, spin))
        bias = torch.einsum("bijk,bik->bj", linear, force)
        bias = bias + torch.einsum("bijk,bik->bj", angular, moment)
        factor = torch.linalg.cholesky_ex(matrix)[0]
        return torch.cholesky_solve((effort - bias)[..., None], factor).squeeze(-1)

    def _place(self, q: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Rotations (batch, n, 3, 3), origins (batch, n, 3) and axes (batch, n, 3) in base axes."""
        sine, cosine = torch.sin(q), torch.cos(q)
        turns: list[Tensor] = []
        origins: list[Tensor] = []
        axes: list[Tensor] = []
        for joint, parent in enumerate(self.parent):
            if self.revolute[joint]:
                local = (
                    self.rotation[joint]
                    + sine[:, joint, None, None] * self.rotated_skew[joint]
                    + (1.0 - cosine[:, joint, None, None]) * self.rotated_square[joint]
                )
                shift = self.translation[joint].expand(len(q), 3)
            else:
                local = self.rotation[joint].expand(len(q), 3, 3)
                shift = self.translation[joint] + q[:, joint, None] * self.joint_axis[joint]
            axis = self.joint_axis[joint].expand(len(q), 3)
            if parent >= 0:
                above = turns[parent]
                local = above @ local
                shift = origins[parent] + _rotate(above, shift)
                axis = _rotate(above, axis)
            turns.append(local)
            origins.append(shift)
            axes.append(axis)
        return torch.stack(turns, 1), torch.stack(origins, 1), torch.stack(axes, 1)

    def _drift(
        self, qd: Tensor, origin: Tensor, axis: Tensor, com: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Angular velocity, and angular and centre-of-mass acceleration at q̈ = 0 (batch, n, 3)."""
        rate = axis * qd[..., None]
        zero = torch.zeros_like(origin[:, 0])
        spins: list[Tensor] = []
        drift_spins: list[Tensor] = []
        drifts: list[Tensor] = []
        for joint, parent in enumerate(self.parent):
            spin = drift_spin = drift = place = zero
            if parent >= 0:
                spin, drift_spin, drift = spins[parent], drift_spins[parent], drifts[parent]
                place = origin[:, parent]
            lever = origin[:, joint] - place
            drift = drift + _cross(drift_spin, lever) + _cross(spin, _cross(spin, lever))
            if self.revolute[joint]:
                drift_spin = drift_spin + _cross(spin, rate[:, joint])
                spin = spin + rate[:, joint]
            else:
                drift = drift + 2.0 * _cross(spin, rate[:, joint])
            spins.append(spin)
            drift_spins.append(drift_spin)
            drifts.append(drift)
        spin, drift_spin = torch.stack(spins, 1), torch.stack(drift_spins, 1)
        arm = com - origin
        drift = torch.stack(drifts, 1) + _cross(drift_spin, arm) + _cross(spin, _cross(spin, arm))
        return spin, drift_spin, drift


def _rotate(matrix: Tensor, vector: Tensor) -> Tensor:
    return (matrix * vector[..., None, :]).sum(-1)


def _cross(a: Tensor, b: Tensor) -> Tensor:
    ax, ay, az = a.unbind(-1)
    bx, by, bz = b.unbind(-1)
    return torch.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], -1)
