# SPDX-License-Identifier: Apache-2.0
"""Model metadata: nothing is optional, every misfit is named with key, value and expectation."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest

from na_core.features import make_feature_set
from na_core.onnx_metadata import FORCE_SIGN, REQUIRED, ModelMetadata, ModelMetadataError
from na_core.robot_spec import load_robot_spec

SPEC = load_robot_spec("omx")


def complete(**changes: Any) -> dict[str, str]:
    features = make_feature_set("basic35", SPEC, 1 / 60)
    values: dict[str, Any] = {
        "schema_version": "1",
        "robot": "omx",
        "robot_hash": SPEC.digest,
        "model": "query",
        "joint_order": list(SPEC.names),
        "feature_set": features.name,
        "feature_order": list(features.names),
        "feature_basic": features.basic,
        "feature_rule": features.rule(),
        "dt": 1 / 60,
        "window": 9,
        "feature_mean": [0.0] * features.size,
        "feature_scale": [1.0] * features.size,
        "feature_clamp": 8.0,
        "effort_limit": np.asarray(SPEC.effort_limit).tolist(),
        "effort_unit": ["N m"] * 4 + ["N"],
        "gate_on": 0.6,
        "gate_off": 0.4,
        "gate_dwell": 3,
        "supervised_joints": ["joint3"],
        "end_effector_frame": SPEC.end_effector_frame,
        "base_frame": SPEC.base_frame,
        "force_sign": FORCE_SIGN,
        "training_data_hash": "abc",
        "calibration_hash": "none",
        "licence": "Apache-2.0",
        **changes,
    }
    return {k: v if isinstance(v, str) else json.dumps(v) for k, v in values.items()}


def test_a_complete_set_is_read_and_fits_its_robot() -> None:
    metadata = ModelMetadata.from_mapping(complete(), "m.onnx")
    assert (metadata.n, metadata.features, metadata.window) == (5, 35, 9)
    assert metadata.dt == pytest.approx(1 / 60)
    assert metadata.check_robot(SPEC, "m.onnx") == []


@pytest.mark.parametrize("key", REQUIRED)
def test_every_missing_key_is_named(key: str) -> None:
    values = complete()
    del values[key]
    with pytest.raises(ModelMetadataError, match=f"m.onnx: metadata key '{key}' is missing") as e:
        ModelMetadata.from_mapping(values, "m.onnx")
    assert e.value.key == key


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("schema_version", "2", "'1'"),
        ("dt", 0.0, "seconds per tick"),
        ("dt", "fast", "seconds per tick"),
        ("window", 9.5, "a whole number"),
        ("feature_mean", [0.0], "35 finite numbers"),
        ("feature_scale", [0.0] * 35, "35 positive numbers"),
        ("feature_scale", [float("nan")] * 35, "35 positive numbers"),
        ("effort_limit", [1.0] * 4, "5 positive numbers"),
        ("joint_order", ["a", "a"], "each once"),
        ("gate_off", 0.9, "at most gate_on = 0.6"),
        ("supervised_joints", ["elbow"], "some of joint1"),
        ("force_sign", "on the environment", "exerted by the environment"),
        ("feature_rule", [1], "a JSON object"),
    ],
)
def test_a_value_that_does_not_fit_is_named(key: str, value: Any, expected: str) -> None:
    with pytest.raises(ModelMetadataError, match=f"'{key}' is .*expected .*{re.escape(expected)}"):
        ModelMetadata.from_mapping(complete(**{key: value}), "m.onnx")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("robot", "so101"),
        ("joint_order", ["joint2", "joint1", "joint3", "joint4", "gripper_left_joint"]),
        ("end_effector_frame", "tool0"),
        ("base_frame", "world"),
        ("calibration_hash", "1234"),
        ("effort_limit", [1.0] * 5),
    ],
)
def test_another_robot_is_refused_by_the_first_difference(key: str, value: Any) -> None:
    metadata = ModelMetadata.from_mapping(complete(**{key: value}), "m.onnx")
    with pytest.raises(ModelMetadataError) as error:
        metadata.check_robot(SPEC, "m.onnx")
    assert error.value.key == key


@pytest.mark.parametrize(
    ("model", "arm", "words"),
    [
        ("none", "ab12", "trained on emulated arms or without a calibration. Record this arm"),
        ("ab12", "none", "Give the follower's calibration file"),
        ("ab12", "cd34", "Take the model of this calibration"),
    ],
)
def test_another_calibration_is_refused_with_what_to_do(model: str, arm: str, words: str) -> None:
    metadata = ModelMetadata.from_mapping(complete(calibration_hash=model), "m.onnx")
    with pytest.raises(ModelMetadataError, match="accept_other_calibration:=true") as error:
        metadata.check_robot(SPEC, "m.onnx", arm)
    assert words in str(error.value)
    (remark,) = metadata.check_robot(SPEC, "m.onnx", arm, accept_other_calibration=True)
    assert f"different calibrations ({model} and {arm})" in remark


def test_a_changed_robot_file_is_a_remark() -> None:
    metadata = ModelMetadata.from_mapping(complete(robot_hash="0" * 64), "m.onnx")
    (remark,) = metadata.check_robot(SPEC, "m.onnx")
    assert "has changed since the model was trained" in remark
