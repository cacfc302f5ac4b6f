# SPDX-License-Identifier: Apache-2.0
"""Writes a model as ONNX, proves that it computes the same, and reads weights back from it."""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import numpy_helper

from na_core.onnx_metadata import INPUT, OUTPUTS
from na_core.onnx_weights import HEADS_KEY, read_weights
from na_core.robot_spec import RobotSpec
from na_training.export.metadata import OPSET, check_metadata, metadata_of
from na_training.model import WINDOW, Actuator, Outputs
from na_training.model.query import QueryEncoder
from na_training.training.bundle import Bundle, restore
from na_training.training.checkpoint import write_atomically

TOLERANCE = 1e-5
"""Largest difference between torch and ONNX runtime, relative to 1 + |value|."""

Float32 = NDArray[np.float32]


class ParityError(RuntimeError):
    """The exported graph computes something else than the model; it was not written."""


def export(bundle: Bundle, path: Path, real: Float32 | None = None) -> dict[str, float]:
    """Write the model to `path` after checking it.

    Args:
        bundle: the model.
        path: the file to write.
        real: windows (N, 9, F) of recorded features for the check, besides random ones.

    Returns:
        Largest differences on random and real windows, and the size in bytes.

    Raises:
        ParityError: the graph and the model differ by more than `TOLERANCE`.
    """
    graph = _graph(bundle.model)
    mapping = _parameter_map(graph, bundle.model)
    unused = {
        name: parameter.detach().numpy().tolist()
        for name, parameter in bundle.model.named_parameters()
        if name not in mapping
    }
    values = metadata_of(bundle, mapping, unused)
    if isinstance(bundle.model.encoder, QueryEncoder):
        values[HEADS_KEY] = str(bundle.model.config.heads)
    for key, value in values.items():
        entry = graph.metadata_props.add()
        entry.key, entry.value = key, value
    graph.doc_string = f"{bundle.model.config.name} for {bundle.spec.robot}"
    onnx.checker.check_model(graph)
    data = graph.SerializeToString()
    figures = {"random": parity(data, bundle.model, random_windows(bundle.model))}
    if real is not None and len(real):
        figures["real"] = parity(data, bundle.model, real)
    for name, difference in figures.items():
        if not difference <= TOLERANCE:
            raise ParityError(
                f"{path}: torch and ONNX differ by {difference:.2e} on {name} windows, expected at "
                f"most {TOLERANCE:.0e}"
            )
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, data)
    return {**figures, "bytes": float(len(data))}


def _graph(model: Actuator) -> onnx.ModelProto:
    """Trace the stateless model with a free batch size."""
    model.eval()
    example = (torch.from_numpy(random_windows(model, rows=2)),)
    return trace(model, example, [INPUT], list(OUTPUTS))


def trace(
    module: torch.nn.Module,
    example: tuple[torch.Tensor, ...],
    inputs: list[str],
    outputs: list[str],
) -> onnx.ModelProto:
    """Trace a module; the first axis of every input and output is a free batch."""
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module,
            example,
            buffer,
            input_names=inputs,
            output_names=outputs,
            dynamic_axes={name: {0: "batch"} for name in (*inputs, *outputs)},
            opset_version=OPSET,
            dynamo=False,
        )
    return onnx.load_model_from_string(buffer.getvalue())


def random_windows(model: Actuator, rows: int = 64, seed: int = 0) -> Float32:
    """Windows (rows, 9, F) around the training data's distribution, tails included."""
    rng = np.random.default_rng(seed)
    mean, scale = model.mean.numpy(), model.scale.numpy()
    noise = rng.normal(0.0, 1.5, (rows, WINDOW, len(mean)))
    return np.asarray(mean + scale * noise, dtype=np.float32)


def parity(data: bytes, model: Actuator, windows: Float32) -> float:
    """Largest |torch − ONNX| / (1 + |torch|) over all outputs, for batches of one and of all.

    Efforts are taken in units of their scale, since a gripper's run to hundreds of newtons.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    worst = 0.0
    for rows in (windows, windows[:1]):
        with torch.no_grad():
            expected = model(torch.from_numpy(rows))
        worst = max(worst, difference(model, expected, session.run(list(OUTPUTS), {INPUT: rows})))
    return worst


def difference(model: Actuator, expected: Outputs, found: Sequence[NDArray[Any]]) -> float:
    """Largest difference of two sets of outputs, relative to 1 + |value|."""
    worst = 0.0
    units = [model.effort_scale.numpy(), *([1.0] * (len(expected) - 1))]
    for mine, theirs, unit in zip(expected, found, units, strict=False):
        value = mine.numpy() / unit
        worst = max(worst, float(np.max(np.abs(value - theirs / unit) / (1.0 + np.abs(value)))))
    return worst


def _parameter_map(graph: onnx.ModelProto, model: Actuator) -> dict[str, list[Any]]:
    """Where each weight lies among the initializers: name → [initializer, transposed]."""
    stored = {item.name: numpy_helper.to_array(item) for item in graph.graph.initializer}
    mapping: dict[str, list[Any]] = {}
    for name, parameter in model.named_parameters():
        value = parameter.detach().numpy()
        for key, array in stored.items():
            if array.shape == value.shape and np.array_equal(array, value):
                mapping[name] = [key, False]
                break
            if value.ndim == 2 and array.shape == value.T.shape and np.array_equal(array, value.T):
                mapping[name] = [key, True]
                break
    return mapping


def read_metadata(path: Path) -> dict[str, str]:
    """Metadata of an ONNX file, checked to be complete."""
    graph = onnx.load(str(path))
    values = {entry.key: entry.value for entry in graph.metadata_props}
    check_metadata(values, str(path))
    return values


def load_bundle(path: Path, spec: RobotSpec) -> Bundle:
    """Rebuild the torch model of an exported file, for evaluation and adaptation.

    Raises:
        MetadataError: the file is not a complete export, or lacks a weight.
    """
    from na_training.export.metadata import MetadataError

    graph = onnx.load(str(path))
    values = {entry.key: entry.value for entry in graph.metadata_props}
    check_metadata(values, str(path))
    context = {
        "model": values["model"],
        "rule": json.loads(values["feature_rule"]),
        "robot": values["robot"],
        "dt": json.loads(values["dt"]),
        "supervised": json.loads(values["supervised_joints"]),
        "gate_thresholds": [json.loads(values["gate_on"]), json.loads(values["gate_off"])],
        "provenance": json.loads(values.get("provenance", "{}")),
    }
    weights = _weights(values, graph, str(path))
    bundle = restore_partial(context, weights, spec)
    missing = [name for name, _ in bundle.model.named_parameters() if name not in weights]
    if missing:
        raise MetadataError(
            f"{path}: weights {missing} cannot be found in the file; export it from the run again"
        )
    return bundle


def _weights(
    values: Mapping[str, str], graph: onnx.ModelProto, source: str
) -> dict[str, torch.Tensor]:
    weights = {
        "mean": torch.tensor(json.loads(values["feature_mean"]), dtype=torch.float32),
        "scale": torch.tensor(json.loads(values["feature_scale"]), dtype=torch.float32),
    }
    for name, array in read_weights(graph, values, source).items():
        weights[name] = torch.from_numpy(np.array(array, dtype=np.float32))
    return weights


def restore_partial(
    context: dict[str, Any], weights: dict[str, torch.Tensor], spec: RobotSpec
) -> Bundle:
    """`restore` with the buffers that follow from robot and layout filled in."""
    from na_training.model import Layout, model_config
    from na_training.training.scaling import effort_scale

    scale = torch.as_tensor(effort_scale(spec), dtype=torch.float32)
    from na_core.features import feature_set_from_rule

    features = feature_set_from_rule(context["rule"], spec)
    model = Actuator(
        model_config(context["model"]),
        Layout.of(features, spec.names),
        weights["mean"],
        weights["scale"],
        scale,
    )
    full = {**model.state_dict(), **weights}
    return restore(context, full, spec)
