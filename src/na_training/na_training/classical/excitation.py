# SPDX-License-Identifier: Apache-2.0
"""Excitation design: a periodic joint path whose regressor is well conditioned."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from na_training.classical.regressor import BaseParameters, Regressor, base_parameters
from na_training.classical.samples import FitError, Samples

Array = NDArray[np.float64]


@dataclass(frozen=True)
class FourierPath:
    """``q(t) = q₀ + Σ_k a_k sin(k ω t) + b_k cos(k ω t)``, made to start and end at rest at q₀.

    Attributes:
        centre: (n,) [rad or m].
        sine, cosine: amplitudes (H, n).
        period: [s].
    """

    centre: Array
    sine: Array
    cosine: Array
    period: float

    def samples(self, count: int = 200) -> Samples:
        """Motion over one period; efforts zero."""
        base = 2.0 * np.pi / self.period
        order = base * np.arange(1, len(self.sine) + 1)
        angle = np.outer(np.linspace(0.0, self.period, count, endpoint=False), order)
        s, c = np.sin(angle), np.cos(angle)
        q = self.centre + s @ self.sine + c @ self.cosine
        qd = (c * order) @ self.sine - (s * order) @ self.cosine
        qdd = -(s * order**2) @ self.sine - (c * order**2) @ self.cosine
        return Samples(q, qd, qdd, np.zeros_like(q))


def path_of(x: Array, centre: Array, period: float, harmonics: int) -> FourierPath:
    """Path from free amplitudes (2 H n,), corrected to zero offset and zero speed at t = 0."""
    sine, cosine = np.array(x, dtype=float).reshape(2, harmonics, len(centre))
    order = np.arange(1, harmonics + 1)
    sine[-1] -= (order @ sine) / order[-1]
    cosine[-1] -= cosine.sum(axis=0)
    return FourierPath(centre, sine, cosine, period)


def condition_of(
    regressor: Regressor, base: BaseParameters, samples: Samples, scale: Array | None = None
) -> float:
    """Condition number of the base regressor of a motion.

    Args:
        regressor: of the arm.
        base: its base parameters.
        samples: the motion.
        scale: size of each base column (R,) by which it is divided; the unit is else in the number.
    """
    matrix = regressor.matrix(samples)[:, :, base.columns].reshape(-1, base.rank)
    values = np.linalg.svd(matrix / (1.0 if scale is None else scale), compute_uv=False)
    return float(values[0] / max(values[-1], 1e-300))


def design_excitation(
    regressor: Regressor,
    *,
    speed: Array,
    period: float = 10.0,
    harmonics: int = 4,
    seed: int = 0,
    evaluations: int = 600,
    base: BaseParameters | None = None,
) -> tuple[FourierPath, float, float]:
    """Search a path with a small condition number that keeps positions and speeds within bounds.

    Powell's method (scipy) from a random start; the bounds enter as a steep penalty, and the path
    returned is scaled so that it keeps them strictly.

    Args:
        regressor: of the arm; its model carries the position limits.
        speed: speed limits (n,) [per s].
        period: [s].
        harmonics: number of harmonics.
        seed: of the start.
        evaluations: at most so many motions are tried.
        base: base parameters when known.

    Returns:
        the path, its condition number and that of the random start.

    Raises:
        FitError: a joint has no finite position limits.
    """
    base = base or base_parameters(regressor)
    low, high = regressor.model.lowerPositionLimit, regressor.model.upperPositionLimit
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        raise FitError("excitation needs finite position limits of every joint")
    low, high = np.maximum(low, -np.pi), np.minimum(high, np.pi)
    centre, room = 0.5 * (low + high), 0.45 * (high - low)
    rng = np.random.default_rng(seed)
    reference = regressor.matrix(regressor.random(rng, 200))[:, :, base.columns]
    scale = np.linalg.norm(reference.reshape(-1, base.rank), axis=0) / np.sqrt(200.0)
    start = rng.normal(0.0, 0.25, (2, harmonics, regressor.n)) * room

    def fitted(x: Array) -> FourierPath:
        path = path_of(x, centre, period, harmonics)
        motion = path.samples(80)
        over = np.max(np.abs(motion.q - centre) / room, axis=0)
        over = np.maximum(over, np.max(np.abs(motion.qd) / (0.95 * speed), axis=0))
        shrink = 1.0 / np.maximum(over, 1.0)
        return FourierPath(centre, path.sine * shrink, path.cosine * shrink, period)

    def cost(x: Array) -> float:
        return float(np.log(condition_of(regressor, base, fitted(x).samples(40), scale)))

    flat = start.reshape(-1)
    result = minimize(cost, flat, method="Powell", options={"maxfev": evaluations, "xtol": 1e-2})
    best = result.x if result.fun < cost(flat) else flat
    return fitted(best), float(np.exp(cost(best))), float(np.exp(cost(flat)))
