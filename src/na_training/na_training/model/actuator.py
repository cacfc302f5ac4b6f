# SPDX-License-Identifier: Apache-2.0
"""The whole model: scaling, encoder, heads; features in their own units go in."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from na_core.features import FeatureSet
from na_training.model.config import ModelConfig
from na_training.model.encoder import Encoder
from na_training.model.full import FullEncoder
from na_training.model.heads import Estimates, Heads, Outputs
from na_training.model.mlp import MlpEncoder
from na_training.model.query import QueryEncoder
from na_training.model.recurrent import RecurrentEncoder

CLAMP = 8.0
"""Scaled features are clamped to ± this."""

_ENCODERS: dict[str, type[Encoder]] = {
    "query": QueryEncoder,
    "full": FullEncoder,
    "mlp": MlpEncoder,
    "gru": RecurrentEncoder,
    "lstm": RecurrentEncoder,
}


@dataclass(frozen=True)
class Layout:
    """What the columns of a feature vector are.

    Attributes:
        joints: joint names in canonical order.
        names: feature names.
        basic: number of leading features that a simulated arm has too.
    """

    joints: tuple[str, ...]
    names: tuple[str, ...]
    basic: int

    @classmethod
    def of(cls, features: FeatureSet, joints: tuple[str, ...]) -> Layout:
        """The layout of a feature set."""
        return cls(joints, features.names, features.basic)

    @property
    def extras(self) -> tuple[str, ...]:
        """Names of the memory features."""
        return self.names[self.basic :]


class Actuator(nn.Module):  # type: ignore[misc]
    """Maps nine ticks of features to effort, force, gate and condition.

    Args:
        config: sizes.
        layout: columns of the feature vector.
        mean: of each feature (F,); scale likewise, positive.
        effort_scale: effort of a head output of one (n,) [N·m or N].
    """

    mean: Tensor
    scale: Tensor
    effort_scale: Tensor

    def __init__(
        self, config: ModelConfig, layout: Layout, mean: Tensor, scale: Tensor, effort_scale: Tensor
    ) -> None:
        super().__init__()
        size, n = len(layout.names), len(layout.joints)
        for name, tensor, expected in (
            ("mean", mean, size),
            ("scale", scale, size),
            ("effort_scale", effort_scale, n),
        ):
            if tuple(tensor.shape) != (expected,) or not bool(torch.isfinite(tensor).all()):
                raise ValueError(
                    f"model {config.name}: {name} has shape {tuple(tensor.shape)}, expected "
                    f"({expected},) finite numbers"
                )
        if not bool((scale > 0).all()):
            raise ValueError(f"model {config.name}: scale must be positive, got {scale.tolist()}")
        self.config = config
        self.layout = layout
        self.register_buffer("mean", mean.to(torch.float32))
        self.register_buffer("scale", scale.to(torch.float32))
        self.register_buffer("effort_scale", effort_scale.to(torch.float32))
        self.encoder = _ENCODERS[config.encoder](config, layout.basic)
        self.heads = Heads(config, self.encoder.width, n, layout.names, layout.basic, layout.joints)

    @property
    def parameters_count(self) -> int:
        """Number of trained parameters."""
        return sum(parameter.numel() for parameter in self.parameters())

    # ------------------------------------------------------------ pieces

    def scaled_basic(self, basic: Tensor) -> Tensor:
        """Scale and clamp the basic features (..., basic)."""
        cut = self.layout.basic
        return ((basic - self.mean[:cut]) / self.scale[:cut]).clamp(-CLAMP, CLAMP)

    def scaled(self, features: Tensor) -> Tensor:
        """Scale and clamp all features (..., F)."""
        return ((features - self.mean) / self.scale).clamp(-CLAMP, CLAMP)

    def token(self, basic: Tensor) -> Tensor:
        """Token of one tick from its basic features (..., basic)."""
        return self.encoder.token(self.scaled_basic(basic))

    def effort(self, latent: Tensor) -> Tensor:
        """Raw effort (..., n) [N·m or N] from latents (..., width)."""
        out: Tensor = self.heads.effort(latent) * self.effort_scale
        return out

    def estimates(self, latent: Tensor, features: Tensor | None) -> Estimates:
        """Force, gate and condition from latents (..., width) and features of the tick (..., F).

        Features without memory add nothing to the latent; None hides those with memory.
        """
        if features is None or not self.layout.extras:
            return self.heads.estimates(latent, None, None)
        return self.heads.estimates(latent, features, self.scaled(features))

    # ------------------------------------------------------------- whole

    def forward(self, windows: Tensor) -> Outputs:
        """Windows (batch, 9, F) of features in their own units, oldest tick first."""
        cut = self.layout.basic
        latent = self.encoder.latent(self.token(windows[:, :, :cut]))
        return Outputs(self.effort(latent), *self.estimates(latent, windows[:, -1]))

    def sequence(self, features: Tensor, *, with_extras: bool = True) -> Outputs:
        """Every full window of recordings (batch, T, F); outputs (batch, T − 8, …).

        Args:
            features: in their own units.
            with_extras: False hides the memory features, as in a rollout.
        """
        cut = self.layout.basic
        latent = self.encoder.latents(self.token(features[..., :cut]))
        newest = features[:, self.encoder.window - 1 :] if with_extras else None
        return Outputs(self.effort(latent), *self.estimates(latent, newest))
