# SPDX-License-Identifier: Apache-2.0
"""The streaming graph of a `query` network, folded so that a tick reads as few weights as it can.

One tick of one arm is limited by reading weights, then by the number of nodes. The keys and values
of a `query` network are linear in the scaled features x of their tick, up to the norm of the
embedding: K = M [x, 1] / s + c, with M of only as many columns as there are features. So they are
never formed. M is multiplied into the matrices that meet it, once, when the graph is built:

    scores of head h:  q·K_t + q·p_t  =  (U_h y) · z_t        y: normed state, z_t = [x, 1] / s, e_t
    output:            Σ_h W_h Σ_t w_ht (V_t + p'_t)  =  Σ_h G_h Σ_t w_ht z_t

with e_t the t-th unit vector, by which position terms take part. This is the same function (a test
compares it with the network); the state kept between ticks is z without e: keys and values of all
layers follow from it.

Imports onnx when a graph is built, not before.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from na_core.onnx_metadata import INPUT, OUTPUTS, STATE_INPUT, STATE_OUTPUT

OPSET = 20  # the first with Gelu
RUNTIME_DOMAIN = "com.microsoft"
"""Operators of ONNX runtime itself: FusedMatMul, MatMulNBits."""
LOG_VARIANCE = (-9.0, 6.0)
MOST_PHYSICS = 50.0  # N, bound of the physics estimate, as in the heads
NORM_EPSILON = 1e-5
ELSEWHERE = {"mean", "scale", "effort_scale", "heads.absent"}
"""Weights that have no matrix of their own: scales, and what stands for absent memory features."""
PARTS = ("effort", "force", "gate", "condition", "log_variance")
Array = NDArray[np.float64]


def physics_force(names: Collection[str]) -> str:
    """Stem of the features whose force is added behind the gate: f_physics of the heads."""
    return "force_link" if "force_link.x" in names else "force_slow"


class StreamGraphError(ValueError):
    """The network is not of the kind that this graph can be made of; the text says why."""


@dataclass(frozen=True)
class QueryNetwork:
    """What the graph is made of.

    Attributes:
        weights: by the parameter's name in the network, as torch lays them out (out, in); besides
            `mean` and `scale` (F,) of the features and `effort_scale` (n,) [N·m or N].
        heads: attention heads.
        clamp: scaled features are clamped to ± this.
        features: names of the features (F).
        basic: number of leading features that the encoder reads.
        joints: joint names in canonical order (n).
        name: of the network.
    """

    weights: Mapping[str, Array]
    heads: int
    clamp: float
    features: tuple[str, ...]
    basic: int
    joints: tuple[str, ...]
    name: str = "query"

    def at(self, name: str) -> Array:
        """One weight; raises StreamGraphError when there is none of this name."""
        if name not in self.weights:
            raise StreamGraphError(
                f"network {self.name}: weight {name!r} is missing, expected those of a query "
                "encoder with effort, force, gate, condition and log_variance heads"
            )
        return np.asarray(self.weights[name], dtype=np.float64)

    @property
    def layers(self) -> int:
        """Number of attention layers."""
        return sum(name.endswith(".query.weight") for name in self.weights)


def stream_graph(network: QueryNetwork) -> Any:
    """Return the streaming graph as an onnx.ModelProto; one tick in, one tick out, batch free.

    Raises:
        StreamGraphError: a weight is missing, or there is one that the graph has no place for.
    """
    builder = _Builder(network)
    model = builder.build()
    spare = sorted(set(network.weights) - builder.used - ELSEWHERE)
    if spare:
        raise StreamGraphError(
            f"network {network.name}: weights {spare} have no place in the streaming graph, "
            "expected none; its heads are of another kind"
        )
    return model


class _Builder:
    """Collects nodes and constants; `used` are the weights that were asked for."""

    def __init__(self, network: QueryNetwork) -> None:
        from onnx import helper, numpy_helper

        self.network = network
        self.helper, self.numpy_helper = helper, numpy_helper
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.used: set[str] = set()
        self.window = len(network.at("encoder.position"))
        self.kept = network.basic + 1  # numbers of a tick: scaled features and the constant
        self.row = self.kept + self.window  # the same with the place in the window

    # ------------------------------------------------------------- pieces

    def weight(self, name: str) -> Array:
        self.used.add(name)
        return self.network.at(name)

    def constant(self, name: str, value: Any, dtype: Any = np.float32) -> str:
        self.constants.append(self.numpy_helper.from_array(np.asarray(value, dtype=dtype), name))
        return name

    def node(
        self, kind: str, inputs: list[str], outputs: str | list[str], domain: str = "", **given: Any
    ) -> str:
        names = [outputs] if isinstance(outputs, str) else outputs
        made = self.helper.make_node(kind, inputs, names, name=names[0], domain=domain, **given)
        self.nodes.append(made)
        return names[0]

    def product(self, x: str, matrix: Array, add: Array | str | None, name: str) -> str:
        """x Mᵀ + add; `add` is a bias or the name of a tensor of the result's shape."""
        inputs = [x, self.constant(f"{name}.w", matrix.T)]
        if isinstance(add, str):
            inputs.append(add)
        elif add is not None:
            inputs.append(self.constant(f"{name}.b", add))
        return self.node("Gemm", inputs, name)

    def linear(self, x: str, layer: str, name: str) -> str:
        return self.product(x, self.weight(f"{layer}.weight"), self.weight(f"{layer}.bias"), name)

    def norm(self, x: str, layer: str, outputs: str | list[str]) -> str:
        gain = self.constant(f"{layer}.g", self.weight(f"{layer}.weight"))
        bias = self.constant(f"{layer}.b", self.weight(f"{layer}.bias"))
        return self.node(
            "LayerNormalization", [x, gain, bias], outputs, axis=-1, epsilon=NORM_EPSILON
        )

    def clip(self, x: str, name: str) -> str:
        return self.node("Clip", [x, "clamp.low", "clamp.high"], name)

    # -------------------------------------------------------------- whole

    def build(self) -> Any:
        network = self.network
        cut, size = network.basic, len(network.features)
        self.constant("clamp.low", -network.clamp)
        self.constant("clamp.high", network.clamp)
        self.constant("one", [1], np.int64)
        basic, extras = INPUT, ""
        if size > cut:
            self.constant("cuts", [cut, size - cut], np.int64)
            basic, extras = "basic", "extras"
            self.node("Split", [INPUT, "cuts"], [basic, extras], axis=1)
        state = self._embed(basic)
        fold = self._fold()
        for layer in range(network.layers):
            state = self._block(state, layer, *fold[layer])
        self._heads(self.norm(state, "encoder.out_norm", "latent"), extras)
        return self._model(size)

    def _embed(self, basic: str) -> str:
        """Scaled features with a constant beside them; their embedding; the rows of the window."""
        cut, network = self.network.basic, self.network
        scale, mean = network.at("scale")[:cut], network.at("mean")[:cut]
        matrix, shift = np.zeros((self.row, cut)), np.zeros(self.row)
        matrix[:cut], shift[:cut], shift[cut] = np.diag(1.0 / scale), -mean / scale, 1.0
        scaled = self.clip(self.product(basic, matrix, shift, "scaled_free"), "scaled")
        weight, bias = self.weight("encoder.embed.weight"), self.weight("encoder.embed.bias")
        wide = np.zeros((len(bias), self.row))
        wide[:, :cut], wide[:, cut] = weight, bias
        raw = self.product(scaled, wide, None, "embedded_raw")
        state = self.norm(raw, "encoder.embed_norm", ["embedded", "", "spread"])
        tick = self.node("Unsqueeze", [self.node("Mul", [scaled, "spread"], "tick"), "one"], "row")
        rows = self.node("Concat", [STATE_INPUT, tick], "rows", axis=1)
        self.constant("end", [self.window], np.int64)
        self.node("Slice", [rows, "one", "end", "one"], STATE_OUTPUT)
        places = np.zeros((self.window, self.row))
        places[:, self.kept :] = np.eye(self.window)
        self.node("Add", [rows, self.constant("places", places)], "window")
        self.constant("by_head", [-1, network.heads, self.row], np.int64)
        self.constant("flat", [-1, network.heads * self.row], np.int64)
        return state

    def _fold(self) -> list[tuple[Array, Array]]:
        """Per layer the matrices from a row of the window to keys and to values (d, row)."""
        gain, shift = (
            self.weight("encoder.embed_norm.weight"),
            self.network.at("encoder.embed_norm.bias"),
        )
        weight, bias = (self.weight(f"encoder.key_value.{kind}") for kind in ("weight", "bias"))
        position = self.weight("encoder.position")
        d = len(gain)
        centre = np.eye(d) - 1.0 / d
        embed = np.column_stack(
            [self.network.at("encoder.embed.weight"), self.network.at("encoder.embed.bias")]
        )
        both = np.column_stack(
            [weight @ (gain[:, None] * (centre @ embed)), (position + weight @ shift + bias).T]
        )
        parts = both.reshape(self.network.layers, 2, d, self.row)
        return [(keys, values) for keys, values in parts]

    def _block(self, state: str, layer: int, keys: Array, values: Array) -> str:
        heads, block = self.network.heads, f"encoder.blocks.{layer}"
        d = len(keys)
        deep = d // heads
        weight = self.weight(f"{block}.query.weight").reshape(heads, deep, d) / np.sqrt(deep)
        bias = self.weight(f"{block}.query.bias").reshape(heads, deep) / np.sqrt(deep)
        keys = keys.reshape(heads, deep, self.row)
        values = values.reshape(heads, deep, self.row)
        asked = np.einsum("hir,hid->hrd", keys, weight).reshape(-1, d)
        asked_bias = np.einsum("hir,hi->hr", keys, bias).reshape(-1)
        out = self.weight(f"{block}.out.weight").reshape(d, heads, deep)
        given = np.einsum("dhi,hir->dhr", out, values)
        # Weights of a head add up to one, so a bias may ride on the places of one head.
        given[:, 0, self.kept :] += self.weight(f"{block}.out.bias")[:, None]

        def at(name: str) -> str:
            return f"{name}{layer}"

        normed = self.norm(state, f"{block}.query_norm", at("query_norm"))
        query = self.product(normed, asked, asked_bias, at("query"))
        query = self.node("Reshape", [query, "by_head"], at("query_heads"))
        scores = self.node("FusedMatMul", [query, "window"], at("scores"), RUNTIME_DOMAIN, transB=1)
        shares = self.node("Softmax", [scores], at("shares"), axis=2)
        mixed = self.node("MatMul", [shares, "window"], at("mixed_heads"))
        mixed = self.node("Reshape", [mixed, "flat"], at("mixed"))
        seen = self.product(mixed, given.reshape(d, -1), state, at("seen"))
        normed = self.norm(seen, f"{block}.feed_norm", at("feed_norm"))
        bent = self.node("Gelu", [self.linear(normed, f"{block}.feed.0", at("inner"))], at("bent"))
        outer = self.linear(bent, f"{block}.feed.2", at("outer"))
        return self.node("Add", [seen, outer], at("state"))

    # -------------------------------------------------------------- heads

    def _heads(self, latent: str, extras: str) -> None:
        """All heads as two products: their first layers side by side, their second ones apart."""
        n = len(self.network.joints)
        shared = latent
        if extras:
            shared = self.node("Concat", [latent, self._side(extras)], "shared", axis=1)
        first = [self.weight(f"heads.{part}.0.weight") for part in PARTS]
        width = first[1].shape[1]
        first[0] = np.pad(first[0], ((0, 0), (0, width - first[0].shape[1])))  # the latent alone
        bias = np.concatenate([self.weight(f"heads.{part}.0.bias") for part in PARTS])
        bent = self.product(shared, np.concatenate(first), bias, "heads1")
        bent = self.node("Gelu", [bent], "heads_bent")
        second = [self.weight(f"heads.{part}.2.weight") for part in PARTS]
        biases = [self.weight(f"heads.{part}.2.bias") for part in PARTS]
        scale = self.network.at("effort_scale")
        second[0], biases[0] = scale[:, None] * second[0], scale * biases[0]
        matrix = _block_diagonal(second)
        if extras:
            # The straight line from features to external effort joins the second product.
            line = self._among_all(self.weight("heads.linear.weight"))
            beside = np.zeros((len(matrix), line.shape[1]))
            beside[n + 3 : n + 3 + n] = line
            matrix = np.column_stack([matrix, beside])
            bent = self.node("Concat", [bent, "scaled_all"], "heads_inner", axis=1)
        out = self.product(bent, matrix, np.concatenate(biases), "heads2")
        force = [("force_direct", 3), ("effort_outside", n)] if extras else [("force", 3)]
        tail = [("gate", 1), ("condition", n), ("log_variance_raw", 3)]
        pieces = [("effort", n), *force, *tail]
        if sum(size for _, size in pieces) != len(matrix):
            raise StreamGraphError(
                f"network {self.network.name}: heads give {len(matrix)} numbers, expected "
                f"{dict(pieces)}"
            )
        self.constant("head_sizes", [size for _, size in pieces], np.int64)
        self.node("Split", [out, "head_sizes"], [name for name, _ in pieces], axis=1)
        low, high = (
            self.constant(f"variance.{end}", value)
            for end, value in zip(("low", "high"), LOG_VARIANCE, strict=True)
        )
        self.node("Clip", ["log_variance_raw", low, high], "log_variance")
        if extras:
            self._fuse(extras)

    def _side(self, extras: str) -> str:
        """The branch that reads all features of the tick: linear layers with GELU after each."""
        cut = self.network.basic
        scale, mean = self.network.at("scale")[cut:], self.network.at("mean")[cut:]
        factor = self.constant("extras.factor", 1.0 / scale)
        shift = self.constant("extras.shift", -mean / scale)
        moved = self.node("Mul", [extras, factor], "extras_scaled")
        moved = self.node("Add", [moved, shift], "extras_free")
        clipped = self.clip(moved, "scaled_extras")
        side = self.node("Concat", ["scaled", clipped], "scaled_all", axis=1)
        names = [n for n in self.network.weights if n.startswith("heads.side.")]
        for index in sorted({int(name.split(".")[2]) for name in names}):
            weight, bias = (self.weight(f"heads.side.{index}.{x}") for x in ("weight", "bias"))
            matrix = weight if index else self._among_all(weight)
            product = self.product(side, matrix, bias, f"side{index}")
            side = self.node("Gelu", [product], f"side{index}_bent")
        return side

    def _among_all(self, weight: Array) -> Array:
        """Columns for all features (…, F), put where they lie in `scaled_all`."""
        cut, size = self.network.basic, len(self.network.features)
        if weight.shape[1] != size:
            raise StreamGraphError(
                f"network {self.network.name}: a weight of its side branch reads {weight.shape[1]} "
                f"features, expected all {size}; export the model again"
            )
        gap = np.zeros((len(weight), self.row - cut))
        return np.column_stack([weight[:, :cut], gap, weight[:, cut:]])

    def _fuse(self, extras: str) -> None:
        """force = direct + P τ + gate · physics, the last two as [P, physics] times [τ, gate]."""
        names = self.network.features[self.network.basic :]
        physics = physics_force(names)
        try:
            columns = [
                [
                    *(names.index(f"force_map.{axis}.{joint}") for joint in self.network.joints),
                    names.index(f"{physics}.{axis}"),
                ]
                for axis in "xyz"
            ]
        except ValueError as error:
            raise StreamGraphError(
                f"network {self.network.name}: memory features lack a column of the force map "
                f"({error}), expected force_map.AXIS.JOINT and force_slow.AXIS"
            ) from None
        width = len(columns[0])
        bounds = np.full((3, width), np.finfo(np.float32).max)
        bounds[:, -1] = MOST_PHYSICS
        self.constant("fused.index", np.ravel(columns), np.int64)
        low, high = (
            self.constant("fused.low", -bounds.ravel()),
            self.constant("fused.high", bounds.ravel()),
        )
        known = self.node("Gather", [extras, "fused.index"], "fused_free", axis=1)
        known = self.node("Min", [self.node("Max", [known, low], "fused_low"), high], "fused_flat")
        self.constant("fused.shape", [-1, 3, width], np.int64)
        known = self.node("Reshape", [known, "fused.shape"], "fused_map")
        gate = self.node("Sigmoid", ["gate"], "gate_share")
        shares = self.node("Concat", ["effort_outside", gate], "fused_row", axis=1)
        self.constant("two", [2], np.int64)
        shares = self.node("Unsqueeze", [shares, "two"], "fused_column")
        added = self.node("MatMul", [known, shares], "fused_force")
        added = self.node("Squeeze", [added, "two"], "force_added")
        self.node("Add", ["force_direct", added], "force")

    def _model(self, size: int) -> Any:
        import onnx

        n, helper = len(self.network.joints), self.helper
        shapes = {"effort": n, "force": 3, "gate": 1, "condition": n, "log_variance": 3}
        state = [self.window - 1, self.row]

        def value(name: str, shape: list[Any]) -> Any:
            return helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["batch", *shape])

        graph = helper.make_graph(
            self.nodes,
            f"{self.network.name} streaming",
            [value(INPUT, [size]), value(STATE_INPUT, state)],
            [*(value(name, [shapes[name]]) for name in OUTPUTS), value(STATE_OUTPUT, state)],
            self.constants,
        )
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(RUNTIME_DOMAIN, 1)]
        model = helper.make_model(graph, opset_imports=opsets)
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
