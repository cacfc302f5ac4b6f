# SPDX-License-Identifier: Apache-2.0
"""Reads the weights of an exported model back from its ONNX file, by the network's own names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from na_core.onnx_metadata import ModelMetadata
from na_core.stream_graph import QueryNetwork, StreamGraphError

HEADS_KEY = "attention_heads"
"""Metadata key of networks with attention: their number of heads."""
EFFORT_SCALE = "effort_scale"
"""Initializer with the effort of a head output of one (n,)."""


def read_weights(graph: Any, values: Mapping[str, str], source: str) -> dict[str, NDArray[Any]]:
    """Weights by name, as the network lays them out.

    Args:
        graph: the onnx.ModelProto.
        values: its metadata; parameter_map and unused_weights are read.
        source: file name for error messages.

    Raises:
        ValueError: a weight refers to an initializer that is not there.
    """
    from onnx import numpy_helper

    stored = {item.name: item for item in graph.graph.initializer}
    weights: dict[str, NDArray[Any]] = {}
    for name, (key, transposed) in json.loads(values["parameter_map"]).items():
        if key not in stored:
            raise ValueError(f"{source}: weight {name} refers to initializer {key!r}, not there")
        array = numpy_helper.to_array(stored[key])
        weights[name] = array.T if transposed else array
    for name, numbers in json.loads(values["unused_weights"]).items():
        weights[name] = np.asarray(numbers, dtype=np.float32)
    return weights


def query_network(content: bytes, metadata: ModelMetadata, source: str) -> QueryNetwork:
    """The network of an exported file, ready for its streaming graph.

    Args:
        content: of the file.
        metadata: what it says about itself, checked.
        source: file name for error messages.

    Raises:
        StreamGraphError: another network than `query`, or a file without what this needs.
    """
    try:
        import onnx
        from onnx import numpy_helper
    except ImportError as error:
        raise StreamGraphError(f"{source}: the package onnx is not installed ({error})") from None

    values = metadata.values
    for key in ("parameter_map", "unused_weights", HEADS_KEY):
        if values.get(key, "") == "":
            raise StreamGraphError(
                f"{source}: metadata key '{key}' is missing, expected as in every export of a "
                "query network. Export the model again with ./na export"
            )
    graph = onnx.load_model_from_string(content)
    weights = read_weights(graph, values, source)
    stored = {item.name: item for item in graph.graph.initializer}
    if EFFORT_SCALE not in stored:
        raise StreamGraphError(f"{source}: initializer {EFFORT_SCALE!r} is missing")
    return QueryNetwork(
        {
            **weights,
            "mean": metadata.feature_mean,
            "scale": metadata.feature_scale,
            "effort_scale": numpy_helper.to_array(stored[EFFORT_SCALE]),
        },
        int(values[HEADS_KEY]),
        metadata.feature_clamp,
        metadata.feature_order,
        metadata.feature_basic,
        metadata.joint_order,
        metadata.model,
    )
