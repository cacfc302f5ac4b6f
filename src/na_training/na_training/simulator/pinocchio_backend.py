# SPDX-License-Identifier: Apache-2.0
"""Back end `pinocchio`: articulated-body algorithm and its analytic derivatives, row by row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin
import torch
from torch import Tensor

from na_core.features.rigid import reduced_model
from na_training.simulator.interface import Simulator, SimulatorParameters


class PinocchioSimulator(Simulator):
    """Any URDF whose joints have one coordinate each; as fast as anything up to batches of 64.

    Args:
        urdf: URDF text.
        joints: joint names in canonical order; all other joints are locked at zero.
        parameters: step, damping, armature, bounds.
        dtype: of the tensors in and out; the algorithm itself runs in double precision.
        device: of the tensors.
    """

    name = "pinocchio"

    def __init__(
        self,
        urdf: str,
        joints: tuple[str, ...],
        parameters: SimulatorParameters,
        dtype: torch.dtype = torch.float32,
        device: str | torch.device = "cpu",
    ) -> None:
        super().__init__(parameters, dtype, device)
        self.model = reduced_model(urdf, joints)
        self.model.armature = parameters.armature + parameters.dt * parameters.damping
        self.data = self.model.createData()

    def acceleration(self, q: Tensor, qd: Tensor, effort: Tensor) -> Tensor:
        result: Tensor = _ForwardDynamics.apply(  # type: ignore[no-untyped-call]
            q, qd, effort, self.model, self.data
        )
        return result


class _ForwardDynamics(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, q: Tensor, qd: Tensor, effort: Tensor, model: Any, data: Any) -> Tensor:
        rows = [tensor.detach().to("cpu", torch.float64).numpy() for tensor in (q, qd, effort)]
        positions, speeds, efforts = (np.ascontiguousarray(array) for array in rows)
        batch, n = positions.shape
        out = np.empty((batch, n))
        if not any(ctx.needs_input_grad[:3]):
            for row in range(batch):
                out[row] = pin.aba(model, data, positions[row], speeds[row], efforts[row])
            return torch.from_numpy(out).to(q)
        jacobians = np.empty((3, batch, n, n))
        derivatives = pin.computeABADerivatives
        for row in range(batch):
            by_q, by_v, by_effort = derivatives(
                model, data, positions[row], speeds[row], efforts[row]
            )
            jacobians[0, row], jacobians[1, row], jacobians[2, row] = by_q, by_v, by_effort
            out[row] = data.ddq
        ctx.save_for_backward(torch.from_numpy(jacobians).to(q))
        return torch.from_numpy(out).to(q)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (jacobians,) = ctx.saved_tensors
        by_q, by_v, by_effort = torch.matmul(grads[0][None, :, None, :], jacobians).squeeze(-2)
        return by_q, by_v, by_effort, None, None
