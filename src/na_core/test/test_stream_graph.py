# SPDX-License-Identifier: Apache-2.0
"""The folded streaming graph is the query network: compared with a plain numpy version of it."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip("onnx", reason="needs onnx: requirements/base.txt")
onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")

from na_core.eight_bit import eight_bit  # noqa: E402
from na_core.stream_graph import QueryNetwork, StreamGraphError, stream_graph  # noqa: E402

D, LAYERS, HEADS, FEED, LATENT, BASIC, WINDOW, N = 24, 2, 4, 40, 16, 7, 5, 2
JOINTS = ("a", "b")
EXTRAS = (
    "noise",
    *(f"force_map.{axis}.{joint}" for axis in "xyz" for joint in JOINTS),
    *(f"force_slow.{axis}" for axis in "xyz"),
)


def network(extras: bool, seed: int = 0) -> QueryNetwork:
    """Random weights everywhere, so that no term is missing unnoticed."""
    rng = np.random.default_rng(seed)
    features = tuple(f"x{index}" for index in range(BASIC)) + (EXTRAS if extras else ())
    weights: dict[str, np.ndarray] = {}

    def linear(name: str, inputs: int, outputs: int, bias: bool = True) -> None:
        weights[f"{name}.weight"] = rng.normal(size=(outputs, inputs)) / math.sqrt(inputs)
        if bias:
            weights[f"{name}.bias"] = 0.3 * rng.normal(size=outputs)

    def norm(name: str) -> None:
        weights[f"{name}.weight"] = rng.uniform(0.5, 1.5, D)
        weights[f"{name}.bias"] = 0.3 * rng.normal(size=D)

    linear("encoder.embed", BASIC, D)
    norm("encoder.embed_norm")
    linear("encoder.key_value", D, 2 * LAYERS * D)
    weights["encoder.position"] = 0.5 * rng.normal(size=(WINDOW, 2 * LAYERS * D))
    for layer in range(LAYERS):
        block = f"encoder.blocks.{layer}"
        norm(f"{block}.query_norm")
        linear(f"{block}.query", D, D)
        linear(f"{block}.out", D, D)
        norm(f"{block}.feed_norm")
        linear(f"{block}.feed.0", D, FEED)
        linear(f"{block}.feed.2", FEED, D)
    norm("encoder.out_norm")
    shared = D + (LATENT if extras else 0)
    if extras:
        linear("heads.side.0", BASIC + len(EXTRAS), 12)
        linear("heads.side.2", 12, LATENT)
        linear("heads.linear", BASIC + len(EXTRAS), N, bias=False)
    sizes = {"force": 3 + (N if extras else 0), "gate": 1, "condition": N, "log_variance": 3}
    for part, outputs in {"effort": N, **sizes}.items():
        linear(f"heads.{part}.0", D if part == "effort" else shared, LATENT)
        linear(f"heads.{part}.2", LATENT, outputs)
    weights["mean"] = rng.normal(size=len(features))
    weights["scale"] = rng.uniform(0.5, 2.0, len(features))
    weights["effort_scale"] = np.array([4.0, 300.0])
    return QueryNetwork(weights, HEADS, 8.0, features, BASIC, JOINTS)


def gelu(x: np.ndarray) -> np.ndarray:
    return 0.5 * x * (1.0 + np.vectorize(math.erf)(x / math.sqrt(2.0)))


def straight(net: QueryNetwork, window: np.ndarray) -> dict[str, np.ndarray]:
    """The network as it is defined: keys and values formed, nothing folded."""
    w = net.weights

    def linear(x: np.ndarray, name: str) -> np.ndarray:
        return x @ w[f"{name}.weight"].T + w.get(f"{name}.bias", 0.0)

    def norm(x: np.ndarray, name: str) -> np.ndarray:
        off = x - x.mean(-1, keepdims=True)
        unit = off / np.sqrt((off**2).mean(-1, keepdims=True) + 1e-5)
        return unit * w[f"{name}.weight"] + w[f"{name}.bias"]

    scaled = np.clip((window - w["mean"]) / w["scale"], -8.0, 8.0)
    embedded = norm(linear(scaled[:, :BASIC], "encoder.embed"), "encoder.embed_norm")
    both = linear(embedded, "encoder.key_value") + w["encoder.position"]
    both = both.reshape(WINDOW, 2 * LAYERS, HEADS, D // HEADS)
    state = embedded[-1]
    for layer in range(LAYERS):
        block = f"encoder.blocks.{layer}"
        query = linear(norm(state, f"{block}.query_norm"), f"{block}.query")
        scores = np.einsum("hi,thi->ht", query.reshape(HEADS, -1), both[:, 2 * layer])
        scores = np.exp(scores / math.sqrt(D // HEADS))
        shares = scores / scores.sum(1, keepdims=True)
        mixed = np.einsum("ht,thi->hi", shares, both[:, 2 * layer + 1]).ravel()
        state = state + linear(mixed, f"{block}.out")
        inner = gelu(linear(norm(state, f"{block}.feed_norm"), f"{block}.feed.0"))
        state = state + linear(inner, f"{block}.feed.2")
    latent = norm(state, "encoder.out_norm")

    def head(x: np.ndarray, part: str) -> np.ndarray:
        return linear(gelu(linear(x, f"heads.{part}.0")), f"heads.{part}.2")

    shared = latent
    if len(net.features) > BASIC:
        side = scaled[-1]
        for layer in (0, 2):
            side = gelu(linear(side, f"heads.side.{layer}"))
        shared = np.concatenate([latent, side])
    force, gate = head(shared, "force"), head(shared, "gate")
    if len(net.features) > BASIC:
        raw = window[-1, BASIC:]
        torque = force[3:] + linear(scaled[-1], "heads.linear")
        physics = np.clip(raw[1 + 3 * N :], -50.0, 50.0)
        force = force[:3] + raw[1 : 1 + 3 * N].reshape(3, N) @ torque
        force = force + physics / (1.0 + np.exp(-gate))
    return {
        "effort": head(latent, "effort") * w["effort_scale"],
        "force": force,
        "gate": gate,
        "condition": head(shared, "condition"),
        "log_variance": np.clip(head(shared, "log_variance"), -9.0, 6.0),
    }


def streamed(model, windows: np.ndarray) -> dict[str, np.ndarray]:  # type: ignore[no-untyped-def]
    """Outputs (batch, …) after feeding windows (batch, T, F) tick by tick."""
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    (shape,) = (item.shape for item in session.get_inputs() if item.name == "tokens")
    state = np.zeros((len(windows), *shape[1:]), dtype=np.float32)
    names = [item.name for item in session.get_outputs()]
    found: dict[str, np.ndarray] = {}
    for tick in windows.transpose(1, 0, 2):
        feeds = {"features": tick.astype(np.float32), "tokens": state}
        found = dict(zip(names, session.run(names, feeds), strict=True))
        state = found["next_tokens"]
    return found


def windows_of(net: QueryNetwork, ticks: int, rows: int = 3) -> np.ndarray:
    rng = np.random.default_rng(5)
    return net.weights["mean"] + net.weights["scale"] * rng.normal(
        0.0, 3.0, (rows, ticks, len(net.features))
    )


@pytest.mark.parametrize("extras", [False, True], ids=["basic", "memory"])
@pytest.mark.parametrize("ticks", [WINDOW, 3 * WINDOW])
def test_it_computes_the_network(extras: bool, ticks: int) -> None:
    net = network(extras)
    windows = windows_of(net, ticks)
    found = streamed(stream_graph(net), windows)
    for row, window in enumerate(windows):
        for name, expected in straight(net, window[-WINDOW:]).items():
            unit = net.weights["effort_scale"] if name == "effort" else 1.0
            np.testing.assert_allclose(
                found[name][row] / unit, expected / unit, rtol=1e-5, atol=1e-5, err_msg=name
            )


def test_a_tick_outside_the_window_has_no_effect() -> None:
    net = network(False)
    model, windows = stream_graph(net), windows_of(net, WINDOW + 1)
    other = windows.copy()
    other[:, 0] += 5.0
    before, after = streamed(model, windows), streamed(model, other)
    assert np.array_equal(before["force"], after["force"])
    other[:, 1] += 5.0
    assert not np.allclose(before["force"], streamed(model, other)["force"], atol=1e-4)


def test_eight_bits_keep_what_is_added_to_a_product() -> None:
    import na_core.eight_bit as module

    net = network(False)
    windows, smallest = windows_of(net, WINDOW), module.SMALLEST
    module.SMALLEST = 1
    try:
        small = eight_bit(stream_graph(net))
    finally:
        module.SMALLEST = smallest
    assert "Add" in {node.op_type for node in small.graph.node if node.name.endswith(".sum")}
    found, expected = streamed(small, windows), streamed(stream_graph(net), windows)
    assert np.abs(found["force"] - expected["force"]).max() < 0.1


def test_a_missing_weight_is_named() -> None:
    net = network(False)
    del net.weights["heads.gate.2.bias"]  # type: ignore[attr-defined]
    with pytest.raises(StreamGraphError, match=r"weight 'heads\.gate\.2\.bias' is missing"):
        stream_graph(net)


def test_a_weight_without_a_place_is_refused_rather_than_dropped() -> None:
    net = network(False)
    net.weights["heads.extra.0.weight"] = np.zeros((2, 2))  # type: ignore[index]
    with pytest.raises(StreamGraphError, match=r"\['heads\.extra\.0\.weight'\] have no place"):
        stream_graph(net)


def test_memory_features_without_a_force_map_are_refused() -> None:
    net = network(True)
    names = tuple(name.replace("force_slow.z", "something") for name in net.features)
    other = QueryNetwork(net.weights, HEADS, 8.0, names, BASIC, JOINTS)
    with pytest.raises(StreamGraphError, match="lack a column of the force map"):
        stream_graph(other)


def test_a_side_branch_of_memory_features_alone_is_refused() -> None:
    """As exported before the branch read all features."""
    net = network(True)
    narrow = {**net.weights, "heads.side.0.weight": net.weights["heads.side.0.weight"][:, BASIC:]}
    with pytest.raises(StreamGraphError, match="expected all"):
        stream_graph(QueryNetwork(narrow, HEADS, 8.0, net.features, BASIC, JOINTS))
