# SPDX-License-Identifier: Apache-2.0
"""The committed model of a robot is found, and a streaming graph is never taken for one."""

from __future__ import annotations

from pathlib import Path

import pytest

from na_core.robot_spec import load_robot_spec
from na_inference.live_core import find_model
from na_inference.model_paths import committed_model, robots_with_models


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An own folder of models for a robot of that name."""
    monkeypatch.setenv("NA_MODEL_DIR", str(tmp_path))
    (tmp_path / "toy").mkdir()
    return tmp_path / "toy"


def test_the_default_wins_over_the_first_by_name(models: Path) -> None:
    (models / "a.onnx").touch()
    (models / "b.stream.onnx").touch()
    assert committed_model("toy") == models / "a.onnx"
    (models / "default.onnx").touch()
    assert committed_model("toy") == models / "default.onnx"
    assert "toy" in robots_with_models()


def test_a_streaming_graph_alone_is_no_model(models: Path) -> None:
    (models / "a.stream.onnx").touch()
    assert committed_model("toy") is None
    assert "toy" not in robots_with_models()


def test_without_a_model_it_says_where_it_looked(models: Path) -> None:
    with pytest.raises(
        ValueError, match=r"no model of robot 'so101' was found \(looked in: .*so101"
    ):
        find_model(load_robot_spec("so101"), "")
