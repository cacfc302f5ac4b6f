# SPDX-License-Identifier: Apache-2.0
"""One update: losses of rollouts and of measured pieces, gradient, guard against bad numbers."""

from __future__ import annotations

import contextlib

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from na_training.data import SegmentSampler, Store
from na_training.model import WINDOW, Actuator, Estimates
from na_training.simulator import Simulator
from na_training.training.config import TrainConfig
from na_training.training.loss import Labels, estimate_losses, pose_loss
from na_training.training.rollout import BasicColumns, roll_out

Indices = NDArray[np.int64]


def mixed_precision(precision: str) -> bool:
    """Whether matrix products run in bfloat16; "auto" asks the processor."""
    if precision == "auto":
        capable = torch.backends.cpu.get_cpu_capability() if hasattr(torch.backends, "cpu") else ""
        flags = ""
        with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="ascii") as handle:
            flags = next((line for line in handle if line.startswith("flags")), "")
        return capable.startswith("AVX512") and "avx512_bf16" in flags
    return precision == "bfloat16"


class Objective:
    """Computes the loss of one update from tick indices.

    Args:
        config: settings.
        store: training ticks.
        simulator: of the robot.
        unit: pose error that costs one unit (n,) [rad or m].
    """

    def __init__(
        self, config: TrainConfig, store: Store, simulator: Simulator, unit: NDArray[np.float64]
    ) -> None:
        self.config = config
        self.store = store
        self.simulator = simulator
        self.columns = BasicColumns(simulator.n)
        self.unit = torch.as_tensor(unit, dtype=torch.float32)
        self.mixed = mixed_precision(config.precision)
        self._samplers: dict[int, SegmentSampler] = {}

    def sampler(self, length: int) -> SegmentSampler:
        """Sampler of pieces of `length` ticks, made once."""
        if length not in self._samplers:
            self._samplers[length] = self.store.sampler(length, dict(self.config.category_weights))
        return self._samplers[length]

    def losses(
        self, model: Actuator, rng: np.random.Generator, horizon: int, *, rollouts: bool
    ) -> dict[str, Tensor]:
        """Weighted losses of one update by name; their sum is what is minimised."""
        result: dict[str, Tensor] = {}
        with torch.autocast("cpu", torch.bfloat16, enabled=self.mixed):
            self._collect(result, model, rng, horizon, rollouts)
        return {name: value.float() for name, value in result.items()}

    def _collect(
        self,
        result: dict[str, Tensor],
        model: Actuator,
        rng: np.random.Generator,
        horizon: int,
        rollouts: bool,
    ) -> None:
        config = self.config
        if rollouts:
            batch = max(1, min(config.rollout_batch, config.rollout_ticks // horizon))
            index = self.sampler(WINDOW + horizon).draw(rng, batch)
            result.update(self.rollout_losses(model, index, rng))
        if config.measured_batch:
            length = WINDOW - 1 + config.measured_length
            index = self.sampler(length).draw(rng, config.measured_batch)
            result.update(self.measured_losses(model, index))

    def rollout_losses(
        self, model: Actuator, index: Indices, rng: np.random.Generator
    ) -> dict[str, Tensor]:
        """Losses of closed-loop rollouts over ticks (batch, 9 + H)."""
        config, cut = self.config, model.layout.basic
        basic = torch.from_numpy(self.store.features[index][..., :cut])
        measured = self.columns.channel(basic[:, WINDOW:], "q")
        blind = torch.from_numpy(rng.random(len(index)) < config.telemetry_dropout)
        if bool(blind.any()):
            bare = self.columns.without_telemetry(basic, model.mean)
            basic = torch.where(blind[:, None, None], bare, basic)
        rollout = roll_out(model, self.simulator, self.columns, basic)
        estimates = model.estimates(rollout.latent, None)
        labels = self.labels(index[:, WINDOW - 1 : -1])
        result = {
            f"rollout/{name}": value
            for name, value in estimate_losses(estimates, labels, config).items()
        }
        pose = pose_loss(rollout.position, measured, self.unit)
        result["rollout/pose"] = config.pose_weight * pose
        return result

    def measured_losses(self, model: Actuator, index: Indices) -> dict[str, Tensor]:
        """Losses of the estimates on measured states over ticks (batch, 8 + L)."""
        features = torch.from_numpy(self.store.features[index])
        outputs = model.sequence(features)
        labels = self.labels(index[:, WINDOW - 1 :])
        estimates = Estimates(*outputs[1:])
        losses = estimate_losses(estimates, labels, self.config)
        return {f"measured/{name}": value for name, value in losses.items()}

    def labels(self, index: Indices) -> Labels:
        """Labels of some ticks, in the shape of `index`."""
        store = self.store
        return Labels(
            torch.from_numpy(store.force[index]),
            torch.from_numpy(store.contact[index]),
            torch.from_numpy(store.restricted[index]),
        )


def take_step(
    model: Actuator, optimizer: torch.optim.Optimizer, losses: dict[str, Tensor], clip: float
) -> tuple[float, float, bool]:
    """Apply one update unless a number is not finite.

    Returns:
        total loss, gradient norm before clipping, and whether the weights were changed.
    """
    optimizer.zero_grad(set_to_none=True)
    total = torch.stack(list(losses.values())).sum()
    if not bool(torch.isfinite(total)):
        return float(total.detach()), float("nan"), False
    total.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
    if not bool(torch.isfinite(norm)):
        return float(total.detach()), float(norm), False
    optimizer.step()
    return float(total.detach()), float(norm), True
