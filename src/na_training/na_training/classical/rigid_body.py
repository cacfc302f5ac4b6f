# SPDX-License-Identifier: Apache-2.0
"""Rigid-body identification: weighted least squares on the base parameters, friction included."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from na_training.classical.regressor import BaseParameters, Regressor, base_parameters
from na_training.classical.samples import FitError, Samples

Array = NDArray[np.float64]

SWEEPS = 3
"""Rounds of re-weighting the joints by their residual."""
RIDGE = 1e-6
"""Share of the largest singular value added so that an unexcited parameter stays at its prior."""


@dataclass(frozen=True)
class RigidBodyModel:
    """An identified inverse dynamics.

    Attributes:
        regressor: columns.
        base: which of them are independent.
        beta: base parameters (R,).
        deviation: their standard deviations from the fit (R,).
        noise: residual standard deviation per joint (n,) [N·m or N].
        condition: condition number of the scaled base regressor of the data.
    """

    regressor: Regressor
    base: BaseParameters
    beta: Array
    deviation: Array
    noise: Array
    condition: float

    def predict(self, samples: Samples) -> Array:
        """Efforts (N, n) [N·m or N]."""
        matrix = self.regressor.matrix(samples)[:, :, self.base.columns]
        return np.asarray(matrix @ self.beta)

    def friction(self, name: str) -> Array:
        """One kind of drive parameter (n,), e.g. "coulomb"; NaN where it is not identifiable alone.

        The offset of a joint about the vertical and the rotor of the first joints can be lumped
        with inertial parameters; then the base parameter is not the friction alone.
        """
        place = self.regressor.friction.index(name)
        out = np.full(self.regressor.n, np.nan)
        for joint in range(self.regressor.n):
            column = self.regressor.inertial + place * self.regressor.n + joint
            found = np.flatnonzero(self.base.columns == column)
            if len(found):
                out[joint] = self.beta[found[0]]
        return out


def fit_rigid_body(
    regressor: Regressor, samples: Samples, base: BaseParameters | None = None
) -> RigidBodyModel:
    """Fit base parameters to measured efforts; rows with NaN are left out.

    Args:
        regressor: of the arm.
        samples: recordings; acceleration from a filter without delay.
        base: base parameters when known already.

    Raises:
        FitError: fewer rows than parameters.
    """
    base = base or base_parameters(regressor)
    matrix = regressor.matrix(samples)[:, :, base.columns]
    effort = samples.effort
    known = np.isfinite(effort)
    if known.sum() <= base.rank:
        raise FitError(f"{known.sum()} measured efforts for {base.rank} base parameters")
    weight = np.ones(regressor.n)
    prior = base.reduce(regressor.prior())
    for _ in range(SWEEPS):
        rows = (matrix * weight[None, :, None])[known]
        target = (effort * weight)[known]
        scale = np.linalg.norm(rows, axis=0) + 1e-12
        unit = rows / scale
        left, values, right = np.linalg.svd(unit, full_matrices=False)
        damping = RIDGE * values[0]
        inverse = values / (values**2 + damping**2)
        beta = prior + right.T @ (inverse * (left.T @ (target - rows @ prior))) / scale
        residual = np.where(known, effort - matrix @ beta, np.nan)
        noise = np.sqrt(np.nanmean(residual**2, axis=0))
        weight = 1.0 / np.maximum(noise, 1e-6)
    freedom = max(int(known.sum()) - base.rank, 1)
    spread = float(((residual * weight)[known] ** 2).sum()) / freedom
    covariance = (right.T * inverse**2) @ right * spread
    deviation = np.sqrt(np.diag(covariance)) / scale
    return RigidBodyModel(
        regressor, base, beta, deviation, noise, float(values[0] / max(values[-1], 1e-300))
    )


@dataclass(frozen=True)
class Payload:
    """What hangs on the last body: mass [kg], first moment (3,) [kg·m] in its joint's frame."""

    mass: float
    moment: Array
    deviation: float

    @property
    def com(self) -> Array:
        """Centre of mass (3,) [m] in the frame of the last joint; NaN without a mass."""
        if abs(self.mass) < 1e-6:
            return np.full(3, np.nan)
        return np.asarray(self.moment / self.mass)


def fit_payload(
    regressor: Regressor, samples: Samples, *, ridge: float = 1e-3
) -> tuple[Payload, Array]:
    """Fit mass and first moment of an unknown tool on a model that is otherwise trusted.

    Friction columns of every joint are fitted beside them, weighted by the residual of each joint.

    Returns:
        the tool, and all fitted corrections (P,) to `Regressor.prior`.
    """
    matrix = regressor.matrix(samples)
    prior = regressor.prior()
    last = regressor.inertial - 10 + np.arange(4)
    friction = np.arange(regressor.inertial, matrix.shape[2])
    columns = np.concatenate([last, friction])
    target = samples.effort - matrix @ prior
    weight = np.ones(regressor.n)
    for _ in range(SWEEPS):
        rows = (matrix[:, :, columns] * weight[None, :, None]).reshape(-1, len(columns))
        scale = np.linalg.norm(rows, axis=0) + 1e-12
        unit = np.vstack([rows / scale, ridge * np.eye(len(columns))])
        wanted = np.concatenate([(target * weight).reshape(-1), np.zeros(len(columns))])
        solution = np.linalg.lstsq(unit, wanted, rcond=None)[0] / scale
        residual = target - matrix[:, :, columns] @ solution
        weight = 1.0 / np.maximum(residual.std(axis=0), 1e-6)
    normal = np.linalg.inv(rows.T @ rows + 1e-12 * np.eye(len(columns)))
    spread = float(((residual * weight) ** 2).mean())
    correction = np.zeros(len(prior))
    correction[columns] = solution
    tool = Payload(float(solution[0]), solution[1:4], float(np.sqrt(normal[0, 0] * spread)))
    return tool, correction
