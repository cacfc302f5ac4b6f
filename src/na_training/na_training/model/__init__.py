# SPDX-License-Identifier: Apache-2.0
"""Networks from nine ticks of telemetry to effort, force, gate and condition."""

from __future__ import annotations

from na_training.model.actuator import Actuator, Layout
from na_training.model.config import MODELS, WINDOW, ModelConfig, model_config
from na_training.model.heads import Estimates, Outputs

__all__ = [
    "MODELS",
    "WINDOW",
    "Actuator",
    "Estimates",
    "Layout",
    "ModelConfig",
    "Outputs",
    "model_config",
]
