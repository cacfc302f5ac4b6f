# SPDX-License-Identifier: Apache-2.0
"""Rigid-body terms of an arm for features: gravity, inertia, Coriolis and force Jacobian."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from na_core.features.ticks import FeatureError

Array = NDArray[np.float64]


@dataclass(frozen=True)
class RigidTerms:
    """Terms at one state per row.

    Attributes:
        gravity: g(q) (..., n) [N·m or N].
        momentum: (M(q) + rotor) q̇ (..., n) [N·m·s or N·s].
        drift: Cᵀ(q, q̇) q̇ − g(q) (..., n) [N·m or N].
        jacobian: of the end-effector origin in base axes (..., 3, n).
    """

    gravity: Array
    momentum: Array
    drift: Array
    jacobian: Array


def reduced_model(urdf: str, joints: tuple[str, ...]) -> pin.Model:
    """Return the model with only `joints` free, in that order; the rest locked at zero.

    A mimic finger is locked too: its motion changes the arm's dynamics by less than the finger's
    own mass estimate.

    Raises:
        FeatureError: a joint is absent, has more than one degree of freedom, or the URDF lists the
            joints in another order.
    """
    full = pin.buildModelFromXML(urdf)
    missing = [name for name in joints if not full.existJointName(name)]
    if missing:
        raise FeatureError(f"URDF has no joint {missing}; it has {list(full.names)[1:]}")
    locked = [index for index in range(1, full.njoints) if full.names[index] not in joints]
    model = pin.buildReducedModel(full, locked, pin.neutral(full))
    if tuple(model.names)[1:] != tuple(joints) or model.nq != len(joints):
        raise FeatureError(
            f"URDF joints in order {list(model.names)[1:]} (nq {model.nq}), expected "
            f"{list(joints)} with one coordinate each (revolute with limits, or prismatic)"
        )
    return model


class RigidArm:
    """Evaluates `RigidTerms` for arrays of states.

    Args:
        urdf: URDF text.
        joints: joint names in canonical order.
        end_effector: frame whose origin the external force acts on.
        rotor: reflected rotor inertia per joint (n,) [kg·m² or kg].
    """

    def __init__(self, urdf: str, joints: tuple[str, ...], end_effector: str, rotor: Array) -> None:
        self.model = reduced_model(urdf, joints)
        self.data = self.model.createData()
        if not self.model.existFrame(end_effector):
            raise FeatureError(f"URDF has no frame {end_effector!r} for the end effector")
        self.frame = self.model.getFrameId(end_effector)
        self.rotor = np.asarray(rotor, dtype=np.float64)
        self.n = len(joints)
        self._upper = np.triu(np.ones((self.n, self.n)))
        self._above = np.triu(np.ones((self.n, self.n)), 1)

    def terms(self, q: Array, qd: Array) -> RigidTerms:
        """Return the terms at positions and velocities (..., n)."""
        lead = q.shape[:-1]
        rows = int(np.prod(lead)) if lead else 1
        positions = np.ascontiguousarray(q.reshape(rows, self.n))
        speeds = np.ascontiguousarray(qd.reshape(rows, self.n))
        gravity = np.empty((rows, self.n))
        momentum = np.empty((rows, self.n))
        drift = np.empty((rows, self.n))
        jacobian = np.empty((rows, 3, self.n))
        model, data, axes = self.model, self.data, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        for row in range(rows):
            position, speed = positions[row], speeds[row]
            g = pin.computeGeneralizedGravity(model, data, position)
            coriolis = pin.computeCoriolisMatrix(model, data, position, speed)
            pin.crba(model, data, position)
            gravity[row] = g
            # Only the upper triangle of data.M is filled in.
            momentum[row] = (data.M * self._upper) @ speed + speed @ (data.M * self._above)
            drift[row] = coriolis.T @ speed - g
            jacobian[row] = pin.computeFrameJacobian(model, data, position, self.frame, axes)[:3]
        momentum += self.rotor * speeds
        return RigidTerms(
            gravity.reshape(*lead, self.n),
            momentum.reshape(*lead, self.n),
            drift.reshape(*lead, self.n),
            jacobian.reshape(*lead, 3, self.n),
        )


def force_map(jacobian: Array, damping: float = 0.02) -> Array:
    """Return P with f = P τ_ext, the damped inverse of Jᵀ: (J Jᵀ + λ²)⁻¹ J.

    Args:
        jacobian: (..., 3, n) [m, or 1 for a slide's column].
        damping: λ [m]; near a singular pose the force fades instead of growing without bound.

    Returns:
        (..., 3, n) [1/m].
    """
    square = jacobian @ np.swapaxes(jacobian, -1, -2) + damping**2 * np.eye(3)
    return np.asarray(np.linalg.solve(square, jacobian))
