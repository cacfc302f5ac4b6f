# SPDX-License-Identifier: Apache-2.0
"""Actuator networks: joint effort from position error and speed; TorchScript for simulators.

Inputs and scales follow the actuator-network settings of Isaac Lab: an MLP sees, per joint, the
entries `input_idx` (ticks back, 0 = now) of a history of errors times `pos_scale`, then of speeds
times `vel_scale`; an LSTM sees the present pair and carries its state. The output times
`torque_scale` is the effort. A network serves all joints whose recordings it is given: joints that
are loaded differently want one each.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from na_training.classical.samples import FitError
from na_training.classical.torch_fit import FitSettings, fit, mlp, tensor, validation_rows

Array = NDArray[np.float64]

KINDS = ("mlp", "lstm")


@dataclass(frozen=True)
class ActuatorSettings:
    """What a simulator's configuration needs besides the file.

    Attributes:
        kind: one of `KINDS`.
        input_idx: ticks back that the MLP sees, 0 = now; (0,) for the LSTM.
        input_order: "pos_vel": errors first.
        pos_scale: multiplies position errors [1/rad].
        vel_scale: multiplies speeds [s/rad].
        torque_scale: multiplies the output [N·m].
        dt: seconds per tick of the data.
    """

    kind: str
    input_idx: tuple[int, ...]
    pos_scale: float
    vel_scale: float
    torque_scale: float
    dt: float
    input_order: str = "pos_vel"


class LstmActuator(nn.Module):  # type: ignore[misc]
    """``(x (N, 1, 2), (h, c)) → (effort (N, 1), (h, c))``, as a simulator steps it."""

    def __init__(self, hidden: int = 16, layers: int = 2) -> None:
        super().__init__()
        self.lstm = nn.LSTM(2, hidden, layers, batch_first=True)
        self.linear = nn.Linear(hidden, 1)

    def forward(
        self, x: Tensor, state: tuple[Tensor, Tensor]
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Advance by the ticks in x; the effort is that of every tick, flattened to (N, T)."""
        out, following = self.lstm(x, state)
        return self.linear(out).squeeze(-1), following


@dataclass(frozen=True)
class ActuatorNetwork:
    """A fitted network and its settings."""

    network: nn.Module
    settings: ActuatorSettings

    def predict(self, error: Array, speed: Array) -> Array:
        """Efforts (T, n) [N·m] of one recording, from goal − q and q̇ (T, n).

        Before the recording the joints are taken to have stood at its first row.
        """
        settings = self.settings
        with torch.no_grad():
            if settings.kind == "mlp":
                rows = history(error, speed, settings)
                out = self.network(tensor(rows.reshape(-1, rows.shape[-1])))
                values = out.numpy().reshape(error.shape)
            else:
                pair = np.stack([error * settings.pos_scale, speed * settings.vel_scale], axis=-1)
                out, _ = self.network(tensor(pair.transpose(1, 0, 2)), _zero(self.network, pair))
                values = out.numpy().T
        return np.asarray(values, dtype=np.float64) * settings.torque_scale

    def export(self, path: Path) -> Path:
        """Write TorchScript to `path` and the settings beside it (.json); returns the latter."""
        scripted = torch.jit.script(self.network)
        path.parent.mkdir(parents=True, exist_ok=True)
        scripted.save(str(path))
        beside = path.with_suffix(".json")
        beside.write_text(json.dumps(asdict(self.settings), indent=2) + "\n", encoding="utf-8")
        return beside


def history(error: Array, speed: Array, settings: ActuatorSettings) -> Array:
    """Inputs (T, n, 2 len(input_idx)) of the MLP."""
    columns = []
    for values, scale in ((error, settings.pos_scale), (speed, settings.vel_scale)):
        for back in settings.input_idx:
            index = np.maximum(np.arange(len(values)) - back, 0)
            columns.append(values[index] * scale)
    return np.stack(columns, axis=-1)


def _zero(network: nn.Module, pair: Array) -> tuple[Tensor, Tensor]:
    layers = len(network.lstm.state_dict()) // 4
    hidden = network.lstm.state_dict()["weight_hh_l0"].shape[1]
    shape = (layers, pair.shape[1], hidden)
    return torch.zeros(shape), torch.zeros(shape)


def fit_actuator_network(
    kind: str,
    recordings: list[tuple[Array, Array, Array]],
    dt: float,
    *,
    input_idx: tuple[int, ...] = (0, 1, 2),
    piece: int = 64,
    settings: FitSettings | None = None,
) -> ActuatorNetwork:
    """Fit one network for the joints of the recordings.

    Args:
        kind: "mlp" or "lstm".
        recordings: (error, speed, effort), each (T, n) in joint units.
        dt: seconds per tick.
        input_idx: ticks back that the MLP sees.
        piece: ticks per training piece of the LSTM; its first eighth is not scored.
        settings: of the fit.

    Raises:
        FitError: unknown kind or nothing to fit.
    """
    if kind not in KINDS:
        raise FitError(f"actuator network {kind!r}: expected one of {', '.join(KINDS)}")
    if not recordings:
        raise FitError("actuator network: no recordings")
    settings = settings or FitSettings()
    errors, speeds, efforts = (
        np.concatenate([recording[i] for recording in recordings]) for i in range(3)
    )
    ready = ActuatorSettings(
        kind,
        tuple(input_idx) if kind == "mlp" else (0,),
        float(1.0 / max(errors.std(), 1e-9)),
        float(1.0 / max(speeds.std(), 1e-9)),
        float(max(efforts.std(), 1e-9)),
        dt,
    )
    if kind == "mlp":
        network: nn.Module = mlp(2 * len(ready.input_idx), 1, 32, 2, settings.seed)
        x = np.concatenate([history(e, s, ready) for e, s, _ in recordings])
        inputs, targets = tensor(x), tensor(efforts[..., None] / ready.torque_scale)

        def loss(net: nn.Module, rows: tuple[Tensor, ...]) -> Tensor:
            return nn.functional.smooth_l1_loss(net(rows[0]), rows[1])
    else:
        torch.manual_seed(settings.seed)
        network = LstmActuator()
        inputs, targets = _pieces(recordings, ready, piece)
        settings = FitSettings(settings.epochs, 64, settings.rate, 1e-5, settings.seed)

        def loss(net: nn.Module, rows: tuple[Tensor, ...]) -> Tensor:
            zero = _zero(net, rows[0].numpy().transpose(1, 0, 2))
            out, _ = net(rows[0], zero)
            skip = piece // 8
            return nn.functional.smooth_l1_loss(out[:, skip:], rows[1][:, skip:])

    held = torch.from_numpy(validation_rows(len(inputs)))
    fit(
        network,
        loss,
        (inputs[~held], targets[~held]),
        (inputs[held], targets[held]),
        settings,
    )
    return ActuatorNetwork(network, ready)


def _pieces(
    recordings: list[tuple[Array, Array, Array]], ready: ActuatorSettings, piece: int
) -> tuple[Tensor, Tensor]:
    """Pieces (K, piece, 2) of single joints and their scaled efforts (K, piece)."""
    inputs, targets = [], []
    for error, speed, effort in recordings:
        pair = np.stack([error * ready.pos_scale, speed * ready.vel_scale], axis=-1)
        for first in range(0, len(error) - piece + 1, piece):
            cut = slice(first, first + piece)
            inputs.append(pair[cut].transpose(1, 0, 2))
            targets.append(effort[cut].T / ready.torque_scale)
    if not inputs:
        raise FitError(f"actuator network: no recording has {piece} ticks")
    return tensor(np.concatenate(inputs)), tensor(np.concatenate(targets))
