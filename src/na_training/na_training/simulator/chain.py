# SPDX-License-Identifier: Apache-2.0
"""The figures of a chain of one-coordinate joints, read from URDF as plain arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from na_core.features.rigid import reduced_model
from na_training.simulator.interface import SimulatorError

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Chain:
    """One body per joint; body i hangs from body parent[i], or from the base when that is −1.

    Attributes:
        parent: index of the parent body (n,).
        revolute: True for a turning joint, False for a sliding one (n,).
        rotation: of the joint frame in the parent frame (n, 3, 3).
        translation: of the joint frame in the parent frame (n, 3) [m].
        axis: unit axis in the joint frame (n, 3).
        mass: (n,) [kg].
        com: centre of mass in the joint frame (n, 3) [m].
        inertia: about the centre of mass, joint axes (n, 3, 3) [kg·m²].
        gravity: in base axes (3,) [m/s²].
    """

    parent: tuple[int, ...]
    revolute: tuple[bool, ...]
    rotation: Array
    translation: Array
    axis: Array
    mass: Array
    com: Array
    inertia: Array
    gravity: Array

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.parent)

    def moves(self) -> NDArray[np.bool_]:
        """Whether joint j moves body i (n, n): true for the body itself and its ancestors."""
        result = np.zeros((self.n, self.n), dtype=bool)
        for body in range(self.n):
            joint = body
            while joint >= 0:
                result[body, joint] = True
                joint = self.parent[joint]
        return result


def chain_from_urdf(urdf: str, joints: tuple[str, ...]) -> Chain:
    """Read a chain; joints not named are locked at zero.

    Raises:
        SimulatorError: a joint is neither revolute nor prismatic about one axis.
    """
    model = reduced_model(urdf, joints)
    axes, revolute = [], []
    for index in range(1, model.njoints):
        kind = model.joints[index].shortname()
        data = model.joints[index].createData()
        model.joints[index].calc(data, np.zeros(model.nq), np.zeros(model.nv))
        twist = np.asarray(data.S).reshape(6)
        turning = bool(np.linalg.norm(twist[3:]) > 0.5)
        axis = twist[3:] if turning else twist[:3]
        if abs(np.linalg.norm(axis) - 1.0) > 1e-9 or "Mimic" in kind or "Helical" in kind:
            raise SimulatorError(
                f"joint {model.names[index]!r} is {kind}, expected revolute or prismatic; use the "
                "pinocchio back end or lock it"
            )
        axes.append(axis)
        revolute.append(turning)
    bodies = [model.inertias[index] for index in range(1, model.njoints)]
    placements = [model.jointPlacements[index] for index in range(1, model.njoints)]
    return Chain(
        parent=tuple(int(model.parents[index]) - 1 for index in range(1, model.njoints)),
        revolute=tuple(revolute),
        rotation=np.array([placement.rotation for placement in placements]),
        translation=np.array([placement.translation for placement in placements]),
        axis=np.array(axes),
        mass=np.array([body.mass for body in bodies]),
        com=np.array([body.lever for body in bodies]),
        inertia=np.array([body.inertia for body in bodies]),
        gravity=np.array(model.gravity.linear),
    )
