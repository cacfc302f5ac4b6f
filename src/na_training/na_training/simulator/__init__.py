# SPDX-License-Identifier: Apache-2.0
"""Differentiable simulators of an arm behind one interface."""

from __future__ import annotations

from na_training.simulator.clip import CLIP_GRADIENTS, clip_effort
from na_training.simulator.interface import (
    BACKENDS,
    Simulator,
    SimulatorError,
    SimulatorParameters,
    make_simulator,
)

__all__ = [
    "BACKENDS",
    "CLIP_GRADIENTS",
    "Simulator",
    "SimulatorError",
    "SimulatorParameters",
    "clip_effort",
    "make_simulator",
]
