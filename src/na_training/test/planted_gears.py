# SPDX-License-Identifier: Apache-2.0
"""An arm without inertia but with planted friction and gears, pushed by a hand.

Written apart from the observer: the rotor sticks, or slips until the friction law holds.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from toy_data import DT, SPEC, TORQUE_CONSTANT

from na_core.features import GearModel, MotorModel, Ticks
from na_core.features.rigid import RigidArm
from na_core.robot_urdf import urdf_string
from na_training.data import Episode
from na_training.data.labels import contact_from_force

STIFF = 25.0  # N·m/rad, of the position controller
COUNT = 2.0 * np.pi / 4096.0
SUBSTEPS = 4


def planted_gears(scale: float = 1.0) -> GearModel:
    """Constants per joint, friction multiplied by `scale`."""
    ones = np.ones(SPEC.n)
    return GearModel(
        stiffness=130.0 * ones,
        backlash=0.004 * ones,
        coulomb=0.1 * scale * ones,
        stribeck=1e-6 * ones,
        stribeck_speed=0.1 * ones,
        viscous=1e-6 * ones,
        load_share=0.1 * scale * ones,
    )


def planted_motor() -> MotorModel:
    """Its motors: published ones but for the torque constant, without inertia."""
    ratio = np.array([joint.ratio for joint in SPEC.joints])
    published = MotorModel.published(SPEC)
    return replace(published, torque_constant=TORQUE_CONSTANT / ratio, rotor=np.zeros(SPEC.n))


def pushed_episode(seed: int, gears: GearModel, length: int = 900, unit: str = "") -> Episode:
    """Slow motion between poses, and pushes of up to 6 N in random directions."""
    rng = np.random.default_rng(seed)
    ratio = np.array([joint.ratio for joint in SPEC.joints])
    arm = RigidArm(urdf_string(SPEC), SPEC.names, SPEC.end_effector_frame, np.zeros(SPEC.n))
    time = np.arange(length) * DT
    knots = np.linspace(0.0, time[-1], 6)
    poses = np.array(SPEC.home) + rng.uniform(-0.3, 0.3, (6, SPEC.n)) * ratio
    goal = np.stack([np.interp(time, knots, poses[:, j]) for j in range(SPEC.n)], axis=1)
    at = np.linspace(0.0, time[-1], 31)
    sizes = np.where(np.arange(31)[:, None] % 3 > 0, rng.normal(0.0, 2.5, (31, 3)), 0.0)
    force = np.stack([np.interp(time, at, sizes[:, axis]) for axis in range(3)], axis=1)
    rotor, q = goal[0] / ratio, goal[0].copy()
    rows = []
    for tick in range(length):
        for _ in range(SUBSTEPS):
            terms = arm.terms(q, np.zeros(SPEC.n))
            load = (terms.gravity - terms.jacobian.T @ force[tick]) * ratio
            twist = load / gears.stiffness + 0.5 * gears.backlash * np.sign(load)
            motor = STIFF * (goal[tick] / ratio - (rotor - twist))
            over = np.abs(motor - load) - gears.coulomb
            over -= gears.load_share * np.abs(motor + load)
            slip = np.maximum(over, 0.0) / (STIFF * (1.0 - gears.load_share))
            rotor = rotor + np.sign(motor - load) * slip
            q = (rotor - twist) * ratio
        motor = STIFF * (goal[tick] / ratio - q / ratio)
        rows.append((q, motor / TORQUE_CONSTANT))
    position, current = (np.array(column) for column in zip(*rows, strict=True))
    noise = rng.normal(0.0, 1.0, (2, *position.shape))
    read = np.round((position / ratio + 4e-4 * noise[0]) / COUNT) * COUNT * ratio
    return Episode(
        name=f"pushed-{seed}",
        robot=SPEC.robot,
        category="force_labelled",
        task="push",
        variant="",
        split_group="",
        pair_id="",
        time=time,
        ticks=Ticks.of(
            position=read,
            velocity=np.gradient(position, DT, axis=0),
            goal=goal,
            current=current + 4e-3 * noise[1],
            voltage=np.full(position.shape, 12.0),
            temperature=np.full(position.shape, 40.0),
        ),
        segments=np.array([[0, length]]),
        force=force,
        contact=contact_from_force(force),
        restricted=np.full(SPEC.n, np.nan),
        truth=force,
        unit=unit,
    )
