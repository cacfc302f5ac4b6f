# SPDX-License-Identifier: Apache-2.0
"""Signs and frames of the external force, in one place.

The external force is the one **the environment exerts on the end effector**: three components at
the origin of the end-effector frame. A mass hanging at rest from the gripper is ``[0, 0, -m g]`` in
base axes. libfranka reports the opposite sign.

    M(q) q'' + C q' + g(q) = tau + J(q)^T f

so at rest the servos supply ``tau = g(q) - J^T f``: more of it to carry a weight.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from na_core.kinematics import GRAVITY, Kinematics, Pose

__all__ = [
    "GRAVITY",
    "Kinematics",
    "Pose",
    "base_to_frame",
    "external_effort",
    "frame_to_base",
    "payload_force",
]

Array = NDArray[np.float64]


def payload_force(mass: float, gravity: float = GRAVITY) -> Array:
    """Return the external force (3,) [N], base axes, of a mass [kg] hanging at rest.

    Raises:
        ValueError: the mass is negative or not finite.
    """
    if not np.isfinite(mass) or mass < 0.0:
        raise ValueError(f"payload mass = {mass!r} kg: expected a finite mass of at least 0")
    return np.array([0.0, 0.0, -mass * gravity])


def base_to_frame(force: ArrayLike, rotation: ArrayLike) -> Array:
    """Rotate a force (..., 3) [N] from base axes into a frame's axes; same point of application.

    Args:
        force: components in base axes.
        rotation: (..., 3, 3) orientation of the frame in the base (columns: frame axes in base).
    """
    vector, matrix = _checked(force, rotation)
    return np.asarray(np.einsum("...ji,...j->...i", matrix, vector))


def frame_to_base(force: ArrayLike, rotation: ArrayLike) -> Array:
    """Rotate a force (..., 3) [N] from a frame's axes into base axes."""
    vector, matrix = _checked(force, rotation)
    return np.asarray(np.einsum("...ij,...j->...i", matrix, vector))


def external_effort(jacobian: ArrayLike, force: ArrayLike) -> Array:
    """Return the joint efforts (..., n) that an external force puts on the joints, ``J^T f``.

    The servos must supply the opposite to stay at rest.

    Args:
        jacobian: (..., 3, n) of the end-effector origin, base axes (`Kinematics.jacobian`).
        force: (..., 3) [N] exerted by the environment on the end effector, base axes.
    """
    return np.asarray(
        np.einsum("...in,...i->...n", np.asarray(jacobian, float), np.asarray(force, float))
    )


def _checked(force: ArrayLike, rotation: ArrayLike) -> tuple[Array, Array]:
    vector = np.asarray(force, dtype=np.float64)
    matrix = np.asarray(rotation, dtype=np.float64)
    if vector.shape[-1:] != (3,) or matrix.shape[-2:] != (3, 3):
        raise ValueError(
            f"force {vector.shape} with rotation {matrix.shape}: expected (..., 3) and (..., 3, 3)"
        )
    return vector, matrix
