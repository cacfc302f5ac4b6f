# SPDX-License-Identifier: Apache-2.0
"""Features with memory give live, tick by tick, what they give in the replay of a recording."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from na_core.features import FEATURE_SETS, Ticks, make_feature_set
from na_core.robot_spec import RobotSpec
from na_inference.estimator import Estimator, EstimatorSettings
from na_inference.model_file import load_model
from na_inference.reading import Reading
from na_inference.testing import tiny_metadata, write_tiny_model

DT = 1 / 60


def motion(spec: RobotSpec, length: int) -> Ticks:
    """A smooth motion with currents, (length, n)."""
    rng = np.random.default_rng(5)
    time = DT * np.arange(length)[:, None]
    size = 0.4 * np.array([joint.ratio for joint in spec.joints])
    phase = rng.uniform(0.0, 6.28, spec.n)
    q = np.array([0.1, -0.6, 0.5, 0.9, 0.005]) + size * np.sin(0.7 * time + phase)
    return Ticks.of(
        position=q,
        velocity=np.gradient(q, DT, axis=0),
        goal=q + 0.02 * size,
        current=0.1 * np.sin(1.3 * time + phase) + rng.normal(0.0, 0.01, q.shape),
        voltage=np.full(q.shape, 12.0),
        temperature=np.full(q.shape, 40.0),
    )


class Recorder:
    """Stands in for the network and keeps what it is given."""

    def __init__(self, outputs: dict[str, Any]) -> None:
        self.outputs = outputs
        self.rows: list[np.ndarray] = []

    def push(self, features: np.ndarray) -> None:
        self.rows.append(features.copy())

    def reset(self) -> None:
        self.rows.clear()


@pytest.mark.parametrize("name", FEATURE_SETS)
def test_live_features_are_those_of_the_replay(name: str, omx: RobotSpec, tiny: Path) -> None:
    from dataclasses import replace

    model = load_model(tiny, omx)
    recorder = Recorder(model.runner.outputs)
    features = make_feature_set(name, omx, DT)
    estimator = Estimator(
        omx,
        replace(model, features=features, runner=recorder),
        EstimatorSettings(max_age=0.0),
    )
    ticks = motion(omx, 120)
    for index in range(120):
        stamp = 10**9 + round(1e9 * DT * index)
        assert estimator.step(Reading(stamp, index, ticks[index]), stamp) is not None
    expected = make_feature_set(name, omx, DT).replay(ticks)
    assert np.array(recorder.rows) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_the_rule_in_the_file_rebuilds_the_features(omx: RobotSpec, tmp_path: Path) -> None:
    path = write_tiny_model(tmp_path / "m.onnx", omx, metadata=tiny_metadata(omx))
    model = load_model(path, omx)
    assert model.features.rule() == json.loads(tiny_metadata(omx)["feature_rule"])
