# SPDX-License-Identifier: Apache-2.0
"""Where the arm's links are for given joints, and joints for a wanted tip position (MuJoCo)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mujoco
import numpy as np
from numpy.typing import NDArray

from na_sim.scene import Scene, build_scene

if TYPE_CHECKING:
    from na_core.robot_spec import RobotSpec

Array = NDArray[np.float64]

IK_DAMPING = 1e-4
IK_STEPS = 40
IK_PITCH_STEPS = 8  # steps given to the weak wish for a pitch
IK_CLOSE = 3e-4  # m


class Reach:
    """Forward and inverse position kinematics of one robot, for planning operator motions."""

    def __init__(self, robot: RobotSpec, scene: Scene | None = None) -> None:
        self.robot = robot
        self.scene = scene or build_scene(robot)
        self.model = self.scene.model
        self.data = mujoco.MjData(self.model)
        self._links = [body for body in range(1, self.model.nbody) if self._joints_above(body) > 2]
        self._jac = np.zeros((3, self.model.nv))

    def _joints_above(self, body: int) -> int:
        """Number of joints between the base and `body`: with few, its height hardly changes."""
        count = 0
        while body:
            count += int(self.model.body_jntnum[body])
            body = int(self.model.body_parentid[body])
        return count

    def _set(self, q: Array) -> None:
        self.data.qpos[self.scene.qpos] = q
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_comPos(self.model, self.data)

    def tip(self, q: Array) -> Array:
        """End-effector origin (3,) [m] in base axes for joints `q` (n,)."""
        self._set(q)
        return np.array(self.data.xpos[self.scene.end_effector])

    def tip_rotation(self, q: Array) -> Array:
        """Rotation (3, 3) of the end-effector frame in base axes."""
        self._set(q)
        return np.array(self.data.xmat[self.scene.end_effector]).reshape(3, 3)

    def lowest(self, q: Array) -> float:
        """Height [m] above the base origin of the lowest link origin past the second joint."""
        self._set(q)
        return float(self.data.xpos[self._links, 2].min())

    def jacobian(self, q: Array) -> Array:
        """Jacobian (3, n) of the end-effector origin, base axes."""
        self._set(q)
        mujoco.mj_jacBody(self.model, self.data, self._jac, None, self.scene.end_effector)
        return self._jac[:, self.scene.dof].copy()

    def solve(self, target: Array, start: Array, pitch: float | None = None) -> tuple[Array, float]:
        """Joints that bring the tip to `target` (3,) [m], from `start` (n,).

        `pitch` [rad] asks for the angle of the tip's x axis below the horizon (weakly). Returns
        the joints, inside the limits, and the remaining distance [m].
        """
        q = np.array(start, dtype=np.float64)
        arm = [j for j, joint in enumerate(self.robot.joints) if joint.role == "arm"]
        lower, upper = self.robot.lower[arm], self.robot.upper[arm]
        error = np.zeros(3)
        for steps in range(IK_STEPS):
            jac = self.jacobian(q)[:, arm]
            error = target - self.data.xpos[self.scene.end_effector]
            if np.linalg.norm(error) < IK_CLOSE and (pitch is None or steps > IK_PITCH_STEPS):
                break
            rows, rhs = [jac], [error]
            if pitch is not None:
                x_axis = np.array(self.data.xmat[self.scene.end_effector]).reshape(3, 3)[:, 0]
                now = -np.arcsin(np.clip(x_axis[2], -1.0, 1.0))
                rows.append(0.05 * self._pitch_row(q, arm))
                rhs.append(np.array([0.05 * (pitch - now)]))
            a = np.vstack(rows)
            b = np.concatenate(rhs)
            step = np.linalg.solve(a.T @ a + IK_DAMPING * np.eye(len(arm)), a.T @ b)
            q[arm] = np.clip(q[arm] + np.clip(step, -0.2, 0.2), lower, upper)
        self._set(q)
        error = target - self.data.xpos[self.scene.end_effector]
        return q, float(np.linalg.norm(error))

    def _pitch_row(self, q: Array, arm: list[int]) -> Array:
        """Change of the tip's downward pitch per joint (len(arm),)."""
        rotation = np.zeros((3, self.model.nv))
        mujoco.mj_jacBody(self.model, self.data, None, rotation, self.scene.end_effector)
        x_axis = np.array(self.data.xmat[self.scene.end_effector]).reshape(3, 3)[:, 0]
        level = max(np.hypot(x_axis[0], x_axis[1]), 1e-6)
        columns = rotation[:, self.scene.dof[arm]]
        change_z = columns[0] * x_axis[1] - columns[1] * x_axis[0]  # (w x axis)_z
        return np.asarray(-change_z / level)
