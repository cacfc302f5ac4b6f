# SPDX-License-Identifier: Apache-2.0
"""Example: a policy cloned by `na_training.behaviour_cloning`, acting without torch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class ClonedPolicy:
    """From position and force to the follower's next goal.

    Attributes:
        names: joint names, the order of positions and goals.
        with_force: whether it reads the force; then it needs a valid one to act.
    """

    def __init__(self, path: Path) -> None:
        """Read a policy; ValueError when the file is none."""
        with np.load(path, allow_pickle=False) as file:
            stored = {name: file[name] for name in file.files}
        missing = {"names", "with_force", "mean", "scale", "size", "most", "weight0"} - set(stored)
        if missing:
            raise ValueError(f"{path}: no {', '.join(sorted(missing))}; expected a cloned policy")
        self.names = tuple(str(name) for name in stored["names"])
        self.with_force = bool(stored["with_force"])
        self._stored = stored
        self._layers = sum(name.startswith("weight") for name in stored)

    def step(self, position: Array, goal: Array, force: Array, in_contact: bool) -> Array:
        """Return the next goal (n,), at most a demonstrated step from `goal` (n,) away.

        Args:
            position: measured (n,) [rad or m].
            goal: the goal now.
            force: gated, base axes (3,) [N]; not read by a policy without force.
            in_contact: the gate.
        """
        stored = self._stored
        seen = np.append(np.append(position, force), in_contact) if self.with_force else position
        value = (seen - stored["mean"]) / stored["scale"]
        for number in range(self._layers):
            value = stored[f"weight{number}"] @ value + stored[f"bias{number}"]
            if number < self._layers - 1:
                value = np.tanh(value)
        step = np.clip(value * stored["size"], -stored["most"], stored["most"])
        return np.asarray(goal + step, dtype=np.float64)
