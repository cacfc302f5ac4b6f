# SPDX-License-Identifier: Apache-2.0
"""The differentiable simulator: one interface, one integrator, several back ends."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from na_training.simulator.clip import clip_effort

if TYPE_CHECKING:
    from na_core.robot_spec import RobotSpec

Array = NDArray[np.float64]

BACKENDS = ("pinocchio", "torch", "warp")
"""Names of the back ends; `warp` is reserved and not built yet."""

#: At the servo's output [N·m·s/rad] and [kg·m²]; measured: stable at and above this damping.
DAMPING = 0.3
ARMATURE = 0.006


class SimulatorError(ValueError):
    """A back end or a parameter cannot be used; the text says which and what was expected."""


@dataclass(frozen=True)
class SimulatorParameters:
    """What the simulator adds to the rigid bodies of the URDF.

    Attributes:
        dt: step [s], the period of the control tick.
        damping: implicit joint damping (n,) [N·m·s/rad or N·s/m].
        armature: reflected rotor inertia (n,) [kg·m² or kg].
        effort_limit: bound of the effort (n,) [N·m or N].
        clip_gradient: one of `na_training.simulator.clip.CLIP_GRADIENTS`.
    """

    dt: float
    damping: Array
    armature: Array
    effort_limit: Array
    clip_gradient: str = "inward"

    @classmethod
    def for_robot(
        cls, spec: RobotSpec, dt: float, clip_gradient: str = "inward"
    ) -> SimulatorParameters:
        """Defaults at the servo's output, carried through the gear ratio of each joint.

        The robot file may set `damping` and `armature` (scalars at the servo's output) under
        `simulator`.
        """
        ratio = np.array([joint.ratio for joint in spec.joints])
        damping = float(spec.simulator.get("damping", DAMPING))
        armature = float(spec.simulator.get("armature", ARMATURE))
        for name, value in (("damping", damping), ("armature", armature), ("dt", dt)):
            if not value > 0.0:
                raise SimulatorError(f"simulator {name} = {value}, expected a positive number")
        return cls(
            dt, damping / ratio**2, armature / ratio**2, np.array(spec.effort_limit), clip_gradient
        )


class Simulator(ABC):
    """Advances (q, q̇) by one control tick under a zero-order-held effort.

    One step, semi-implicit with implicit joint damping D:

        (M + A + dt D) a = clip(τ) − C q̇ − g − D q̇,   q̇' = q̇ + dt a,   q' = q + dt q̇'

    which is what MuJoCo's Euler integrator does with joint damping. A payload, friction and contact
    are not modelled: the effort must absorb them.

    Args:
        parameters: step, damping, armature, bounds.
        dtype: of all tensors in and out.
        device: where the tensors lie.
    """

    name: str

    def __init__(
        self,
        parameters: SimulatorParameters,
        dtype: torch.dtype = torch.float32,
        device: str | torch.device = "cpu",
    ) -> None:
        self.parameters = parameters
        self.dtype = dtype
        self.device = torch.device(device)
        self.n = len(parameters.damping)
        self.damping = torch.as_tensor(parameters.damping, dtype=dtype, device=device)
        self.limit = torch.as_tensor(parameters.effort_limit, dtype=dtype, device=device)

    @abstractmethod
    def acceleration(self, q: Tensor, qd: Tensor, effort: Tensor) -> Tensor:
        """Return a = (M + A + dt D)⁻¹ (effort − C q̇ − g) for (batch, n) inputs."""

    def clip(self, raw: Tensor) -> Tensor:
        """Efforts within their bounds, with the configured surrogate gradient."""
        return clip_effort(raw, self.limit, self.parameters.clip_gradient)

    def step(self, q: Tensor, qd: Tensor, raw: Tensor) -> tuple[Tensor, Tensor]:
        """Advance one tick.

        Args:
            q: positions (batch, n) [rad or m].
            qd: velocities (batch, n) [rad/s or m/s].
            raw: efforts before clipping (batch, n) [N·m or N].

        Returns:
            q and qd after dt.
        """
        effort = self.clip(raw) - self.damping * qd
        following = qd + self.parameters.dt * self.acceleration(q, qd, effort)
        return q + self.parameters.dt * following, following


def make_simulator(
    backend: str,
    spec: RobotSpec,
    dt: float,
    *,
    clip_gradient: str = "inward",
    dtype: torch.dtype = torch.float32,
    device: str | torch.device = "cpu",
    compiled: bool = True,
) -> Simulator:
    """Return the simulator of a robot.

    Args:
        backend: one of `BACKENDS`.
        spec: the robot.
        dt: step [s].
        clip_gradient: surrogate gradient at the effort bound.
        dtype: of the tensors.
        device: of the tensors; the pinocchio back end computes on the processor.
        compiled: let the torch back end use torch.compile where that works.

    Raises:
        SimulatorError: no such back end.
    """
    from na_core.robot_urdf import urdf_string

    parameters = SimulatorParameters.for_robot(spec, dt, clip_gradient)
    urdf = urdf_string(spec)
    if backend == "pinocchio":
        from na_training.simulator.pinocchio_backend import PinocchioSimulator

        return PinocchioSimulator(urdf, spec.names, parameters, dtype, device)
    if backend == "torch":
        from na_training.simulator.torch_backend import TorchSimulator

        return TorchSimulator(urdf, spec.names, parameters, dtype, device, compiled=compiled)
    if backend == "warp":
        raise SimulatorError("simulator back end 'warp' is not built yet; use pinocchio or torch")
    raise SimulatorError(f"simulator back end {backend!r}, expected one of {', '.join(BACKENDS)}")
