# SPDX-License-Identifier: Apache-2.0
"""The streaming graph: tokens of old ticks come in and go out, so that a tick costs one token."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from torch import Tensor, nn

from na_core.eight_bit import eight_bit
from na_core.onnx_metadata import INPUT, OUTPUTS, STATE_INPUT, STATE_OUTPUT, STREAM_SUFFIX
from na_core.stream_graph import QueryNetwork
from na_core.stream_graph import stream_graph as folded_graph
from na_training.export.onnx_file import TOLERANCE, ParityError, difference, random_windows, trace
from na_training.model import Actuator
from na_training.model.actuator import CLAMP
from na_training.model.query import QueryEncoder
from na_training.training.bundle import Bundle
from na_training.training.checkpoint import write_atomically


class Stream(nn.Module):  # type: ignore[misc]
    """One tick of a model, with the tokens of the ticks before as explicit state.

    Args:
        model: the network.
    """

    def __init__(self, model: Actuator) -> None:
        super().__init__()
        self.model = model

    def forward(self, features: Tensor, tokens: Tensor) -> tuple[Tensor, ...]:
        """Outputs of the newest tick, and the tokens to give at the next one.

        Args:
            features: of the newest tick, in their own units (batch, F).
            tokens: of the window − 1 ticks before, oldest first (batch, window − 1, S).
        """
        model, cut = self.model, self.model.layout.basic
        window = torch.cat([tokens, model.token(features[:, :cut])[:, None]], dim=1)
        latent = model.encoder.latent(window)
        return (model.effort(latent), *model.estimates(latent, features), window[:, 1:])


def stream_path(path: Path) -> Path:
    """Where the streaming graph of the model file `path` lies."""
    return path.with_name(path.name.removesuffix(".onnx") + STREAM_SUFFIX)


def export_stream(bundle: Bundle, path: Path, *, small: bool = False) -> float:
    """Write NAME.stream.onnx beside the model file `path`.

    Args:
        bundle: the model.
        path: the model file.
        small: write the large weights as 8-bit numbers, after the check with full ones. Faster
            where memory is the limit; changes the force a little (measure it).

    Returns:
        The largest difference to the stateless model, relative to 1 + |value|, before `small`.

    Raises:
        ParityError: streaming gives something else than the window does.
    """
    model = bundle.model.eval()
    graph = stream_graph(model)
    onnx.checker.check_model(graph)
    data = graph.SerializeToString()
    worst = stream_difference(model, data)
    target = stream_path(path)
    if not worst <= TOLERANCE:
        raise ParityError(
            f"{target}: streaming and window differ by {worst:.2e}, expected at most "
            f"{TOLERANCE:.0e}"
        )
    write_atomically(target, eight_bit(graph).SerializeToString() if small else data)
    return worst


def stream_graph(model: Actuator) -> onnx.ModelProto:
    """The streaming graph: folded and put together by hand for `query`, else traced."""
    if isinstance(model.encoder, QueryEncoder):
        return folded_graph(query_network(model))
    size, window = len(model.layout.names), model.encoder.window
    example = (torch.zeros(2, size), torch.zeros(2, window - 1, model.encoder.token_size))
    return trace(Stream(model), example, [INPUT, STATE_INPUT], [*OUTPUTS, STATE_OUTPUT])


def query_network(model: Actuator) -> QueryNetwork:
    """The weights of a `query` model, for its streaming graph."""
    weights = {name: _array(value) for name, value in model.named_parameters()}
    for name in ("mean", "scale", "effort_scale"):
        weights[name] = _array(getattr(model, name))
    layout, config = model.layout, model.config
    return QueryNetwork(
        weights, config.heads, CLAMP, layout.names, layout.basic, layout.joints, config.name
    )


def _array(tensor: Tensor) -> np.ndarray:  # type: ignore[type-arg]
    return np.asarray(tensor.detach().cpu().numpy(), dtype=np.float64)


def stream_difference(model: Actuator, data: bytes) -> float:
    """Largest difference of a streaming graph to the model on random windows."""
    outputs = [*OUTPUTS, STATE_OUTPUT]
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    (tokens,) = (item.shape for item in session.get_inputs() if item.name == STATE_INPUT)
    windows = random_windows(model, rows=4)
    state = np.zeros((4, *tokens[1:]), dtype=np.float32)
    results: list[np.ndarray] = []  # type: ignore[type-arg]
    for tick in range(model.encoder.window):
        results = session.run(outputs, {INPUT: windows[:, tick], STATE_INPUT: state})
        state = results[-1]
    with torch.no_grad():
        expected = model(torch.from_numpy(windows))
    return difference(model, expected, results)
