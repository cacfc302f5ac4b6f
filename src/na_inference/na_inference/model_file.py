# SPDX-License-Identifier: Apache-2.0
"""Loads a model for live use: nothing of it is taken on trust."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnxruntime

from na_core.eight_bit import WEIGHTS_KEY, eight_bit
from na_core.features import FeatureError, FeatureSet, feature_set_from_rule
from na_core.onnx_metadata import (
    INPUT,
    OUTPUTS,
    STATE_INPUT,
    STATE_OUTPUT,
    STREAM_SUFFIX,
    ModelMetadata,
    ModelMetadataError,
)
from na_core.onnx_weights import query_network
from na_core.stream_graph import StreamGraphError, stream_graph
from na_inference.model_error import ModelError
from na_inference.runners import Runner, StreamRunner, WindowRunner, new_session

if TYPE_CHECKING:
    from na_core.robot_spec import RobotSpec

STREAM_TOLERANCE = 1e-3
"""Largest difference between streaming and stateless graph at loading, relative to 1 + |value|."""
STREAM_TOLERANCE_INT8 = 0.05
"""The same for a streaming graph with 8-bit weights, which says so: metadata weights = int8."""


@dataclass(frozen=True)
class Model:
    """A model ready to run.

    Attributes:
        path: the file.
        model_id: SHA-256 (hex) of its content.
        metadata: what it says about itself, checked against the robot.
        features: its feature set, rebuilt from its own rule.
        runner: takes ticks; streaming where there is a streaming graph or one can be made.
        streaming: whether it does.
        execution: how it runs, in words; with whole windows, why.
        remarks: differences that did not forbid the use.
    """

    path: Path
    model_id: str
    metadata: ModelMetadata
    features: FeatureSet
    runner: Runner
    streaming: bool
    execution: str
    remarks: tuple[str, ...] = ()


def load_model(
    path: str | Path,
    spec: RobotSpec,
    *,
    calibration: str = "none",
    accept_other_calibration: bool = False,
    threads: int = 1,
    spinning: bool = False,
    streaming: bool = True,
    stream_weights: str = "float32",
) -> Model:
    """Read and check a model.

    Args:
        path: NAME.onnx. NAME.stream.onnx beside it is used as well if it is there; else the
            streaming graph of a `query` network is made from the weights in NAME.onnx.
        spec: the robot in use.
        calibration: hash of the calibration in force.
        accept_other_calibration: let a model of another calibration pass, with a remark.
        threads: threads per operator.
        spinning: let idle threads spin.
        streaming: run one token per tick where that can be done.
        stream_weights: "float32", or "int8" for 8-bit weights in a graph made here.

    Raises:
        ModelError: unreadable file, graph of another shape or type, outputs that are not numbers.
        ModelMetadataError: a metadata key is missing or does not fit the robot.
    """
    path = Path(path)
    content, session = _open(path, threads, spinning)
    metadata = ModelMetadata.from_mapping(session.get_modelmeta().custom_metadata_map, str(path))
    remarks = metadata.check_robot(
        spec, str(path), calibration, accept_other_calibration=accept_other_calibration
    )
    features = _features(metadata, spec, path)
    _check_graph(session, metadata, path, streaming=False)
    runner: Runner = WindowRunner(session, metadata)
    _check_numbers(runner, metadata, path)
    stream, execution = None, "whole windows, as asked"
    if streaming:
        stream_path = path.with_name(path.name.removesuffix(".onnx") + STREAM_SUFFIX)
        if stream_path.is_file():
            _, stream_session = _open(stream_path, threads, spinning)
            stream = _stream_runner(stream_session, runner, metadata, stream_path)
            execution = f"streaming, {stream_path.name}"
        else:
            try:
                graph = stream_graph(query_network(content, metadata, str(path)))
                graph = eight_bit(graph) if stream_weights == "int8" else graph
                stream_session = new_session(
                    graph.SerializeToString(), threads=threads, spinning=spinning
                )
                stream = _stream_runner(stream_session, runner, metadata, path)
                execution = f"streaming, made from the model, {stream_weights}"
            except (StreamGraphError, ModelError) as error:
                execution = f"whole windows: {error}"
    runner = stream or runner
    runner.reset()
    return Model(
        path,
        hashlib.sha256(content).hexdigest(),
        metadata,
        features,
        runner,
        stream is not None,
        execution,
        tuple(remarks),
    )


def _stream_runner(
    session: onnxruntime.InferenceSession, window: Runner, metadata: ModelMetadata, path: Path
) -> StreamRunner:
    """Check a streaming graph against the stateless one; raises ModelError."""
    _check_graph(session, metadata, path, streaming=True)
    stream = StreamRunner(session, metadata)
    weights = session.get_modelmeta().custom_metadata_map.get(WEIGHTS_KEY)
    tolerance = STREAM_TOLERANCE_INT8 if weights == "int8" else STREAM_TOLERANCE
    _check_same(window, stream, metadata, path, tolerance)
    return stream


def _open(path: Path, threads: int, spinning: bool) -> tuple[bytes, onnxruntime.InferenceSession]:
    try:
        content = path.read_bytes()
    except OSError as error:
        remedy = "Give the path of an .onnx file made by ./na export"
        raise ModelError(
            str(path), "model file", error.strerror, "a readable file", remedy
        ) from None
    try:
        return content, new_session(content, threads=threads, spinning=spinning)
    except Exception as error:
        first = str(error).splitlines()[0]
        what = f"{len(content)} bytes that ONNX runtime refuses ({first})"
        remedy = "Copy or export the file again; it may be truncated"
        raise ModelError(str(path), "content", what, "a complete ONNX model", remedy) from None


def _features(metadata: ModelMetadata, spec: RobotSpec, path: Path) -> FeatureSet:
    try:
        features = feature_set_from_rule(metadata.feature_rule, spec)
    except (FeatureError, KeyError) as error:
        raise ModelMetadataError(
            str(path), "feature_rule", metadata.feature_rule, f"a rule of this version ({error})"
        ) from error
    for key, mine, built in (
        ("feature_set", metadata.feature_set, features.name),
        ("feature_order", metadata.feature_order, features.names),
        ("feature_basic", metadata.feature_basic, features.basic),
    ):
        if mine != built:
            raise ModelMetadataError(str(path), key, mine, f"{built!r} as feature_rule makes")
    return features


def _check_graph(
    session: onnxruntime.InferenceSession, metadata: ModelMetadata, path: Path, *, streaming: bool
) -> None:
    n, window, size = metadata.n, metadata.window, metadata.features
    widths = {"effort": n, "force": 3, "gate": 1, "condition": n, "log_variance": 3}
    inputs: dict[str, list[int | None]] = {INPUT: [size] if streaming else [window, size]}
    outputs: dict[str, list[int | None]] = {name: [widths[name]] for name in OUTPUTS}
    if streaming:
        inputs[STATE_INPUT] = [window - 1, None]
        outputs[STATE_OUTPUT] = [window - 1, None]
    for kind, nodes, expected in (
        ("input", session.get_inputs(), inputs),
        ("output", session.get_outputs(), outputs),
    ):
        found = {node.name: node for node in nodes}
        remedy = "Export the model again with ./na export"
        if set(found) != set(expected):
            names = ", ".join(sorted(found))
            raise ModelError(
                str(path), f"list of {kind}s", names, ", ".join(sorted(expected)), remedy
            )
        for name, shape in expected.items():
            node = found[name]
            if node.type != "tensor(float)":
                raise ModelError(
                    str(path), f"type of {kind} '{name}'", node.type, "tensor(float)", remedy
                )
            if not _fits(node.shape, shape):
                wanted = ["batch", *("any" if size is None else size for size in shape)]
                raise ModelError(
                    str(path), f"shape of {kind} '{name}'", node.shape, str(wanted), remedy
                )


def _fits(shape: list[int | str | None], expected: list[int | None]) -> bool:
    """Whether the axes after the batch are those expected; None there: any known size.

    The batch axis must be free or one. An axis that an output leaves open is accepted, since its
    buffer's size decides at run time.
    """
    if len(shape) != len(expected) + 1 or (isinstance(shape[0], int) and shape[0] != 1):
        return False
    return all(
        not isinstance(mine, int) or theirs is None or mine == theirs
        for mine, theirs in zip(shape[1:], expected, strict=True)
    )


def _probe_ticks(metadata: ModelMetadata) -> np.ndarray:  # type: ignore[type-arg]
    rng = np.random.default_rng(0)
    noise = rng.normal(0.0, 1.0, (2 * metadata.window + 1, metadata.features))
    return np.asarray(metadata.feature_mean + metadata.feature_scale * noise)


def _check_numbers(runner: Runner, metadata: ModelMetadata, path: Path) -> None:
    """Run the network on made-up ticks: every output must be a number."""
    for tick in _probe_ticks(metadata):
        try:
            runner.push(tick)
        except Exception as error:
            raise ModelError(
                str(path), "a trial run", str(error).splitlines()[0], "results", "Export again"
            ) from None
    for name, array in runner.outputs.items():
        if not np.isfinite(array).all():
            raise ModelError(
                str(path), f"output '{name}' of a trial run", array, "finite numbers", "Train again"
            )


def _check_same(
    window: Runner, stream: Runner, metadata: ModelMetadata, path: Path, tolerance: float
) -> None:
    """The streaming graph must be the same network: compare both on made-up ticks."""
    for runner in (window, stream):
        runner.reset()
        for tick in _probe_ticks(metadata):
            runner.push(tick)
    for name, expected in window.outputs.items():
        off = float(np.max(np.abs(stream.outputs[name] - expected) / (1.0 + np.abs(expected))))
        if not off <= tolerance:
            raise ModelError(
                str(path),
                f"output '{name}'",
                f"off by {off:.2e}",
                f"the stateless graph's within {tolerance:g}",
                "Both files must come from one export",
            )
