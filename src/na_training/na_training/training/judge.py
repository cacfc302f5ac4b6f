# SPDX-License-Identifier: Apache-2.0
"""Quick validation during training: force error on measured states, pose error of rollouts."""

from __future__ import annotations

import numpy as np
import torch

from na_training.data import DataError, Store
from na_training.model import WINDOW
from na_training.simulator import Simulator
from na_training.training.bundle import Bundle
from na_training.training.rollout import BasicColumns, roll_out

PIECES = 256
PIECE = 32
ROLLOUTS = 48
HORIZON = 300


class RunJudge:
    """The same pieces of the validation split every time.

    Args:
        store: validation ticks.
        simulator: for the rollouts.
        seed: draws the pieces.
    """

    def __init__(self, store: Store, simulator: Simulator, seed: int) -> None:
        self.store = store
        self.simulator = simulator
        rng = np.random.default_rng([seed, 0x5EED])
        self.pieces = store.sampler(WINDOW - 1 + PIECE).draw(rng, PIECES)
        self.rollouts = None
        for horizon in (HORIZON, 128, 32):
            try:
                self.rollouts = store.sampler(WINDOW + horizon).draw(rng, ROLLOUTS)
                break
            except DataError:
                continue

    def __call__(self, bundle: Bundle, *, rollouts: bool = True) -> dict[str, float]:
        """Figures by name: force errors [N], gate accuracy, pose error [deg] of the arm joints.

        `rollouts` False leaves the pose out, which takes most of the time.
        """
        with torch.no_grad():
            figures = self._measured(bundle)
            if rollouts and self.rollouts is not None:
                figures.update(self._rolled(bundle))
        return figures

    def _measured(self, bundle: Bundle) -> dict[str, float]:
        features = torch.from_numpy(self.store.features[self.pieces])
        outputs = bundle.model.sequence(features)
        index = self.pieces[:, WINDOW - 1 :]
        force, contact = self.store.force[index], self.store.contact[index]
        error = np.linalg.norm(outputs.force.numpy() - force, axis=-1)
        touching, free = contact == 1.0, contact == 0.0
        gate = outputs.gate.numpy()[..., 0] > 0.0
        return {
            "force_contact": _mean(error[touching]),
            "force_free": _mean(error[free]),
            "gate_missed": _mean(~gate[touching]),
            "gate_false": _mean(gate[free]),
        }

    def _rolled(self, bundle: Bundle) -> dict[str, float]:
        cut = bundle.model.layout.basic
        basic = torch.from_numpy(self.store.features[self.rollouts][..., :cut])
        columns = BasicColumns(self.simulator.n)
        rollout = roll_out(bundle.model, self.simulator, columns, basic)
        measured = columns.channel(basic[:, WINDOW:], "q")
        goal = columns.channel(basic[:, WINDOW - 1 : -1], "goal")
        arm = [i for i, joint in enumerate(bundle.spec.joints) if joint.role == "arm"]
        tail = slice(-50, None)
        pose = (rollout.position - measured)[:, tail, arm].abs().mean()
        trivial = (goal - measured)[:, tail, arm].abs().mean()
        return {
            "pose_deg": float(torch.rad2deg(pose)),
            "goal_deg": float(torch.rad2deg(trivial)),
        }


def _mean(values: np.ndarray) -> float:  # type: ignore[type-arg]
    return float(np.mean(values)) if values.size else float("nan")
