# SPDX-License-Identifier: Apache-2.0
"""External force from external joint efforts: damped, weighted inverse of Jᵀ."""

from __future__ import annotations

import numpy as np

from na_core.features.rigid import force_map
from na_core.observers.base import Array


def force_from_effort(
    effort: Array, jacobian: Array, weight: Array | None = None, damping: float = 0.02
) -> Array:
    """Return the force (..., 3) [N], base axes, that explains the efforts best.

    Minimises ``Σ w_j (τ_j − (Jᵀ f)_j)² + λ² |f|²`` with the weights scaled to a mean of 1.

    Args:
        effort: external joint efforts (..., n) [N·m or N].
        jacobian: of the end-effector origin (..., 3, n), base axes.
        weight: trust in each joint (n,), for example 1 / variance; equal when None.
        damping: λ [m]; near a singular pose the force fades instead of growing without bound.
    """
    if weight is None:
        return np.asarray((force_map(jacobian, damping) @ effort[..., None])[..., 0])
    scale = np.sqrt(weight / np.mean(weight))
    weighted = force_map(jacobian * scale, damping)
    return np.asarray((weighted @ (scale * effort)[..., None])[..., 0])
