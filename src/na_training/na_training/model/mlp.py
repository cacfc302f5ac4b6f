# SPDX-License-Identifier: Apache-2.0
"""Encoder `mlp`: the window flattened into a feed-forward network."""

from __future__ import annotations

import itertools

from torch import Tensor, nn

from na_training.model.config import WINDOW, ModelConfig
from na_training.model.encoder import Encoder


class MlpEncoder(Encoder):
    """`layers` hidden layers of equal width; tokens are the features themselves."""

    def __init__(self, config: ModelConfig, inputs: int) -> None:
        super().__init__()
        self.window, self.width, self.token_size = WINDOW, config.width, inputs
        sizes = [WINDOW * inputs] + [config.width] * config.layers
        parts: list[nn.Module] = []
        for below, above in itertools.pairwise(sizes):
            parts += [nn.Linear(below, above), nn.GELU()]
        self.net = nn.Sequential(*parts)

    def token(self, features: Tensor) -> Tensor:
        return features

    def latent(self, tokens: Tensor) -> Tensor:
        out: Tensor = self.net(tokens.flatten(1))
        return out
