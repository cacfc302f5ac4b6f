# SPDX-License-Identifier: Apache-2.0
"""What an encoder is: per-tick tokens that may be kept, and a latent from a window of them."""

from __future__ import annotations

from abc import ABC, abstractmethod

from torch import Tensor, nn


class Encoder(nn.Module, ABC):  # type: ignore[misc]
    """Turns nine ticks of scaled features into one latent.

    Everything that depends on one tick alone is in its token, so that tokens of old ticks are kept
    and never computed again; the latent depends on exactly the tokens of the window.

    Attributes:
        token_size: numbers per token.
        width: size of the latent.
        window: ticks per window.
    """

    token_size: int
    width: int
    window: int

    @abstractmethod
    def token(self, features: Tensor) -> Tensor:
        """Scaled features (..., F) of one tick to its token (..., token_size)."""

    @abstractmethod
    def latent(self, tokens: Tensor) -> Tensor:
        """Tokens of a window (batch, window, token_size), oldest first, to (batch, width)."""

    def latents(self, tokens: Tensor) -> Tensor:
        """Tokens of recordings (batch, T, token_size) to the latents of every full window.

        Returns:
            (batch, T − window + 1, width).
        """
        windows = tokens.unfold(1, self.window, 1).transpose(-1, -2)
        batch, length = windows.shape[:2]
        flat = windows.reshape(batch * length, self.window, self.token_size)
        return self.latent(flat).reshape(batch, length, self.width)

    def forward(self, features: Tensor) -> Tensor:
        """Windows of scaled features (batch, window, F) to latents (batch, width)."""
        return self.latent(self.token(features))
