# SPDX-License-Identifier: Apache-2.0
"""Physically consistent identification: masses and inertias that a real body could have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray
from scipy.linalg import qr
from scipy.optimize import least_squares, lsq_linear

from na_training.classical.regressor import Regressor
from na_training.classical.samples import FitError, Samples

Array = NDArray[np.float64]

PRIOR_WEIGHT = 0.1
"""Pull of the log-Cholesky parameters towards those of the robot file, in residual units."""
STAGES = (1000.0, 100.0, 10.0, 1.0)
"""Factors on that pull, in turn: a strong one first keeps the search out of far corners."""


@dataclass(frozen=True)
class PhysicalModel:
    """Full parameters, every body's pseudo-inertia positive definite, friction not negative.

    Attributes:
        regressor: columns.
        parameters: (P,): 10 per body, then the drives.
        noise: residual standard deviation per joint (n,) [N·m or N].
        cost: half the weighted sum of squares at the solution.
    """

    regressor: Regressor
    parameters: Array
    noise: Array
    cost: float

    def predict(self, samples: Samples) -> Array:
        """Efforts (N, n) [N·m or N]."""
        return np.asarray(self.regressor.matrix(samples) @ self.parameters)

    def smallest_eigenvalue(self) -> float:
        """Smallest eigenvalue over the pseudo-inertias of all bodies; positive means possible."""
        bodies = self.parameters[: self.regressor.inertial].reshape(-1, 10)
        return min(smallest_eigenvalue(body) for body in bodies)


def smallest_eigenvalue(body: Array) -> float:
    """Smallest eigenvalue of the pseudo-inertia of dynamic parameters (10,)."""
    return float(np.linalg.eigvalsh(pin.PseudoInertia.FromDynamicParameters(body).toMatrix())[0])


def log_cholesky(body: Array) -> Array:
    """Log-Cholesky parameters (10,) of consistent dynamic parameters (10,) (Rucker, 2022).

    The pseudo-inertia is U Uᵀ with U upper triangular, its diagonal e^α (e^d1, e^d2, e^d3, 1).

    Raises:
        FitError: the parameters are not those of a possible body.
    """
    matrix = pin.PseudoInertia.FromDynamicParameters(body).toMatrix()
    flipped = matrix[::-1, ::-1]
    try:
        upper = np.linalg.cholesky(flipped)[::-1, ::-1]
    except np.linalg.LinAlgError:
        raise FitError(
            f"body of mass {body[0]:.4g} kg has an impossible inertia (smallest eigenvalue of its "
            f"pseudo-inertia {smallest_eigenvalue(body):.2g}): correct the robot file"
        ) from None
    alpha = np.log(upper[3, 3])
    unit = upper / upper[3, 3]
    return np.array(
        [
            alpha,
            *np.log([unit[0, 0], unit[1, 1], unit[2, 2]]),
            unit[0, 1],
            unit[1, 2],
            unit[0, 2],
            unit[0, 3],
            unit[1, 3],
            unit[2, 3],
        ]
    )


def possible(body: Array, floor: float = 1e-6) -> Array:
    """The nearest possible body: eigenvalues of the pseudo-inertia raised to `floor` of the trace.

    Robot files state round or placeholder inertias, on which a log-Cholesky start would fail.
    """
    values, vectors = np.linalg.eigh(pin.PseudoInertia.FromDynamicParameters(body).toMatrix())
    raised = np.maximum(values, floor * max(float(np.abs(values).sum()), 1e-3))
    matrix = (vectors * raised) @ vectors.T
    return np.asarray(pin.PseudoInertia.FromMatrix(matrix).toDynamicParameters())


def fit_physical(
    regressor: Regressor, samples: Samples, noise: Array, *, prior_weight: float = PRIOR_WEIGHT
) -> PhysicalModel:
    """Fit full parameters by least squares in log-Cholesky coordinates, friction bounded below.

    The data enter through the triangle of their QR, so the search does not grow with them. What
    they do not tell stays near the robot file.

    Args:
        regressor: of the arm.
        samples: recordings.
        noise: residual deviation per joint (n,), for instance of `fit_rigid_body`.
        prior_weight: pull towards the file, per log-Cholesky parameter.
    """
    matrix = regressor.matrix(samples) / noise[None, :, None]
    known = np.isfinite(samples.effort)
    rows = matrix[known]
    target = (samples.effort / noise)[known]
    triangle = np.asarray(qr(np.column_stack([rows, target]), mode="economic")[1])
    square, wanted = triangle[:, :-1], triangle[:, -1]
    bodies, inertial = regressor.n, regressor.inertial
    prior = regressor.prior()
    start = np.concatenate(
        [log_cholesky(possible(body)) for body in prior[:inertial].reshape(bodies, 10)]
    )
    drives = len(prior) - inertial
    kinds = np.repeat(regressor.friction, regressor.n)
    lower = np.concatenate([start - 8.0, np.where(kinds == "offset", -np.inf, 0.0)])
    upper = np.concatenate([start + 8.0, np.full(drives, np.inf)])
    rows_scale = np.sqrt(float(known.sum()))

    def unpack(x: Array) -> tuple[Array, Array]:
        parameters = np.empty_like(prior)
        jacobian = np.zeros((len(prior), len(x)))
        for body in range(bodies):
            cut = slice(10 * body, 10 * body + 10)
            chart = pin.LogCholeskyParameters(np.ascontiguousarray(x[cut]))
            parameters[cut] = chart.toDynamicParameters()
            jacobian[cut, cut] = chart.calculateJacobian()
        parameters[inertial:] = x[inertial:]
        jacobian[inertial:, inertial:] = np.eye(drives)
        return parameters, jacobian

    def residual(x: Array, pull: float) -> Array:
        return np.concatenate([square @ unpack(x)[0] - wanted, pull * (x[:inertial] - start)])

    def slope(x: Array, pull: float) -> Array:
        anchor = np.hstack([pull * np.eye(inertial), np.zeros((inertial, drives))])
        return np.vstack([square @ unpack(x)[1], anchor])

    # The drives' part is linear: start from its best, off the bounds by a hair.
    floor = np.where(kinds == "offset", -np.inf, 0.0)
    drive = lsq_linear(
        square[:, inertial:], wanted - square[:, :inertial] @ prior[:inertial], (floor, np.inf)
    ).x
    x = np.concatenate([start, np.where(kinds == "offset", drive, np.maximum(drive, 1e-3))])
    for factor in STAGES:
        pull = prior_weight * factor * rows_scale
        solution = least_squares(
            residual, x, jac=slope, args=(pull,), bounds=(lower, upper), max_nfev=200
        )
        x = np.clip(solution.x, lower + 1e-9, upper - 1e-9)
    parameters = unpack(solution.x)[0]
    left = np.where(known, samples.effort - matrix * noise[None, :, None] @ parameters, np.nan)
    return PhysicalModel(
        regressor, parameters, np.sqrt(np.nanmean(left**2, axis=0)), float(solution.cost)
    )
