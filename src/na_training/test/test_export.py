# SPDX-License-Identifier: Apache-2.0
"""Export: the file computes what the model does, says everything about itself, and loads back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch: requirements/train.txt")
onnx = pytest.importorskip("onnx", reason="needs onnx: requirements/train.txt")
onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")

from toy_data import DT, SPEC, toy_set  # noqa: E402

from na_core.features import make_feature_set  # noqa: E402
from na_training.evaluation.metrics import coverage  # noqa: E402
from na_training.evaluation.predict import predict_all  # noqa: E402
from na_training.export import onnx_file  # noqa: E402
from na_training.export.card import write_card  # noqa: E402
from na_training.export.metadata import REQUIRED, MetadataError, check_metadata  # noqa: E402
from na_training.export.stream import export_stream, stream_path  # noqa: E402
from na_training.export.thresholds import (  # noqa: E402
    calibrate_variance,
    choose_thresholds,
    real_windows,
)
from na_training.model import MODELS, model_config  # noqa: E402
from na_training.training.bundle import Bundle, new_model  # noqa: E402
from na_training.training.config import TrainConfig  # noqa: E402
from na_training.training.scaling import effort_scale  # noqa: E402


def make(name: str) -> Bundle:
    features = make_feature_set(model_config(name).features, SPEC, DT)
    rng = np.random.default_rng(0)
    model = new_model(
        TrainConfig(model=name),
        features,
        SPEC,
        rng.normal(size=features.size) * 0.1,
        rng.uniform(0.5, 2.0, features.size),
        effort_scale(SPEC),
    )
    return Bundle(
        model.eval(), features, SPEC, DT, ("joint3",), (0.7, 0.45), {"training_data": "ab" * 32}
    )


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Bundle, Path]:
    bundle = make("query_hysteresis")
    path = tmp_path_factory.mktemp("export") / "m.onnx"
    figures = onnx_file.export(bundle, path, real_windows(bundle, toy_set(2, length=60)))
    assert figures["random"] <= 1e-5 and figures["real"] <= 1e-5
    assert figures["bytes"] < 6e6
    return bundle, path


@pytest.mark.parametrize("name", MODELS)
def test_every_model_computes_the_same_as_onnx(name: str, tmp_path: Path) -> None:
    bundle = make(name)
    onnx_file.export(bundle, tmp_path / "m.onnx")
    if name != "full":
        assert export_stream(bundle, tmp_path / "m.onnx") <= 1e-5
        assert stream_path(tmp_path / "m.onnx").name == "m.stream.onnx"


def test_every_required_key_is_there_and_its_absence_is_named(exported) -> None:
    values = onnx_file.read_metadata(exported[1])
    assert set(REQUIRED) <= set(values)
    for key in REQUIRED:
        fewer = {name: value for name, value in values.items() if name != key}
        with pytest.raises(MetadataError, match=f"metadata key '{key}' is missing"):
            check_metadata(fewer, "m.onnx")


def test_the_live_reader_accepts_the_metadata(exported) -> None:
    from na_core.onnx_metadata import ModelMetadata

    metadata = ModelMetadata.from_mapping(onnx_file.read_metadata(exported[1]), "m.onnx")
    assert metadata.joint_order == SPEC.names
    assert metadata.gate_on == 0.7 and metadata.supervised_joints == ("joint3",)


def test_batch_is_free_and_opset_fixed(exported) -> None:
    graph = onnx.load(str(exported[1]))
    assert graph.opset_import[0].version == 18
    session = onnxruntime.InferenceSession(str(exported[1]), providers=["CPUExecutionProvider"])
    for rows in (1, 7):
        windows = onnx_file.random_windows(exported[0].model, rows=rows)
        outputs = session.run(None, {"features": windows})
        assert outputs[1].shape == (rows, 3) and outputs[1].dtype == np.float32


def test_weights_are_read_back_exactly(exported) -> None:
    bundle, path = exported
    again = onnx_file.load_bundle(path, SPEC)
    for name, value in bundle.model.state_dict().items():
        assert torch.equal(value, again.model.state_dict()[name]), name
    assert again.features.names == bundle.features.names
    assert again.gate_thresholds == (0.7, 0.45)


def test_a_graph_that_computes_something_else_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onnx_file, "parity", lambda *_: 1e-3)
    with pytest.raises(onnx_file.ParityError, match=r"differ by 1\.00e-03"):
        onnx_file.export(make("mlp"), tmp_path / "m.onnx")
    assert not (tmp_path / "m.onnx").exists()


def test_the_card_names_data_and_limits(exported, tmp_path: Path) -> None:
    bundle, path = exported
    card = write_card(bundle, path, {"random": 1e-6, "bytes": 5e6}).read_text(encoding="utf-8")
    for words in ("ab" * 32, "5.00 MB", "joint3", "surrogate", "Apache-2.0"):
        assert words in card


def test_the_variance_is_scaled_to_cover_what_it_promises() -> None:
    bundle = make("query")
    episodes = toy_set(4, length=120)
    before = predict_all(bundle.model, bundle.features, episodes)
    factor = calibrate_variance(bundle, episodes, before)
    after = predict_all(bundle.model, bundle.features, episodes)
    np.testing.assert_allclose(after[1].deviation[20], factor * before[1].deviation[20], rtol=1e-4)
    touching = np.concatenate([e.contact for e in episodes]) == 1.0
    figures = coverage(
        *(
            np.concatenate(rows)[touching]
            for rows in (
                [p.force for p in after],
                [p.deviation for p in after],
                [e.force for e in episodes],
            )
        )
    )
    assert figures["within_68"] == pytest.approx(0.68, abs=0.01)
    assert calibrate_variance(bundle, [], []) == 1.0


def test_thresholds_keep_free_frames_out() -> None:
    bundle = make("query")
    on, off = choose_thresholds(bundle, toy_set(2, length=60))
    assert 0.5 <= on <= 0.97 and off < on
    assert choose_thresholds(bundle, []) == bundle.gate_thresholds


@pytest.mark.parametrize("weights", ["float32", "int8"])
def test_the_live_loader_makes_the_streaming_graph_from_the_file_alone(exported, weights) -> None:
    from na_inference.model_file import load_model

    bundle, path = exported
    assert not stream_path(path).exists()
    model = load_model(path, SPEC, stream_weights=weights)
    assert model.streaming and model.execution == f"streaming, made from the model, {weights}"
    window = onnx_file.random_windows(bundle.model, rows=1)
    for tick in window[0]:
        model.runner.push(tick)
    with torch.no_grad():
        expected = bundle.model(torch.from_numpy(window))
    found = [model.runner.outputs[name][None] for name in expected._fields]
    limit = 1e-5 if weights == "float32" else 0.05
    assert onnx_file.difference(bundle.model, expected, found) <= limit


def test_a_file_that_does_not_say_its_heads_runs_on_whole_windows(exported, tmp_path: Path) -> None:
    from na_inference.model_file import load_model

    graph = onnx.load(str(exported[1]))
    kept = [entry for entry in graph.metadata_props if entry.key != "attention_heads"]
    del graph.metadata_props[:]
    graph.metadata_props.extend(kept)
    onnx.save(graph, str(tmp_path / "old.onnx"))
    model = load_model(tmp_path / "old.onnx", SPEC)
    assert not model.streaming
    assert "'attention_heads' is missing" in model.execution


def test_streaming_and_network_agree_with_every_weight_in_play(tmp_path: Path) -> None:
    bundle = make("query_hysteresis")
    with torch.no_grad():
        for parameter in bundle.model.parameters():
            parameter.add_(0.02 * torch.randn_like(parameter))
    assert export_stream(bundle, tmp_path / "m.onnx") <= 1e-5
