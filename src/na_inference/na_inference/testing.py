# SPDX-License-Identifier: Apache-2.0
"""Tiny models whose answers can be worked out in one's head; needs onnx, as tests do.

effort_j     sum over the window of (goal − position) of joint j
force        10 N/A × currents of the first three joints, newest tick
gate         logit 100 × (current of joint 1 − 0.05 A), newest tick
condition    logit 0: 0.5
log_variance log(0.04): 0.2 N per component
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from na_core.calibration import Calibration, JointCalibration, write_calibration
from na_core.features import make_feature_set
from na_core.features.basic import CHANNELS
from na_core.onnx_metadata import (
    FORCE_SIGN,
    INPUT,
    OUTPUTS,
    SCHEMA_VERSION,
    STATE_INPUT,
    STATE_OUTPUT,
    STREAM_SUFFIX,
)

if TYPE_CHECKING:
    from na_core.robot_spec import RobotSpec

WINDOW = 9
FORCE_PER_AMPERE = 10.0
GATE_SLOPE, GATE_CURRENT = 100.0, 0.05
VARIANCE = 0.04


def tiny_metadata(spec: RobotSpec, dt: float = 1 / 60, **changes: Any) -> dict[str, str]:
    """Complete metadata of a tiny model; a change to None removes the key."""
    features = make_feature_set("basic35", spec, dt)
    mean, scale = [], []
    nominal = spec.supply.nominal_voltage if spec.supply is not None else 0.0
    for joint in spec.joints:
        mean += [0.0, 0.0, 0.0, 0.0, 0.0, nominal, 40.0]
        scale += [1.5 * abs(joint.ratio), 2.0 * abs(joint.ratio), 1.5 * abs(joint.ratio)]
        scale += [0.5 * abs(joint.ratio), 0.5, 0.5, 8.0]
    values: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "robot": spec.robot,
        "robot_hash": spec.digest,
        "model": "tiny",
        "joint_order": list(spec.names),
        "feature_set": features.name,
        "feature_order": list(features.names),
        "feature_basic": features.basic,
        "feature_rule": features.rule(),
        "dt": dt,
        "window": WINDOW,
        "feature_mean": mean,
        "feature_scale": scale,
        "feature_clamp": 8.0,
        "effort_limit": np.asarray(spec.effort_limit).tolist(),
        "effort_unit": ["N" if joint.type == "prismatic" else "N m" for joint in spec.joints],
        "gate_on": 0.6,
        "gate_off": 0.4,
        "gate_dwell": 3,
        "supervised_joints": [spec.names[2]],
        "end_effector_frame": spec.end_effector_frame,
        "base_frame": spec.base_frame,
        "force_sign": FORCE_SIGN,
        "training_data_hash": "made up",
        "calibration_hash": "none",
        "licence": "Apache-2.0",
        **changes,
    }
    return {
        key: value if isinstance(value, str) else json.dumps(value)
        for key, value in values.items()
        if value is not None
    }


def write_plain_calibration(path: Path, spec: RobotSpec, arm: str = "follower") -> Calibration:
    """Write a calibration that agrees with the robot file: mid-range zeros, nearly full ranges."""
    joints = {}
    for joint in spec.joints:
        if joint.servo is None:
            raise ValueError(f"joint {joint.name} of {spec.robot} has no servo to calibrate")
        joints[joint.name] = JointCalibration(
            joint.servo.id, joint.servo.model, joint.servo.sign, 2048, 0, 10, 4085, joint.ratio
        )
    return write_calibration(path, Calibration(spec.robot, arm, joints, source="made up"))


def write_tiny_model(
    path: Path,
    spec: RobotSpec,
    *,
    stream: bool = False,
    double: bool = False,
    metadata: Mapping[str, str] | None = None,
    force_per_ampere: float = FORCE_PER_AMPERE,
    outputs: tuple[str, ...] = OUTPUTS,
) -> Path:
    """Write NAME.onnx and, with `stream`, NAME.stream.onnx beside it.

    Args:
        path: NAME.onnx.
        spec: the robot.
        stream: write the streaming graph too.
        double: compute in float64, which is not accepted.
        metadata: instead of `tiny_metadata(spec)`.
        force_per_ampere: [N/A].
        outputs: names of the outputs that the graph has.
    """
    values = dict(tiny_metadata(spec) if metadata is None else metadata)
    _write(path, spec, values, False, double, force_per_ampere, outputs)
    if stream:
        beside = path.with_name(path.name.removesuffix(".onnx") + STREAM_SUFFIX)
        _write(beside, spec, values, True, double, force_per_ampere, outputs)
    return path


def _write(
    path: Path,
    spec: RobotSpec,
    values: Mapping[str, str],
    stream: bool,
    double: bool,
    force_per_ampere: float,
    outputs: tuple[str, ...],
) -> None:
    from onnx import TensorProto, helper, numpy_helper, save

    n, width = spec.n, spec.n * len(CHANNELS)
    dtype = np.float64 if double else np.float32
    kind = TensorProto.DOUBLE if double else TensorProto.FLOAT
    place = {name: index for index, name in enumerate(CHANNELS)}
    error, force, gate = np.zeros((width, n)), np.zeros((width, 3)), np.zeros((width, 1))
    for joint in range(n):
        error[joint * len(CHANNELS) + place["error"], joint] = 1.0
    for axis in range(3):
        force[axis * len(CHANNELS) + place["current"], axis] = force_per_ampere
    gate[place["current"], 0] = GATE_SLOPE
    constants = {
        "error_map": error,
        "force_map": force,
        "gate_map": gate,
        "gate_bias": np.array([-GATE_SLOPE * GATE_CURRENT]),
        "condition_map": np.zeros((width, n)),
        "variance_map": np.zeros((width, 3)),
        "variance_bias": np.full(3, math.log(VARIANCE)),
    }
    stored = [numpy_helper.from_array(v.astype(dtype), k) for k, v in constants.items()]
    stored.append(numpy_helper.from_array(np.array([1], dtype=np.int64), "axis"))
    stored.append(numpy_helper.from_array(np.array(WINDOW - 1, dtype=np.int64), "newest_place"))
    node = helper.make_node
    shapes: dict[str, list[Any]] = {
        "effort": ["batch", n],
        "force": ["batch", 3],
        "gate": ["batch", 1],
        "condition": ["batch", n],
        "log_variance": ["batch", 3],
    }
    graph_outputs = [helper.make_tensor_value_info(k, kind, shapes[k]) for k in outputs]
    if stream:
        inputs = [
            helper.make_tensor_value_info(INPUT, kind, ["batch", width]),
            helper.make_tensor_value_info(STATE_INPUT, kind, ["batch", WINDOW - 1, n]),
        ]
        graph_outputs.append(
            helper.make_tensor_value_info(STATE_OUTPUT, kind, ["batch", WINDOW - 1, n])
        )
        stored.append(numpy_helper.from_array(np.array([WINDOW], dtype=np.int64), "end"))
        nodes = [
            node("Identity", [INPUT], ["newest"]),
            node("MatMul", [INPUT, "error_map"], ["token"]),
            node("Unsqueeze", ["token", "axis"], ["token_row"]),
            node("Concat", [STATE_INPUT, "token_row"], ["errors"], axis=1),
            node("Slice", ["errors", "axis", "end", "axis"], [STATE_OUTPUT]),
        ]
    else:
        inputs = [helper.make_tensor_value_info(INPUT, kind, ["batch", WINDOW, width])]
        nodes = [
            node("MatMul", [INPUT, "error_map"], ["errors"]),
            node("Gather", [INPUT, "newest_place"], ["newest"], axis=1),
        ]
    nodes += [
        node("ReduceSum", ["errors", "axis"], ["effort"], keepdims=0),
        node("MatMul", ["newest", "force_map"], ["force"]),
        node("MatMul", ["newest", "gate_map"], ["gate_raw"]),
        node("Add", ["gate_raw", "gate_bias"], ["gate"]),
        node("MatMul", ["newest", "condition_map"], ["condition"]),
        node("MatMul", ["newest", "variance_map"], ["variance_raw"]),
        node("Add", ["variance_raw", "variance_bias"], ["log_variance"]),
    ]
    graph = helper.make_graph(nodes, "tiny", inputs, graph_outputs, stored)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    model.ir_version = 9
    for key, value in values.items():
        entry = model.metadata_props.add()
        entry.key, entry.value = key, value
    save(model, str(path))
