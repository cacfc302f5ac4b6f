# SPDX-License-Identifier: Apache-2.0
"""The streaming graph of a `query` model, put together by hand with as few nodes as possible.

A traced graph has about 150 nodes for one tick, and for one tick each node costs more than what it
computes. Here keys, values and positions of all layers are one matrix, the heads of attention are
summed by a constant matrix, and all output heads are two products.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn

from na_core.onnx_metadata import INPUT, OUTPUTS, STATE_INPUT, STATE_OUTPUT
from na_training.model import Actuator
from na_training.model.actuator import CLAMP
from na_training.model.query import QueryEncoder

OPSET = 20  # the first with Gelu
LOG_VARIANCE = (-9.0, 6.0)
MOST_PHYSICS = 50.0  # N, bound of the physics estimate, as in the heads
Array = NDArray[np.float64]


def compact_stream(model: Actuator) -> onnx.ModelProto:
    """Return the streaming graph; its tokens are keys and values only.

    Raises:
        TypeError: the model's encoder is not `query`.
    """
    if not isinstance(model.encoder, QueryEncoder):
        raise TypeError(f"encoder of {model.config.name} is {type(model.encoder)}, expected query")
    return _Builder(model).build()


def _array(tensor: Tensor) -> Array:
    return np.asarray(tensor.detach().cpu().numpy(), dtype=np.float64)


class _Builder:
    """Collects nodes and constants."""

    def __init__(self, model: Actuator) -> None:
        self.model = model
        self.encoder: Any = model.encoder
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    # ------------------------------------------------------------- pieces

    def constant(self, name: str, value: Any, dtype: Any = np.float32) -> str:
        self.constants.append(numpy_helper.from_array(np.asarray(value, dtype=dtype), name))
        return name

    def node(self, kind: str, inputs: list[str], name: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name

    def linear(self, x: str, layer: Any, name: str, factor: float = 1.0) -> str:
        weight = self.constant(f"{name}.w", factor * _array(layer.weight).T)
        bias = self.constant(f"{name}.b", factor * _array(layer.bias))
        return self.node("Gemm", [x, weight, bias], name)

    def norm(self, x: str, layer: Any, name: str) -> str:
        scale = self.constant(f"{name}.g", _array(layer.weight))
        bias = self.constant(f"{name}.b", _array(layer.bias))
        return self.node(
            "LayerNormalization", [x, scale, bias], name, axis=-1, epsilon=float(layer.eps)
        )

    def scaled(self, x: str, start: int, stop: int, name: str) -> str:
        """(x − mean) / scale, clamped."""
        scale = _array(self.model.scale)[start:stop]
        factor = self.constant(f"{name}.factor", 1.0 / scale)
        shift = self.constant(f"{name}.shift", -_array(self.model.mean)[start:stop] / scale)
        moved = self.node(
            "Add", [self.node("Mul", [x, factor], f"{name}.mul"), shift], f"{name}.add"
        )
        low, high = self.constant(f"{name}.low", -CLAMP), self.constant(f"{name}.high", CLAMP)
        return self.node("Clip", [moved, low, high], name)

    # -------------------------------------------------------------- whole

    def build(self) -> onnx.ModelProto:
        model, encoder = self.model, self.encoder
        layout, d, window = model.layout, encoder.width, encoder.window
        cut, size = layout.basic, len(layout.names)
        basic, extras = INPUT, ""
        if layout.extras:
            self.constant("cuts", [cut, size - cut], np.int64)
            self.nodes.append(
                helper.make_node("Split", [INPUT, "cuts"], ["basic", "extras"], axis=1)
            )
            basic, extras = "basic", "extras"
        state = self._attend(self._token(basic), d, window)
        latent = self.norm(state, encoder.out_norm, "latent")
        self._heads(latent, extras)
        return self._model(size, window, 2 * model.config.layers * d)

    def _token(self, basic: str) -> str:
        encoder = self.encoder
        embedded = self.linear(
            self.scaled(basic, 0, self.model.layout.basic, "scaled"), encoder.embed, "embed"
        )
        return self.norm(embedded, encoder.embed_norm, "embedded")

    def _attend(self, embedded: str, d: int, window: int) -> str:
        encoder, layers = self.encoder, self.model.config.layers
        both = self.linear(embedded, encoder.key_value, "key_value")
        self.constant("one", [1], np.int64)
        row = self.node("Unsqueeze", [both, "one"], "row")
        rows = self.node("Concat", [STATE_INPUT, row], "rows", axis=1)
        self.constant("end", [window], np.int64)
        self.node("Slice", [rows, "one", "end", "one"], STATE_OUTPUT)
        position = self.constant("position", _array(encoder.position))
        placed = self.node("Add", [rows, position], "placed")
        names = [f"{kind}{layer}" for layer in range(layers) for kind in ("key", "value")]
        self.nodes.append(
            helper.make_node("Split", [placed], names, axis=2, num_outputs=2 * layers)
        )
        heads = self.model.config.heads
        pick = np.kron(np.eye(heads), np.ones((d // heads, 1)))  # (d, heads)
        self.constant("gather", pick)
        self.constant("spread", pick.T)
        state = embedded
        for layer, block in enumerate(encoder.blocks):
            state = self._block(state, block, layer)
        return state

    def _block(self, state: str, block: Any, layer: int) -> str:
        def at(name: str) -> str:
            return f"{name}{layer}"

        query = self.linear(
            self.norm(state, block.query_norm, at("query_norm")),
            block.query,
            at("query"),
            block.scale,
        )
        query = self.node("Unsqueeze", [query, "one"], at("query_row"))
        near = self.node("Mul", [at("key"), query], at("near"))
        scores = self.node("MatMul", [near, "gather"], at("scores"))
        weights = self.node("Softmax", [scores], at("weights"), axis=1)
        wide = self.node("MatMul", [weights, "spread"], at("wide"))
        mixed = self.node("Mul", [at("value"), wide], at("mixed_rows"))
        mixed = self.node("ReduceSum", [mixed, "one"], at("mixed"), keepdims=0)
        state = self.node("Add", [state, self.linear(mixed, block.out, at("out"))], at("seen"))
        inner = self.linear(
            self.norm(state, block.feed_norm, at("feed_norm")), block.feed[0], at("inner")
        )
        outer = self.linear(self.node("Gelu", [inner], at("bent")), block.feed[2], at("outer"))
        return self.node("Add", [state, outer], at("state"))

    def _heads(self, latent: str, extras: str) -> None:
        """All heads as two products: their first layers side by side, their second ones apart."""
        model = self.model
        heads: Any = model.heads
        n = len(model.layout.joints)
        shared, effort_inputs = latent, _array(heads.effort[0].weight).shape[1]
        if extras:
            side = self.scaled(extras, model.layout.basic, len(model.layout.names), "scaled_extras")
            for index, layer in enumerate(heads.side):
                if isinstance(layer, nn.Linear):
                    side = self.linear(side, layer, f"side{index}")
                elif isinstance(layer, nn.GELU):
                    side = self.node("Gelu", [side], f"side{index}")
                else:
                    raise TypeError(f"layer {layer} of the side branch: expected Linear or GELU")
            shared = self.node("Concat", [latent, side], "shared", axis=1)
        parts = [heads.effort, heads.force, heads.gate, heads.condition, heads.log_variance]
        inputs = _array(heads.force[0].weight).shape[1]
        first = [_array(part[0].weight) for part in parts]
        first[0] = np.pad(first[0], ((0, 0), (0, inputs - effort_inputs)))
        weight = self.constant("heads.w1", np.concatenate(first).T)
        bias = self.constant("heads.b1", np.concatenate([_array(part[0].bias) for part in parts]))
        bent = self.node(
            "Gelu", [self.node("Gemm", [shared, weight, bias], "heads1")], "heads_bent"
        )
        second = [_array(part[2].weight) for part in parts]
        seconds_bias = [_array(part[2].bias) for part in parts]
        scale = _array(model.effort_scale)
        second[0], seconds_bias[0] = scale[:, None] * second[0], scale * seconds_bias[0]
        weight = self.constant("heads.w2", _block_diagonal(second).T)
        bias = self.constant("heads.b2", np.concatenate(seconds_bias))
        out = self.node("Gemm", [bent, weight, bias], "heads2")
        force, tail = ["force"], ["log_variance_raw"]
        if extras:
            force = ["force_direct", "effort_outside"]
        sizes = [n, *([3, n] if extras else [3]), 1, n, 3]
        self.constant("head_sizes", sizes, np.int64)
        names = ["effort", *force, "gate", "condition", *tail]
        self.nodes.append(helper.make_node("Split", [out, "head_sizes"], names, axis=1))
        low = self.constant("variance_low", LOG_VARIANCE[0])
        high = self.constant("variance_high", LOG_VARIANCE[1])
        self.node("Clip", ["log_variance_raw", low, high], "log_variance")
        if extras:
            self._fuse(extras, n)

    def _fuse(self, extras: str, n: int) -> None:
        """force = direct + P τ + gate · physics."""
        heads: Any = self.model.heads
        self.constant("map_index", heads.map_index.numpy(), np.int64)
        self.constant("force_index", heads.force_index.numpy(), np.int64)
        self.constant("map_shape", [-1, 3, n], np.int64)
        self.constant("last", [2], np.int64)
        inverse = self.node("Gather", [extras, "map_index"], "map_flat", axis=1)
        inverse = self.node("Reshape", [inverse, "map_shape"], "map")
        line = self.constant("line.w", _array(heads.linear.weight).T)
        straight = self.node("MatMul", ["scaled_extras", line], "line")
        effort = self.node("Add", ["effort_outside", straight], "effort_sum")
        effort = self.node("Unsqueeze", [effort, "one"], "effort_row")
        carried = self.node("Mul", [inverse, effort], "carried_parts")
        carried = self.node("ReduceSum", [carried, "last"], "carried", keepdims=0)
        physics = self.node("Gather", [extras, "force_index"], "physics_raw", axis=1)
        low = self.constant("physics_low", -MOST_PHYSICS)
        high = self.constant("physics_high", MOST_PHYSICS)
        physics = self.node("Clip", [physics, low, high], "physics")
        gate = self.node("Sigmoid", ["gate"], "gate_share")
        gated = self.node("Mul", [physics, gate], "gated")
        direct = self.node("Add", ["force_direct", carried], "force_two")
        self.node("Add", [direct, gated], "force")

    def _model(self, size: int, window: int, token: int) -> onnx.ModelProto:
        n = len(self.model.layout.joints)
        shapes = {"effort": n, "force": 3, "gate": 1, "condition": n, "log_variance": 3}

        def value(name: str, shape: list[Any]) -> Any:
            return helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", *shape])

        graph = helper.make_graph(
            self.nodes,
            f"{self.model.config.name} streaming",
            [value(INPUT, [size]), value(STATE_INPUT, [window - 1, token])],
            [
                *(value(name, [shapes[name]]) for name in OUTPUTS),
                value(STATE_OUTPUT, [window - 1, token]),
            ],
            self.constants,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
        model.ir_version = 9
        return model


def _block_diagonal(parts: list[Array]) -> Array:
    rows, columns = sum(len(p) for p in parts), sum(p.shape[1] for p in parts)
    out = np.zeros((rows, columns))
    row = column = 0
    for part in parts:
        out[row : row + len(part), column : column + part.shape[1]] = part
        row, column = row + len(part), column + part.shape[1]
    return out
