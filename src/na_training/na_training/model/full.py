# SPDX-License-Identifier: Apache-2.0
"""Encoder `full`: the plain transformer encoder over the window, recomputed at every tick."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from na_training.model.config import WINDOW, ModelConfig
from na_training.model.encoder import Encoder


class FullEncoder(Encoder):
    """Pre-norm encoder of the same sizes as `query`; the last tick's output is the latent."""

    def __init__(self, config: ModelConfig, inputs: int) -> None:
        super().__init__()
        d = config.width
        self.window, self.width, self.token_size = WINDOW, d, d
        self.embed = nn.Linear(inputs, d)
        self.position = nn.Parameter(torch.randn(WINDOW, d) * 0.02)
        layer = nn.TransformerEncoderLayer(
            d,
            config.heads,
            config.feedforward,
            dropout=0.0,
            activation="gelu",
            batch_first=True,
            norm_first=True,
        )
        self.blocks = nn.TransformerEncoder(layer, config.layers, enable_nested_tensor=False)
        self.out_norm = nn.LayerNorm(d)

    def token(self, features: Tensor) -> Tensor:
        out: Tensor = self.embed(features)
        return out

    def latent(self, tokens: Tensor) -> Tensor:
        out: Tensor = self.out_norm(self.blocks(tokens + self.position)[:, -1])
        return out
