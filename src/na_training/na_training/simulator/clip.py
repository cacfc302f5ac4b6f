# SPDX-License-Identifier: Apache-2.0
"""Clipping of efforts at their bound, with the gradient at the bound chosen by name."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

CLIP_GRADIENTS = ("inward", "straight_through", "hard")
"""Surrogate gradients outside the bound.

`hard`: zero, the true derivative; a saturated unit never recovers.
`straight_through`: one; the raw effort may drift far outside.
`inward` (default): one where a descent step moves the raw effort back towards the bound, else zero.
"""


class _Clip(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, raw: Tensor, limit: Tensor, gradient: str) -> Tensor:
        ctx.save_for_backward(raw, limit)
        ctx.gradient = gradient
        return torch.maximum(torch.minimum(raw, limit), -limit)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, None, None]:
        (grad,) = grads
        raw, limit = ctx.saved_tensors
        if ctx.gradient == "straight_through":
            return grad, None, None
        outside = raw.abs() > limit
        if ctx.gradient == "inward":
            # Descent moves against the gradient: towards zero when grad and raw agree in sign.
            outside = outside & (grad * raw <= 0)
        return grad.masked_fill(outside, 0.0), None, None


def clip_effort(raw: Tensor, limit: Tensor, gradient: str = "inward") -> Tensor:
    """Return raw efforts (..., n) clipped to ±limit (n,) [N·m or N].

    Raises:
        ValueError: `gradient` is not one of `CLIP_GRADIENTS`.
    """
    if gradient not in CLIP_GRADIENTS:
        raise ValueError(f"clip gradient {gradient!r}, expected one of {', '.join(CLIP_GRADIENTS)}")
    clipped: Tensor = _Clip.apply(raw, limit, gradient)  # type: ignore[no-untyped-call]
    return clipped
