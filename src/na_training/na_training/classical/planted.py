# SPDX-License-Identifier: Apache-2.0
"""Planted parameters and what each identifying method finds of them: the table of the guide."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from na_core.features import MotorModel, PhysicsFeatures, Ticks
from na_core.features.rigid import reduced_model
from na_core.robot_spec import RobotSpec
from na_core.robot_urdf import urdf_string
from na_training.classical import mujoco_sysid as toolbox
from na_training.classical.physical import fit_physical
from na_training.classical.regressor import Regressor, base_parameters
from na_training.classical.rigid_body import fit_payload, fit_rigid_body
from na_training.classical.samples import Samples
from na_training.data import Episode
from na_training.data.motor_fit import fit_motor

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Recovery:
    """One planted number.

    Attributes:
        method: that identified it.
        parameter: with unit.
        planted: value that the data were made with.
        found: value that came out.
        deviation: standard deviation that the method states, NaN when it states none.
    """

    method: str
    parameter: str
    planted: float
    found: float
    deviation: float = float("nan")

    @property
    def error(self) -> float:
        """Found less planted, as a share of planted where that is not zero [1]."""
        gap = self.found - self.planted
        return gap / abs(self.planted) if self.planted else gap


def heavier(model: pin.Model) -> pin.Model:
    """The arm with a third body 40 % heavier and its centre 1 cm further out."""
    other = model.copy()
    body = other.inertias[3]
    other.inertias[3] = pin.Inertia(
        1.4 * body.mass, body.lever + np.array([0.01, 0.0, 0.0]), 1.6 * body.inertia
    )
    return other


def arm_efforts(model: pin.Model, motion: Samples, drives: Array, sign_speed: Array) -> Array:
    """Efforts (N, n) by inverse dynamics and drives (4, n) as in `regressor.FRICTION`."""
    data = model.createData()
    rows = zip(motion.q, motion.qd, motion.qdd, strict=True)
    effort = np.array([pin.rnea(model, data, *row) for row in rows])
    effort += drives[0] * np.tanh(motion.qd / sign_speed) + drives[1] * motion.qd
    return np.asarray(effort + drives[2] + drives[3] * motion.qdd)


def rigid_body_rows(spec: RobotSpec, noise: float = 0.02, seed: int = 0) -> list[Recovery]:
    """Both identifications and the payload fit on the arm's URDF with changes planted."""
    arm = [joint.name for joint in spec.joints if joint.role == "arm"]
    model = reduced_model(urdf_string(spec), tuple(arm))
    n = model.nv
    regressor = Regressor(model, np.full(n, 0.05))
    rng = np.random.default_rng(seed)
    motion = regressor.random(rng, 1500)
    drives = np.array([[0.12] * n, [0.05] * n, [0.03] * n, [0.006] * n])
    changed = heavier(model)
    effort = arm_efforts(changed, motion, drives, regressor.sign_speed)
    data = Samples(motion.q, motion.qd, motion.qdd, effort + rng.normal(0.0, noise, effort.shape))
    base = base_parameters(regressor)
    rigid = fit_rigid_body(regressor, data, base)
    body = fit_physical(regressor, data, rigid.noise)
    truth = np.concatenate(
        [*(changed.inertias[i].toDynamicParameters() for i in range(1, n + 1)), drives.ravel()]
    )
    wanted = base.reduce(truth)
    out = []
    for j in (1, 2):
        for kind, unit in (("coulomb", "N·m"), ("viscous", "N·m·s/rad")):
            column = regressor.inertial + regressor.friction.index(kind) * n + j
            row = int(np.flatnonzero(base.columns == column)[0])
            label = f"{arm[j]} {kind} [{unit}]"
            out.append(
                Recovery(
                    "identification, base parameters", label, float(wanted[row]),
                    float(rigid.beta[row]), float(rigid.deviation[row]),
                )
            )  # fmt: skip
            out.append(
                Recovery(
                    "identification, possible bodies", label, float(truth[column]),
                    float(body.parameters[column]),
                )
            )  # fmt: skip
    first = 10 * (n - 1) + 1  # first moment of the last body along x: identifiable by itself
    out.append(
        Recovery(
            "identification, possible bodies",
            f"{arm[-1]} body, mass times centre, x [kg·m]",
            float(truth[first]),
            float(body.parameters[first]),
        )
    )
    loaded = model.copy()
    loaded.inertias[n] = loaded.inertias[n] + pin.Inertia(
        0.35, np.array([0.12, 0.0, 0.01]), 1e-4 * np.eye(3)
    )
    effort = arm_efforts(loaded, motion, drives, regressor.sign_speed)
    data = Samples(motion.q, motion.qd, motion.qdd, effort + rng.normal(0.0, noise, effort.shape))
    tool, _ = fit_payload(regressor, data, ridge=1e-6)
    out.append(Recovery("payload fit", "mass [kg]", 0.35, tool.mass, tool.deviation))
    out.append(Recovery("payload fit", "mass times centre, x [kg·m]", 0.042, float(tool.moment[0])))
    return out


def motor_rows(spec: RobotSpec, seed: int = 0) -> list[Recovery]:
    """ID-Friction's constants from telemetry with a planted motor, quantised as a servo's."""
    planted = MotorModel.published(spec)
    ratio = np.array([joint.ratio for joint in spec.joints])
    planted = replace(
        planted,
        torque_constant=1.3 * planted.torque_constant,
        offset=np.full(spec.n, 0.004),
        coulomb=0.12 / ratio,
        viscous=0.05 / ratio**2,
    )
    dt = 1.0 / spec.control_rate
    physics = PhysicsFeatures.for_robot(spec, dt, planted)
    rng = np.random.default_rng(seed)
    time = np.arange(0.0, 90.0, dt)
    middle, half = 0.5 * (spec.lower + spec.upper), 0.35 * (spec.upper - spec.lower)
    phase = rng.uniform(0.0, 2.0 * np.pi, (3, spec.n))
    rate = rng.uniform(0.8, 2.6, (3, spec.n))
    angle = time[:, None, None] * rate + phase
    q = middle + half / 3.0 * np.sin(angle).sum(axis=1)
    qd = (half / 3.0 * rate * np.cos(angle)).sum(axis=1)
    terms = physics.arm.terms(q, qd)
    slope = np.gradient(terms.momentum, dt, axis=0)
    effort = slope - terms.drift + planted.friction(qd)
    current = effort / planted.torque_constant + planted.offset
    current = np.round((current + rng.normal(0.0, 0.006, current.shape)) / 2.69e-3) * 2.69e-3
    ticks = Ticks.of(
        position=q,
        velocity=qd,
        goal=q,
        current=current,
        voltage=np.full_like(q, 12.0),
        temperature=np.full_like(q, 40.0),
    )
    zero = np.zeros((len(time), 3))
    episode = Episode(
        "planted", spec.robot, "free_motion", "sines", "", "", "", time, ticks,
        np.array([[0, len(time)]]), zero, np.zeros(len(time)), np.full(spec.n, np.nan),
        np.full_like(zero, np.nan),
    )  # fmt: skip
    found = fit_motor(spec, [episode])
    joint = 1
    name = spec.names[joint]
    rows = (
        ("torque constant [N·m/A]", "torque_constant"),
        ("Coulomb [N·m]", "coulomb"),
        ("viscous [N·m·s/rad]", "viscous"),
        ("current offset [A]", "offset"),
    )
    return [
        Recovery(
            "ID-Friction, current on effort",
            f"{name} {text}",
            float(getattr(planted, key)[joint]),
            float(getattr(found, key)[joint]),
        )
        for text, key in rows
    ]


def toolbox_rows(noise: float = 5e-4, seed: int = 0) -> list[Recovery]:
    """MuJoCo's toolbox on a pendulum with planted mass, damping, friction and delay."""
    values = {
        "armature": 0.002, "damping": 0.02, "friction": 0.03, "length": 0.1, "mass": 0.49,
    }  # fmt: skip
    delay = 0.012
    time = np.arange(0.0, 6.0, 0.002)
    rng = np.random.default_rng(seed)
    control = 0.35 * np.sin(2.1 * time) + 0.25 * np.sin(5.3 * time + 1.0)
    truth = toolbox.simulate(toolbox.pendulum(values), time, control[:, None], delay)
    seen = replace(truth, position=truth.position + rng.normal(0.0, noise, truth.position.shape))
    unknowns = (
        toolbox.Unknown("mass", "kg", 0.1, 1.5, 0.8, toolbox.body_mass_setter("rod")),
        toolbox.Unknown("damping", "N·m·s/rad", 1e-4, 0.2, 0.06,
                        toolbox.joint_setter("joint1", "damping")),
        toolbox.Unknown("friction", "N·m", 1e-4, 0.2, 0.08,
                        toolbox.joint_setter("joint1", "frictionloss")),
        toolbox.Unknown(toolbox.DELAY, "s", 0.0, 0.05, 0.03),
    )  # fmt: skip
    start = toolbox.pendulum(values)
    found, deviation = toolbox.identify(start, [seen], unknowns)
    planted = {**values, toolbox.DELAY: delay}
    return [
        Recovery(
            "mujoco.sysid", f"{u.name} [{u.unit}]", planted[u.name], found[u.name],
            deviation[u.name],
        )
        for u in unknowns
    ]  # fmt: skip


def all_rows(spec: RobotSpec) -> list[Recovery]:
    """Every planted parameter of every method."""
    makers: tuple[Callable[[], list[Recovery]], ...] = (
        lambda: motor_rows(spec),
        lambda: rigid_body_rows(spec),
        toolbox_rows,
    )
    return [row for make in makers for row in make()]
