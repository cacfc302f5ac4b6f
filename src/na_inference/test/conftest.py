# SPDX-License-Identifier: Apache-2.0
"""The default robot, a tiny model of it, and ticks made by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from na_core.features import Ticks
from na_core.robot_spec import RobotSpec, load_robot_spec
from na_inference.reading import Reading
from na_inference.testing import write_tiny_model

DT = 1 / 60
POSE = np.array([0.1, -0.6, 0.5, 0.9, 0.005])


@pytest.fixture(scope="session")
def omx() -> RobotSpec:
    """The default robot."""
    return load_robot_spec("omx")


@pytest.fixture(scope="session")
def tiny(omx: RobotSpec, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model with a streaming graph beside it."""
    return write_tiny_model(tmp_path_factory.mktemp("models") / "tiny.onnx", omx, stream=True)


class TickMaker:
    """Readings at a chosen rate; everything can be changed by name."""

    def __init__(self, start_ns: int = 1_000_000_000) -> None:
        self.stamp_ns = start_ns
        self.sequence = 0
        self.dt = DT

    def __call__(self, stale: bool = False, trouble: str = "", **changes: Any) -> Reading:
        """The next tick."""
        self.stamp_ns += round(1e9 * self.dt)
        self.sequence += 1
        values: dict[str, Any] = {
            "position": POSE,
            "velocity": np.zeros(5),
            "goal": POSE,
            "current": np.zeros(5),
            "voltage": np.full(5, 12.0),
            "temperature": np.full(5, 40.0),
        }
        values.update(changes)
        return Reading(self.stamp_ns, self.sequence, Ticks.of(**values), stale, trouble)


@pytest.fixture
def tick() -> TickMaker:
    """Readings of an arm at rest."""
    return TickMaker()
