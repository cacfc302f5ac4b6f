# SPDX-License-Identifier: Apache-2.0
"""The torque regressor with friction columns, and its base parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray
from scipy.linalg import qr

from na_training.classical.samples import FitError, Samples

Array = NDArray[np.float64]

INERTIAL = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
"""Dynamic parameters of a body about its joint's origin, in Pinocchio's order [kg, kg·m, kg·m²]."""
FRICTION = ("coulomb", "viscous", "offset", "rotor")
"""Columns of a joint's drive: sign of speed, speed, constant, acceleration."""
TOLERANCE = 1e-8
"""A pivot smaller than this share of the largest counts as zero when the rank is taken."""


@dataclass(frozen=True)
class Regressor:
    """``τ = Y(q, q̇, q̈) π + F(q̇, q̈) φ`` of one arm, linear in π (10 per body) and φ (4 per joint).

    Attributes:
        model: Pinocchio model whose joints have one coordinate each.
        sign_speed: speed over which Coulomb friction changes sign (n,) [per s].
        friction: which of `FRICTION` are columns.
    """

    model: Any
    sign_speed: Array
    friction: tuple[str, ...] = FRICTION

    def __post_init__(self) -> None:
        if self.model.nq != self.model.nv or self.model.nv != self.model.njoints - 1:
            raise FitError(
                f"model {self.model.name!r}: nq {self.model.nq}, nv {self.model.nv}, expected one "
                "coordinate per joint"
            )
        unknown = set(self.friction) - set(FRICTION)
        if unknown or self.sign_speed.shape != (self.n,):
            raise FitError(
                f"friction columns {sorted(unknown)} unknown or sign_speed "
                f"{self.sign_speed.shape}: expected some of {FRICTION} and ({self.n},)"
            )

    @property
    def n(self) -> int:
        """Number of joints."""
        return int(self.model.nv)

    @property
    def inertial(self) -> int:
        """Number of inertial columns."""
        return 10 * self.n

    @property
    def names(self) -> list[str]:
        """Name of every column: body or joint, then parameter."""
        joints = [str(name) for name in list(self.model.names)[1:]]
        bodies = [f"{joint}.{item}" for joint in joints for item in INERTIAL]
        return bodies + [f"{joint}.{item}" for item in self.friction for joint in joints]

    def matrix(self, samples: Samples) -> Array:
        """Columns for every sample and joint (N, n, P)."""
        n = self.n
        out = np.zeros((len(samples), n, self.inertial + n * len(self.friction)))
        data = self.model.createData()
        for row in range(len(samples)):
            out[row, :, : self.inertial] = pin.computeJointTorqueRegressor(
                self.model, data, samples.q[row], samples.qd[row], samples.qdd[row]
            )
        columns = {
            "coulomb": np.tanh(samples.qd / self.sign_speed),
            "viscous": samples.qd,
            "offset": np.ones_like(samples.qd),
            "rotor": samples.qdd,
        }
        joint = np.arange(n)
        for place, name in enumerate(self.friction):
            out[:, joint, self.inertial + place * n + joint] = columns[name]
        return out

    def prior(self) -> Array:
        """Parameters (P,) that the model's own file states; friction zero."""
        bodies = [
            self.model.inertias[index].toDynamicParameters()
            for index in range(1, self.model.njoints)
        ]
        return np.concatenate([*bodies, np.zeros(self.n * len(self.friction))])

    def random(self, rng: np.random.Generator, count: int, speed: float = 2.0) -> Samples:
        """Random states within the joint limits, for ranks and tests."""
        low = np.maximum(self.model.lowerPositionLimit, -np.pi)
        high = np.minimum(self.model.upperPositionLimit, np.pi)
        shape = (count, self.n)
        q = rng.uniform(low, high, shape)
        qd, qdd = rng.normal(0.0, speed, shape), rng.normal(0.0, 2.0 * speed, shape)
        return Samples(q, qd, qdd, np.zeros(shape))


@dataclass(frozen=True)
class BaseParameters:
    """Columns that are independent, and how the others hang on them.

    ``Y π = Y[:, columns] β`` with ``β = π[columns] + dependence π[others]``.

    Attributes:
        columns: independent columns (R,), in ascending order.
        others: the rest (P − R,).
        dependence: (R, P − R).
    """

    columns: NDArray[np.int64]
    others: NDArray[np.int64]
    dependence: Array

    @property
    def rank(self) -> int:
        """Number of base parameters."""
        return len(self.columns)

    def reduce(self, parameters: Array) -> Array:
        """Base parameters (R,) of full ones (P,)."""
        return parameters[self.columns] + self.dependence @ parameters[self.others]

    def describe(self, names: Sequence[str], limit: int = 3) -> list[str]:
        """Text of each base parameter: its column and the largest that are lumped into it."""
        lines = []
        for row, column in enumerate(self.columns):
            weights = self.dependence[row]
            order = np.argsort(-np.abs(weights))
            terms = [f"{weights[i]:+.3g}·{names[self.others[i]]}" for i in order[:limit]]
            kept = [term for term, i in zip(terms, order[:limit], strict=True) if weights[i] != 0]
            lines.append(" ".join([names[column], *kept]))
        return lines


def base_parameters(regressor: Regressor, seed: int = 0, count: int = 400) -> BaseParameters:
    """Find the base parameters from random states (QR with pivoting; the rank is a property of the
    arm, not of a recording)."""
    samples = regressor.random(np.random.default_rng(seed), count)
    tall = regressor.matrix(samples).reshape(-1, len(regressor.names))
    scale = np.linalg.norm(tall, axis=0)
    seen = np.flatnonzero(scale > TOLERANCE * scale.max())
    triangle, pivots = qr(tall[:, seen] / scale[seen], mode="r", pivoting=True)[0:2]
    diagonal = np.abs(np.diag(triangle))
    rank = int((diagonal > TOLERANCE * diagonal[0]).sum())
    columns = np.sort(seen[pivots[:rank]])
    others = np.setdiff1d(np.arange(tall.shape[1]), columns)
    solved = np.linalg.lstsq(tall[:, columns], tall[:, others], rcond=None)[0]
    lumped = np.asarray(solved, dtype=np.float64)
    lumped[np.abs(lumped) < 1e-9] = 0.0
    return BaseParameters(columns, others, lumped)
