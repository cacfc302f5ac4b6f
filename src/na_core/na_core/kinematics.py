# SPDX-License-Identifier: Apache-2.0
"""Rigid-body quantities of one robot by joint name, mimic joints folded in, on Pinocchio."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pinocchio
from numpy.typing import ArrayLike, NDArray

from na_core.robot_urdf import urdf_string

if TYPE_CHECKING:
    from na_core.robot_types import RobotSpec

Array = NDArray[np.float64]

GRAVITY = 9.81  # m/s², the value of Pinocchio and MuJoCo


@dataclass(frozen=True)
class Pose:
    """Where a frame is: position (3,) [m] and rotation (3, 3), both in base axes."""

    position: Array
    rotation: Array


class Kinematics:
    """Forward kinematics, Jacobian, gravity and inertia of one robot.

    Every argument and result is in the canonical joint order of the spec. A mimic joint (the second
    finger) has no coordinate of its own: with the map ``q_full = S q + s0`` from the spec's joints
    to all joints of the URDF, efforts and Jacobians are folded by ``S^T`` and ``S``. Base axes are
    those of `spec.base_frame`, the root link, with gravity along its -z.

    Not safe for use from two threads at once (Pinocchio's workspace is shared): make one each.

    Args:
        spec: the robot.

    Raises:
        ValueError: the URDF lacks a joint or frame that the spec names.
    """

    def __init__(self, spec: RobotSpec) -> None:
        text = urdf_string(spec)
        self.names = spec.names
        self.n = spec.n
        self.model: Any = pinocchio.buildModelFromXML(text)
        self.model.gravity.linear = np.array([0.0, 0.0, -GRAVITY])
        self._data: Any = self.model.createData()
        self.frame_name = spec.end_effector_frame
        if not self.model.existFrame(spec.end_effector_frame):
            raise ValueError(
                f"{spec.urdf}: no frame '{spec.end_effector_frame}': expected the "
                f"end_effector_frame of {spec.path}"
            )
        self.frame_id: int = self.model.getFrameId(spec.end_effector_frame)
        self.select, self.offset = _selection(self.model, text, spec)

    def full(self, q: ArrayLike) -> Array:
        """Joint positions (n,) to positions of every URDF joint, mimics included (nq,)."""
        return self.select @ self._vector(q, "q") + self.offset

    def fk(self, q: ArrayLike) -> Pose:
        """Pose of the end-effector frame in the base at joint positions q (n,)."""
        pinocchio.framesForwardKinematics(self.model, self._data, self.full(q))
        placement = self._data.oMf[self.frame_id]
        return Pose(placement.translation.copy(), placement.rotation.copy())

    def jacobian(self, q: ArrayLike) -> Array:
        """Jacobian (3, n) of the end-effector origin, base axes [m per joint unit]."""
        both = pinocchio.computeFrameJacobian(
            self.model,
            self._data,
            self.full(q),
            self.frame_id,
            pinocchio.ReferenceFrame.LOCAL_WORLD_ALIGNED,
        )
        return np.asarray(both[:3] @ self.select)

    def axes(self, q: ArrayLike) -> Array:
        """Axis of every joint (3, n) in base axes at q (n,); of a slide, its direction."""
        data = self._data
        pinocchio.computeJointJacobians(self.model, data, self.full(q))
        columns = np.zeros((3, self.n))
        for i, name in enumerate(self.names):
            joint = self.model.joints[self.model.getJointId(name)]
            column = data.J[:, joint.idx_v]
            columns[:, i] = column[3:] if np.any(column[3:]) else column[:3]
        return columns

    def origins(self, q: ArrayLike) -> Array:
        """Where every joint's frame is (3, n) [m], base axes, at q (n,)."""
        pinocchio.forwardKinematics(self.model, self._data, self.full(q))
        places = [self._data.oMi[self.model.getJointId(name)].translation for name in self.names]
        return np.array(places).T

    def gravity(self, q: ArrayLike) -> Array:
        """Efforts (n,) [N·m or N] that hold the arm at rest at q (n,) without external force."""
        full = pinocchio.computeGeneralizedGravity(self.model, self._data, self.full(q))
        return np.asarray(self.select.T @ full)

    def mass_matrix(self, q: ArrayLike) -> Array:
        """Joint-space inertia (n, n) of the links at q (n,); rotors are not in the URDF."""
        upper = np.triu(pinocchio.crba(self.model, self._data, self.full(q)))
        symmetric = upper + np.triu(upper, 1).T
        return np.asarray(self.select.T @ symmetric @ self.select)

    def inverse_dynamics(self, q: ArrayLike, velocity: ArrayLike, acceleration: ArrayLike) -> Array:
        """Efforts (n,) for `acceleration` (n,) at q and `velocity` (n,), no external force."""
        full = pinocchio.rnea(
            self.model,
            self._data,
            self.full(q),
            self.select @ self._vector(velocity, "velocity"),
            self.select @ self._vector(acceleration, "acceleration"),
        )
        return np.asarray(self.select.T @ full)

    def _vector(self, values: ArrayLike, name: str) -> Array:
        array = np.asarray(values, dtype=np.float64)
        if array.shape != (self.n,):
            raise ValueError(
                f"{name} has shape {array.shape}: expected ({self.n},), one value each for "
                f"{', '.join(self.names)}"
            )
        if not np.isfinite(array).all():
            bad = [n for n, ok in zip(self.names, np.isfinite(array), strict=True) if not ok]
            raise ValueError(f"{name} of {', '.join(bad)} is not finite: expected numbers")
        return array

    def __repr__(self) -> str:
        return f"Kinematics({', '.join(self.names)}; {self.frame_name})"


def _selection(model: Any, urdf: str, spec: RobotSpec) -> tuple[Array, Array]:
    """Return S (nv, n) and s0 (nv,) with ``q_full = S q + s0``.

    Every URDF joint that moves must be a joint of the spec or mimic one.
    """
    mimics = {
        joint.get("name"): joint.find("mimic")
        for joint in ElementTree.fromstring(urdf).iter("joint")
        if joint.find("mimic") is not None
    }
    select = np.zeros((model.nv, spec.n))
    offset = np.zeros(model.nv)
    seen = set()
    for joint_id in range(1, model.njoints):
        name = model.names[joint_id]
        row = model.joints[joint_id].idx_v
        mimic = mimics.get(name)
        if mimic is not None:
            leader = mimic.get("joint", "")
            select[row, spec.order.index(leader)] = float(mimic.get("multiplier", "1"))
            offset[row] = float(mimic.get("offset", "0"))
        elif name in spec.names:
            select[row, spec.order.index(name)] = 1.0
            seen.add(name)
        else:
            raise ValueError(f"{spec.urdf}: joint '{name}' is not in {spec.path}")
    missing = [name for name in spec.names if name not in seen]
    if missing:
        raise ValueError(f"{spec.urdf}: no joint {', '.join(missing)}, which {spec.path} lists")
    return select, offset
