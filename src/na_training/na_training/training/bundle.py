# SPDX-License-Identifier: Apache-2.0
"""A trained model with all that is needed to use it: features, robot, rate, provenance."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from na_core.features import FeatureSet, feature_set_from_rule
from na_core.robot_spec import RobotSpec
from na_training.model import Actuator, Layout, model_config
from na_training.training import checkpoint
from na_training.training.config import TrainConfig


@dataclass
class Bundle:
    """Model and context.

    Attributes:
        model: the network.
        features: its feature set.
        spec: the robot.
        dt: seconds per tick of the training data.
        supervised: joints whose condition was labelled.
        gate_thresholds: contact opens at or above the first and closes below the second.
        provenance: data hash, seeds, command, results; JSON values.
    """

    model: Actuator
    features: FeatureSet
    spec: RobotSpec
    dt: float
    supervised: tuple[str, ...] = ()
    gate_thresholds: tuple[float, float] = (0.6, 0.4)
    provenance: dict[str, Any] = field(default_factory=dict)

    def context(self) -> dict[str, Any]:
        """Everything but the weights, as JSON values."""
        return {
            "model": self.model.config.name,
            "rule": self.features.rule(),
            "robot": self.spec.robot,
            "robot_hash": self.spec.digest,
            "dt": self.dt,
            "supervised": list(self.supervised),
            "gate_thresholds": list(self.gate_thresholds),
            "provenance": self.provenance,
        }


def restore(context: dict[str, Any], weights: dict[str, Tensor], spec: RobotSpec) -> Bundle:
    """Rebuild a bundle from its context and weights.

    Raises:
        checkpoint.CheckpointError: it was made for another robot.
    """
    if context["robot"] != spec.robot:
        raise checkpoint.CheckpointError(
            f"model was trained for robot {context['robot']!r}, expected {spec.robot!r}"
        )
    features = feature_set_from_rule(context["rule"], spec)
    model = Actuator(
        model_config(context["model"]),
        Layout.of(features, spec.names),
        weights["mean"],
        weights["scale"],
        weights["effort_scale"],
    )
    model.load_state_dict(weights)
    model.eval()
    on, off = context["gate_thresholds"]
    return Bundle(
        model,
        features,
        spec,
        float(context["dt"]),
        tuple(context["supervised"]),
        (float(on), float(off)),
        dict(context["provenance"]),
    )


def load_run(folder: Path, spec: RobotSpec, *, averaged: bool = True) -> Bundle:
    """Load the model of a run (or of a checkpoint file); averaged weights by default."""
    state = checkpoint.load(folder)
    weights = state["average"] if averaged and state.get("average") else state["model"]
    return restore(json.loads(state["context"]), weights, spec)


def new_model(
    config: TrainConfig, features: FeatureSet, spec: RobotSpec, mean: Any, scale: Any, effort: Any
) -> Actuator:
    """A fresh network with weights from the seed of the settings."""
    torch.manual_seed(config.seed)
    return Actuator(
        model_config(config.model),
        Layout.of(features, spec.names),
        torch.as_tensor(mean, dtype=torch.float32),
        torch.as_tensor(scale, dtype=torch.float32),
        torch.as_tensor(effort, dtype=torch.float32),
    )
