# SPDX-License-Identifier: Apache-2.0
"""A pose that no recording visited is out of distribution, though every joint looks usual."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from na_core.onnx_metadata import ModelMetadata
from na_inference.input_distance import InputDistance
from na_inference.model_paths import committed_model


@pytest.fixture(scope="module")
def metadata() -> ModelMetadata:
    path = committed_model("omx")
    assert path is not None
    read = onnx.load(path, load_external_data=False).metadata_props
    return ModelMetadata.from_mapping({entry.key: entry.value for entry in read}, str(path))


def moved(metadata: ModelMetadata, name: str, deviations: float) -> np.ndarray:
    features = np.array(metadata.feature_mean)
    column = metadata.feature_order.index(name)
    features[column] += deviations * metadata.feature_scale[column]
    return features


@pytest.mark.parametrize("name", ["joint4.gravity", "force_map.z.joint3", "joint1.q"])
def test_pose_and_measurement_count(metadata: ModelMetadata, name: str) -> None:
    distance = InputDistance(metadata)
    clamp = metadata.feature_clamp
    assert distance.score(moved(metadata, name, 3.0)) == 0.0
    assert distance.score(moved(metadata, name, -1.01 * clamp)) > 1.0
    assert distance.worst(moved(metadata, name, -1.01 * clamp)).startswith(name)


def test_an_unusual_force_is_no_reason_for_silence(metadata: ModelMetadata) -> None:
    assert InputDistance(metadata).score(moved(metadata, "force_link.z", 50.0)) == 0.0
