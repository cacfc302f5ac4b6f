# SPDX-License-Identifier: Apache-2.0
"""8-bit weights: each is within half a step of its own block, and the graph says what it is."""

from __future__ import annotations

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="needs onnx: requirements/train.txt")
onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")

from na_core.eight_bit import BLOCK, WEIGHTS_KEY, eight_bit, quantise  # noqa: E402


def product(weights: np.ndarray, bias: np.ndarray) -> onnx.ModelProto:
    """One Gemm."""
    from onnx import TensorProto, helper, numpy_helper

    inner, outer = weights.shape
    graph = helper.make_graph(
        [helper.make_node("Gemm", ["x", "w", "b"], ["y"])],
        "one product",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", inner])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", outer])],
        [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(bias, "b")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def test_a_weight_is_off_by_at_most_half_a_step() -> None:
    weights = np.random.default_rng(0).normal(size=(100, 7)).astype(np.float32)
    packed, scales = quantise(weights)
    assert packed.shape == (7, 2, BLOCK)
    restored = ((packed.astype(float) - 128.0) * scales[..., None]).reshape(7, -1)[:, :100].T
    steps = np.repeat(scales, BLOCK, axis=1)[:, :100].T
    assert (np.abs(restored - weights) <= 0.5 * steps + 1e-7).all()


def test_zero_weights_stay_zero() -> None:
    packed, scales = quantise(np.zeros((64, 3), dtype=np.float32))
    assert (packed == 128).all() and (scales == 1.0).all()


def test_a_large_product_hardly_changes_and_is_marked() -> None:
    rng = np.random.default_rng(1)
    weights = rng.normal(size=(192, 192)).astype(np.float32)
    bias = rng.normal(size=192).astype(np.float32)
    small = eight_bit(product(weights, bias))
    session = onnxruntime.InferenceSession(small.SerializeToString())
    x = rng.normal(size=(1, 192)).astype(np.float32)
    expected = x @ weights + bias
    (found,) = session.run(None, {"x": x})
    assert np.abs(found - expected).max() < 0.02 * np.abs(expected).max()
    assert session.get_modelmeta().custom_metadata_map[WEIGHTS_KEY] == "int8"
    assert len(small.SerializeToString()) < 0.4 * weights.nbytes


def test_a_small_product_is_left_alone() -> None:
    model = product(np.eye(35, dtype=np.float32), np.zeros(35, dtype=np.float32))
    assert [node.op_type for node in eight_bit(model).graph.node] == ["Gemm"]
