# SPDX-License-Identifier: Apache-2.0
"""Closed-loop rollout: the network drives the simulator and sees only what the simulator did."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from na_core.features.basic import CHANNELS
from na_training.model import Actuator
from na_training.simulator import Simulator


@dataclass(frozen=True)
class Rollout:
    """H steps from the last of nine measured ticks.

    Attributes:
        position: simulated positions at ticks 9 … 8 + H (batch, H, n) [rad or m].
        velocity: likewise [rad/s or m/s].
        effort: raw efforts at ticks 8 … 7 + H (batch, H, n) [N·m or N].
        latent: encoder outputs at the same ticks as the efforts (batch, H, width).
    """

    position: Tensor
    velocity: Tensor
    effort: Tensor
    latent: Tensor


class BasicColumns:
    """Where each channel lies among the basic features, and features of a simulated state.

    Args:
        joints: number of joints n.
    """

    def __init__(self, joints: int, dtype: torch.dtype = torch.float32) -> None:
        self.joints = joints
        width = len(CHANNELS)
        place = {name: torch.arange(joints) * width + CHANNELS.index(name) for name in CHANNELS}
        self.place = place
        row = torch.arange(joints)
        self.from_state = torch.zeros(2 * joints, width * joints, dtype=dtype)
        self.from_state[row, place["q"]] = 1.0
        self.from_state[row, place["error"]] = -1.0
        self.from_state[joints + row, place["qd"]] = 1.0

    def channel(self, basic: Tensor, name: str) -> Tensor:
        """One channel (..., n) of basic features (..., 7 n)."""
        return basic[..., self.place[name]]

    def recorded(self, basic: Tensor) -> Tensor:
        """Basic features with the state taken out: goal and telemetry only."""
        bare = basic.clone()
        bare[..., self.place["q"]] = 0.0
        bare[..., self.place["qd"]] = 0.0
        bare[..., self.place["error"]] = bare[..., self.place["goal"]]
        return bare

    def with_state(self, recorded: Tensor, q: Tensor, qd: Tensor) -> Tensor:
        """Put a simulated state (batch, n) into bare features (batch, 7 n), in full precision.

        A position in bfloat16 is wrong by up to 0.2 deg, and so would be goal − q.
        """
        with torch.autocast("cpu", enabled=False):
            state = torch.cat([q, qd], dim=-1).to(self.from_state.dtype)
            return recorded + state @ self.from_state

    def without_telemetry(self, basic: Tensor, mean: Tensor) -> Tensor:
        """Basic features with current, voltage and temperature at their training means."""
        bare = basic.clone()
        for name in ("current", "voltage", "temperature"):
            bare[..., self.place[name]] = mean[self.place[name]].to(basic)
        return bare


def roll_out(
    model: Actuator,
    simulator: Simulator,
    columns: BasicColumns,
    basic: Tensor,
) -> Rollout:
    """Roll out from nine measured ticks; goal and telemetry stay the recorded ones.

    The start velocity is (q_t − q_{t−1}) / dt of the last measured tick.

    Args:
        model: the network.
        simulator: advances one tick.
        columns: of the basic features.
        basic: measured basic features (batch, 9 + H, 7 n); the states after the ninth tick are
            not looked at.

    Returns:
        H steps; H = ticks − 9, at least 1.
    """
    window = model.encoder.window
    steps = basic.shape[1] - window
    if steps < 1:
        raise ValueError(f"rollout over {basic.shape[1]} ticks, expected at least {window + 1}")
    measured = basic[:, :window]
    recorded = columns.recorded(basic[:, window:])
    q_all = columns.channel(measured, "q")
    q = q_all[:, -1]
    qd = (q - q_all[:, -2]) / simulator.parameters.dt
    tokens = list(model.token(measured).unbind(1))
    positions, velocities, efforts, latents = [], [], [], []
    for step in range(steps):
        latent = model.encoder.latent(torch.stack(tokens[-window:], dim=1))
        effort = model.effort(latent)
        q, qd = simulator.step(q, qd, effort)
        positions.append(q)
        velocities.append(qd)
        efforts.append(effort)
        latents.append(latent)
        if step + 1 < steps:
            tokens.append(model.token(columns.with_state(recorded[:, step], q, qd)))
    return Rollout(
        torch.stack(positions, 1),
        torch.stack(velocities, 1),
        torch.stack(efforts, 1),
        torch.stack(latents, 1),
    )
