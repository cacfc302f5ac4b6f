# SPDX-License-Identifier: Apache-2.0
"""Least squares with forgetting: what a joint's residual followed over the last seconds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Terms: constant, position [rad], vertical lever of the force [m], smooth sign of velocity.
TERMS = 4


def update_moments(moments: Array, row: Array, weight: Array, keep: float) -> Array:
    """Return the moments after one more tick.

    Args:
        moments: weighted sums of products of (terms, residual) (..., TERMS + 1, TERMS + 1).
        row: terms and residual of this tick (..., TERMS + 1).
        weight: of this tick (...).
        keep: share of the old moments that is kept.
    """
    outer = row[..., :, None] * row[..., None, :]
    return np.asarray(keep * moments + (1.0 - keep) * weight[..., None, None] * outer)


def solve_moments(moments: Array, ridge: Array) -> tuple[Array, Array]:
    """Return coefficients (..., TERMS) and the conditional spread of the position (...).

    Args:
        moments: as `update_moments` gives them.
        ridge: added to the diagonal (TERMS,), in squared units of the terms: the coefficient of a
            term that hardly varied stays near zero.
    """
    normal = moments[..., :TERMS, :TERMS] + np.diag(ridge)
    right = np.stack([moments[..., :TERMS, TERMS], _unit(moments, 1)], axis=-1)
    solved = np.linalg.solve(normal, right)
    # One over the inverse's diagonal entry: the variance of the position that nothing explains.
    spread = np.sqrt(np.maximum(1.0 / solved[..., 1, 1] - ridge[1], 0.0))
    return np.asarray(solved[..., 0]), spread


def _unit(moments: Array, index: int) -> Array:
    unit = np.zeros((*moments.shape[:-2], TERMS))
    unit[..., index] = 1.0
    return unit
