# SPDX-License-Identifier: Apache-2.0
"""Encoders `gru` and `lstm`: a recurrent network run from zero state over the window."""

from __future__ import annotations

from torch import Tensor, nn

from na_training.model.config import WINDOW, ModelConfig
from na_training.model.encoder import Encoder


class RecurrentEncoder(Encoder):
    """Starts from zero at the oldest tick of the window, so it too sees exactly nine ticks."""

    def __init__(self, config: ModelConfig, inputs: int) -> None:
        super().__init__()
        self.window, self.width, self.token_size = WINDOW, config.width, inputs
        kind = nn.GRU if config.encoder == "gru" else nn.LSTM
        self.net = kind(inputs, config.width, config.layers, batch_first=True)

    def token(self, features: Tensor) -> Tensor:
        return features

    def latent(self, tokens: Tensor) -> Tensor:
        out: Tensor = self.net(tokens)[0][:, -1]
        return out
