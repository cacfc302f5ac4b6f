# SPDX-License-Identifier: Apache-2.0
"""Keeps gears inside what a 1 kHz step can integrate on the lightest link that they carry."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from na_sim.scene import Scene

Array = NDArray[np.float64]

HIGHEST = 0.75  # natural frequency of a link on its gears times the step [rad]
DAMPING = 0.9  # gear damping (numerical part included) times step over link inertia
POSES = 24


def lightest_inertia(scene: Scene, scale: Array, lower: Array, upper: Array) -> Array:
    """Smallest inertia (n,) [kg m^2 at the servo] that each joint's gears feel, other joints free.

    Looked for over random poses between `lower` and `upper` (n,); of a joint with a mimic the
    lighter finger counts. `scale` (n,) is joint units per servo radian.
    """
    model = scene.model
    data = mujoco.MjData(model)
    rng = np.random.default_rng(0)
    smallest = np.full(len(scale), np.inf)
    mass = np.zeros((model.nv, model.nv))
    for _ in range(POSES):
        q = rng.uniform(lower, upper)
        data.qpos[scene.qpos] = q
        twins = scene.mimic_qpos >= 0
        data.qpos[scene.mimic_qpos[twins]] = q[twins]
        mujoco.mj_forward(model, data)
        mujoco.mj_fullM(model, data, mass)
        felt = 1.0 / np.diag(np.linalg.inv(mass))
        smallest = np.minimum(smallest, felt[scene.dof] * scale**2)
        twin_felt = felt[scene.mimic_dof[twins]] * scale[twins] ** 2
        smallest[twins] = np.minimum(smallest[twins], twin_felt)
    return smallest


def limit_gears(parameters: NDArray[Any], scene: Scene, lower: Array, upper: Array) -> NDArray[Any]:
    """Servo records (n,) with stiffness and gear damping lowered where the step demands it.

    Very light links (a wrist roll, a finger) would ring faster than the physics steps; their
    gears are made softer instead. Others are returned unchanged.
    """
    out = parameters.copy()
    dt = float(scene.model.opt.timestep)
    inertia = lightest_inertia(scene, out["scale"], lower, upper)
    share = np.where(scene.mimic_dof >= 0, 0.5, 1.0)  # two fingers divide the stiffness
    out["stiffness"] = np.minimum(out["stiffness"], (HIGHEST / dt) ** 2 * inertia / share)
    numerical = out["stiffness"] * dt
    room = np.maximum(DAMPING * inertia / dt / share - numerical, 0.0)
    out["gear_damping"] = np.minimum(out["gear_damping"], room)
    out["link_damping"] = np.minimum(out["link_damping"], 0.2 * inertia / dt)
    return out
