# SPDX-License-Identifier: Apache-2.0
"""Networks of the real sizes with random weights, exported as trained ones are: for timing only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np


def untrained_bundle(model: str = "query", rate: float = 60.0, robot: str = "omx") -> Any:
    """A bundle with random weights for ticks at `rate` [Hz]."""
    from na_core.features import make_feature_set
    from na_core.robot_spec import load_robot_spec
    from na_training.model import model_config
    from na_training.training.bundle import Bundle, new_model
    from na_training.training.config import TrainConfig
    from na_training.training.scaling import effort_scale

    spec = load_robot_spec(robot)
    dt = 1.0 / rate
    features = make_feature_set(model_config(model).features, spec, dt)
    mean, scale = made_up_scales(spec, features.size)
    config = TrainConfig(model=model, seed=0)
    network = new_model(config, features, spec, mean, scale, effort_scale(spec))
    provenance = {"training_data": "none: random weights, for timing only", "calibration": "none"}
    return Bundle(network, features, spec, dt, (spec.names[2],), (0.6, 0.4), provenance)


def made_up_scales(spec: Any, size: int) -> tuple[Any, Any]:
    """Means and scales (F,) wide enough for any motion of the arm."""
    mean, scale = np.zeros(size), np.ones(size)
    for index, joint in enumerate(spec.joints):
        ratio = abs(joint.ratio)
        at = slice(7 * index, 7 * index + 7)
        mean[at] = [0.0, 0.0, 0.0, 0.0, 0.0, spec.supply.nominal_voltage, 40.0]
        scale[at] = [2 * ratio, 4 * ratio, 2 * ratio, ratio, 1.0, 1.0, 20.0]
    return mean, scale


def export_untrained(folder: Path, model: str = "query", rate: float = 60.0) -> Path:
    """Write MODEL.onnx into `folder`."""
    from na_training.export.onnx_file import export

    path = folder / f"{model}.onnx"
    export(untrained_bundle(model, rate), path)
    return path
