# SPDX-License-Identifier: Apache-2.0
"""A model that is not what it must be is refused by name, before anything runs on it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from na_core.onnx_metadata import OUTPUTS, ModelMetadataError
from na_core.robot_spec import RobotSpec, load_robot_spec
from na_inference.model_error import ModelError
from na_inference.model_file import load_model
from na_inference.testing import tiny_metadata, write_tiny_model


def test_a_good_model_streams_and_knows_its_own_hash(tiny: Path, omx: RobotSpec) -> None:
    model = load_model(tiny, omx)
    assert model.streaming
    assert len(model.model_id) == 64
    assert model.remarks == ()
    assert not load_model(tiny, omx, streaming=False).streaming


def test_streaming_and_window_agree_at_every_tick(tiny: Path, omx: RobotSpec) -> None:
    stream = load_model(tiny, omx).runner
    window = load_model(tiny, omx, streaming=False).runner
    rng = np.random.default_rng(3)
    for number in range(40):
        features = rng.normal(size=35)
        stream.push(features)
        window.push(features)
        if number >= 8:
            for name in OUTPUTS:
                assert np.allclose(stream.outputs[name], window.outputs[name], atol=1e-5)


def test_the_window_holds_exactly_the_last_nine_ticks(tiny: Path, omx: RobotSpec) -> None:
    runner = load_model(tiny, omx, streaming=False).runner
    runner.reset()
    error_of_joint1 = np.zeros(35)
    for value in range(1, 31):
        error_of_joint1[3] = value
        runner.push(error_of_joint1)
        assert runner.outputs["effort"][0] == pytest.approx(
            sum(range(max(1, value - 8), value + 1))
        )


def test_a_truncated_file_is_refused(tiny: Path, omx: RobotSpec, tmp_path: Path) -> None:
    content = tiny.read_bytes()
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(content[: len(content) // 2])
    with pytest.raises(ModelError, match=r"broken.onnx: content is \d+ bytes .* complete ONNX"):
        load_model(broken, omx)


def test_an_absent_file_is_refused(omx: RobotSpec, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"nothing.onnx: model file is No such file"):
        load_model(tmp_path / "nothing.onnx", omx)


def test_float64_is_refused(omx: RobotSpec, tmp_path: Path) -> None:
    path = write_tiny_model(tmp_path / "double.onnx", omx, double=True)
    with pytest.raises(ModelError, match=r"type of input 'features' is tensor\(double\), expected"):
        load_model(path, omx)


def test_a_missing_output_is_refused(omx: RobotSpec, tmp_path: Path) -> None:
    path = write_tiny_model(tmp_path / "less.onnx", omx, outputs=OUTPUTS[:4])
    with pytest.raises(ModelError, match=r"list of outputs is .*expected .*log_variance"):
        load_model(path, omx)


def test_a_missing_metadata_key_is_refused(omx: RobotSpec, tmp_path: Path) -> None:
    metadata = tiny_metadata(omx, feature_scale=None)
    path = write_tiny_model(tmp_path / "bare.onnx", omx, metadata=metadata)
    with pytest.raises(ModelMetadataError, match=r"'feature_scale' is missing"):
        load_model(path, omx)


def test_another_window_than_the_graphs_is_refused(omx: RobotSpec, tmp_path: Path) -> None:
    path = write_tiny_model(tmp_path / "m.onnx", omx, metadata=tiny_metadata(omx, window=8))
    with pytest.raises(ModelError, match=r"shape of input 'features' is \['batch', 9, 35\]"):
        load_model(path, omx)


def test_another_feature_order_is_refused(omx: RobotSpec, tmp_path: Path) -> None:
    names = json.loads(tiny_metadata(omx)["feature_order"])
    metadata = tiny_metadata(omx, feature_order=names[::-1])
    path = write_tiny_model(tmp_path / "m.onnx", omx, metadata=metadata)
    with pytest.raises(ModelMetadataError, match=r"'feature_order' is .*as feature_rule makes"):
        load_model(path, omx)


def test_another_robots_model_is_refused(tiny: Path) -> None:
    with pytest.raises(ModelMetadataError, match=r"'robot' is 'omx', expected 'so101'"):
        load_model(tiny, load_robot_spec("so101"))


def test_another_calibration_is_refused(tiny: Path, omx: RobotSpec) -> None:
    with pytest.raises(ModelMetadataError, match=r"'calibration_hash' is 'none', expected 'abc'"):
        load_model(tiny, omx, calibration="abc")


def test_a_streaming_graph_of_another_model_is_refused(omx: RobotSpec, tmp_path: Path) -> None:
    path = write_tiny_model(tmp_path / "m.onnx", omx, stream=True)
    write_tiny_model(path, omx, force_per_ampere=11.0)
    with pytest.raises(ModelError, match=r"output 'force' is off by .*must come from one export"):
        load_model(path, omx)


def test_numbers_that_are_none_are_refused(omx: RobotSpec, tmp_path: Path) -> None:
    path = write_tiny_model(tmp_path / "m.onnx", omx, force_per_ampere=float("nan"))
    with pytest.raises(ModelError, match=r"output 'force' of a trial run is .*finite numbers"):
        load_model(path, omx)
