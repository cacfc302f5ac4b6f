# SPDX-License-Identifier: Apache-2.0
"""A throw-away arm for tests: short episodes of a PD-driven omx with a payload or a push."""

from __future__ import annotations

import numpy as np
import torch

from na_core.features import Ticks
from na_core.features.rigid import RigidArm
from na_core.robot_spec import load_robot_spec
from na_core.robot_urdf import urdf_string
from na_training.data import Episode
from na_training.data.labels import contact_from_force
from na_training.simulator import make_simulator

DT = 1.0 / 60.0
TORQUE_CONSTANT = 2.3  # N·m/A at the servo
SPEC = load_robot_spec("omx")


def toy_episode(
    seed: int, *, mass: float = 0.0, length: int = 240, restricted: float = 0.0
) -> Episode:
    """Follow a slow random goal with `mass` [kg], joint 3 on a spring `restricted` [N·m/rad].

    There is no friction, so everything here can be learned within seconds.
    """
    rng = np.random.default_rng(seed)
    ratio = np.array([joint.ratio for joint in SPEC.joints])
    simulator = make_simulator("pinocchio", SPEC, DT, dtype=torch.float64)
    arm = RigidArm(urdf_string(SPEC), SPEC.names, SPEC.end_effector_frame, np.zeros(SPEC.n))
    time = np.arange(length) * DT
    phase, pace = rng.uniform(0, 6.28, SPEC.n), rng.uniform(0.6, 1.4, SPEC.n)
    swing = np.array([0.5, 0.25, 0.25, 0.3, 0.3]) * np.sin(pace * time[:, None] + phase)
    goal = np.array(SPEC.home) + swing * ratio
    q, qd = goal[0].copy(), np.zeros(SPEC.n)
    force = np.array([0.0, 0.0, -9.81 * mass])
    rows = []
    for t in range(length):
        drive = (10.0 * (goal[t] - q) / ratio - 0.3 * qd / ratio) / ratio  # joint effort
        external = arm.terms(q, qd).jacobian.T @ force
        external[2] -= restricted * (q[2] - 0.35)
        rows.append((q, qd, drive * ratio / TORQUE_CONSTANT))
        states = [torch.as_tensor(item)[None] for item in (q, qd, drive + external)]
        following = simulator.step(*states)
        q, qd = (item[0].numpy() for item in following)
    position, velocity, current = (np.array(column) for column in zip(*rows, strict=True))
    noise = rng.normal(0.0, 1.0, (3, length, SPEC.n))
    labels = np.broadcast_to(force, (length, 3)).copy()
    supervised = np.full(SPEC.n, np.nan)
    supervised[2] = float(restricted > 0.0)
    return Episode(
        name=f"toy-{seed}",
        robot=SPEC.robot,
        category="force_labelled" if mass else "free_motion",
        task="toy",
        variant="",
        split_group="",
        pair_id="",
        time=time,
        ticks=Ticks.of(
            position=position + 2e-4 * noise[0] * ratio,
            velocity=velocity + 5e-3 * noise[1] * ratio,
            goal=goal,
            current=current + 2e-3 * noise[2],
            voltage=np.full(position.shape, 12.0),
            temperature=np.full(position.shape, 40.0),
        ),
        segments=np.array([[0, length]]),
        force=labels,
        contact=contact_from_force(labels),
        restricted=supervised,
        truth=labels,
        payload=mass,
        dithered=np.zeros(length, dtype=bool),
    )


def toy_set(count: int = 8, length: int = 240) -> list[Episode]:
    """Half free, half with 0.1 to 0.4 kg; every second one with a spring on joint 3."""
    return [
        toy_episode(
            seed,
            mass=0.1 * (1 + seed % 4) if seed % 2 else 0.0,
            length=length,
            restricted=1.0 if seed % 4 < 2 else 0.0,
        )
        for seed in range(count)
    ]
