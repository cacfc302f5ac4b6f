# SPDX-License-Identifier: Apache-2.0
"""The robot as lines between its joints, for drawing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pinocchio
from numpy.typing import NDArray

from na_core.kinematics import Kinematics

if TYPE_CHECKING:
    from na_core.robot_spec import RobotSpec

Array = NDArray[np.float64]


class ArmSkeleton:
    """Segments (2, 3) [m] from each joint to the one before it, and to the end effector."""

    def __init__(self, spec: RobotSpec) -> None:
        self._kinematics = Kinematics(spec)
        self._data = self._kinematics.model.createData()

    def segments(self, q: Array) -> list[Array]:
        """Segments in base axes at joint positions q (n,)."""
        model, data = self._kinematics.model, self._data
        pinocchio.framesForwardKinematics(model, data, self._kinematics.full(q))
        lines = []
        for joint in range(1, model.njoints):
            parent = int(model.parents[joint])
            lines.append(np.stack([data.oMi[parent].translation, data.oMi[joint].translation]))
        frame = model.frames[self._kinematics.frame_id]
        tip = data.oMf[self._kinematics.frame_id].translation
        lines.append(np.stack([data.oMi[int(frame.parentJoint)].translation, tip]))
        return lines

    def tip(self, q: Array) -> Array:
        """Origin of the end effector in the base (3,) [m]."""
        return self._kinematics.fk(q).position
