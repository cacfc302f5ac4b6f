# SPDX-License-Identifier: Apache-2.0
"""Encoder `query`: only the current tick's token is updated; it attends to nine embedded ticks."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from na_training.model.config import WINDOW, ModelConfig
from na_training.model.encoder import Encoder


class QueryEncoder(Encoder):
    """Transformer whose keys and values come from embedded ticks, hence can be kept exactly.

    A token is [embedding, keys of all layers, values of all layers]. The position term is added
    after the key and value projections, and there is no norm over the window, so a token stays the
    same while it moves through the window.

    Args:
        config: sizes.
        inputs: number of features per tick.
    """

    def __init__(self, config: ModelConfig, inputs: int) -> None:
        super().__init__()
        d, layers = config.width, config.layers
        self.window, self.width, self.heads = WINDOW, d, config.heads
        self.token_size = d * (1 + 2 * layers)
        self.embed = nn.Linear(inputs, d)
        self.embed_norm = nn.LayerNorm(d)
        self.key_value = nn.Linear(d, 2 * layers * d)
        self.position = nn.Parameter(torch.randn(WINDOW, 2 * layers * d) * 0.02)
        self.blocks = nn.ModuleList(
            QueryBlock(d, config.heads, config.feedforward) for _ in range(layers)
        )
        self.out_norm = nn.LayerNorm(d)

    def token(self, features: Tensor) -> Tensor:
        embedded = self.embed_norm(self.embed(features))
        both = self.key_value(embedded)
        return torch.cat([embedded.to(both.dtype), both], dim=-1)

    def latent(self, tokens: Tensor) -> Tensor:
        d = self.width
        embedded, rest = tokens.split([d, self.token_size - d], dim=-1)
        state = embedded[:, -1].to(self.position.dtype)
        parts = (-1, self.heads, d // self.heads)
        both = rest.unflatten(-1, parts).unbind(2)  # each (batch, window, heads, d / heads)
        position = self.position.unflatten(-1, parts).permute(1, 2, 0, 3).unbind(0)
        for index, block in enumerate(self.blocks):
            key, value = 2 * index, 2 * index + 1
            state = block(state, both[key], both[value], position[key], position[value])
        out: Tensor = self.out_norm(state)
        return out

    def latents(self, tokens: Tensor) -> Tensor:
        """As the base class says, without copying each token into nine windows."""
        d, window = self.width, self.window
        length = tokens.shape[1] - window + 1
        embedded, rest = tokens.split([d, self.token_size - d], dim=-1)
        state = embedded[:, window - 1 :].to(self.position.dtype)
        parts = (-1, self.heads, d // self.heads)
        both = rest.unflatten(-1, parts).permute(2, 0, 3, 1, 4).unbind(0)
        position = self.position.unflatten(-1, parts).permute(1, 2, 0, 3).unbind(0)
        steps = torch.arange(length, device=tokens.device)[:, None]
        band = steps + torch.arange(window, device=tokens.device)  # (length, window)
        for index, block in enumerate(self.blocks):
            state = block.sequence(
                state,
                both[2 * index],
                both[2 * index + 1],
                position[2 * index],
                position[2 * index + 1],
                band,
            )
        out: Tensor = self.out_norm(state)
        return out


class QueryBlock(nn.Module):  # type: ignore[misc]
    """Attention of one query to given keys and values, then a feed-forward part, both residual."""

    def __init__(self, d: int, heads: int, feedforward: int) -> None:
        super().__init__()
        self.heads = heads
        self.scale = (d // heads) ** -0.5
        self.query_norm = nn.LayerNorm(d)
        self.query = nn.Linear(d, d)
        self.out = nn.Linear(d, d)
        self.feed_norm = nn.LayerNorm(d)
        self.feed = nn.Sequential(nn.Linear(d, feedforward), nn.GELU(), nn.Linear(feedforward, d))

    def forward(
        self,
        state: Tensor,
        keys: Tensor,
        values: Tensor,
        key_position: Tensor,
        value_position: Tensor,
    ) -> Tensor:
        """One query per row.

        Args:
            state: (batch, d).
            keys: (batch, window, heads, d / heads); values likewise.
            key_position: (heads, window, d / heads); value_position likewise.
        """
        query = self.query(self.query_norm(state)).unflatten(-1, (self.heads, -1))
        # A key's position term meets the query apart, which is the same sum with less traffic.
        near = (keys * query[:, None]).sum(-1).transpose(1, 2)  # (batch, heads, window)
        scores = near + (query[:, :, None] * key_position).sum(-1)
        weights = torch.softmax(scores * self.scale, dim=-1)
        mixed = (weights.transpose(1, 2)[..., None] * values).sum(1)
        mixed = mixed + (weights[..., None] * value_position).sum(2)
        state = state + self.out(mixed.flatten(-2))
        result: Tensor = state + self.feed(self.feed_norm(state))
        return result

    def sequence(
        self,
        state: Tensor,
        keys: Tensor,
        values: Tensor,
        key_position: Tensor,
        value_position: Tensor,
        band: Tensor,
    ) -> Tensor:
        """The same for every window of a recording at once.

        Args:
            state: (batch, length, d).
            keys: (batch, heads, T, d / heads); values likewise.
            key_position: (heads, window, d / heads); value_position likewise.
            band: (length, window), the tick that each place of each window holds.
        """
        query = self.query(self.query_norm(state)).unflatten(-1, (self.heads, -1)).transpose(1, 2)
        every = query @ keys.transpose(-1, -2)  # (batch, heads, length, T)
        places = band.expand(*every.shape[:2], *band.shape)
        scores = every.gather(-1, places) + query @ key_position.transpose(-1, -2)
        weights = torch.softmax(scores * self.scale, dim=-1)
        spread = torch.zeros_like(every).scatter(-1, places, weights)
        mixed = spread @ values + weights @ value_position
        state = state + self.out(mixed.transpose(1, 2).flatten(-2))
        result: Tensor = state + self.feed(self.feed_norm(state))
        return result
