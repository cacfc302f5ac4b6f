# SPDX-License-Identifier: Apache-2.0
"""Names and sizes of the networks of the ablation."""

from __future__ import annotations

from dataclasses import dataclass, replace

WINDOW = 9
"""Ticks that an output depends on."""


@dataclass(frozen=True)
class ModelConfig:
    """Sizes of one network.

    Attributes:
        name: as in `MODELS`.
        encoder: "query", "full", "mlp", "gru" or "lstm".
        features: name of the feature set.
        width: size of the latent.
        layers: attention layers, recurrent layers or hidden layers.
        heads: attention heads (attention encoders only).
        feedforward: hidden size of the feed-forward parts (attention encoders only).
        head_latent: hidden size of each output head.
        side: width of the branch that reads all features of the current tick, memory included
            (feature sets with memory only).
    """

    name: str
    encoder: str
    features: str
    width: int
    layers: int
    heads: int = 4
    feedforward: int = 768
    head_latent: int = 96
    side: int = 384


_QUERY = ModelConfig("query", "query", "basic35", 192, 3)

MODELS: dict[str, ModelConfig] = {
    "query": _QUERY,
    "full": replace(_QUERY, name="full", encoder="full"),
    "mlp": ModelConfig("mlp", "mlp", "basic35", 416, 3, head_latent=208),
    "gru": ModelConfig("gru", "gru", "basic35", 325, 2, head_latent=162),
    "lstm": ModelConfig("lstm", "lstm", "basic35", 275, 2, head_latent=137),
    "query_physics": replace(_QUERY, name="query_physics", features="physics", feedforward=384),
    "query_hysteresis": replace(
        _QUERY, name="query_hysteresis", features="hysteresis", feedforward=384
    ),
}
"""The networks of the ablation, all of about the same number of parameters."""


def model_config(name: str) -> ModelConfig:
    """Return the sizes of a network; raises ValueError listing the names when there is none."""
    if name not in MODELS:
        raise ValueError(f"model {name!r}, expected one of {', '.join(MODELS)}")
    return MODELS[name]
