# SPDX-License-Identifier: Apache-2.0
"""Rigid-body quantities against finite differences, energies and a hand calculation."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pinocchio
import pytest
from numpy.typing import NDArray

from na_core.kinematics import GRAVITY, Kinematics
from na_core.robot_spec import RobotSpec, load_robot_spec

Array = NDArray[np.float64]
ROBOTS = ("omx", "so101", "panda")
STEP = 1e-6


@pytest.fixture(scope="module", params=ROBOTS)
def arm(request: pytest.FixtureRequest) -> tuple[RobotSpec, Kinematics]:
    spec = load_robot_spec(request.param)
    return spec, Kinematics(spec)


def configurations(spec: RobotSpec, count: int = 20) -> Array:
    """Positions within the limits, (count, n), the same on every run."""
    return np.random.default_rng(11).uniform(spec.lower, spec.upper, (count, spec.n))


def test_reach_of_the_stretched_omx_by_hand() -> None:
    """All joints at zero: the upper arm stands, forearm and hand point forward."""
    pose = Kinematics(load_robot_spec("omx")).fk(np.zeros(5))
    np.testing.assert_allclose(
        pose.position, [0.012 + 0.024 + 0.124 + 0.126, 0.0, 0.017 + 0.0595 + 0.128], atol=1e-12
    )
    np.testing.assert_allclose(pose.rotation, np.eye(3), atol=1e-12)


def test_positive_rotations_follow_the_right_hand() -> None:
    """REP-103: positive joint1 turns left (+y), positive pitch joints lower the hand."""
    kinematics = Kinematics(load_robot_spec("omx"))
    assert kinematics.fk([0.1, 0.0, 0.0, 0.0, 0.0]).position[1] > 0.02
    level = kinematics.fk(np.zeros(5)).position[2]
    for joint in (1, 2, 3):
        q = np.zeros(5)
        q[joint] = 0.1
        assert kinematics.fk(q).position[2] < level


def test_jacobian_meets_finite_differences(arm: tuple[RobotSpec, Kinematics]) -> None:
    spec, kinematics = arm
    for q in configurations(spec):
        columns = [
            (kinematics.fk(q + e).position - kinematics.fk(q - e).position) / (2.0 * STEP)
            for e in np.eye(spec.n) * STEP
        ]
        np.testing.assert_allclose(kinematics.jacobian(q), np.array(columns).T, atol=1e-8)


def potential(kinematics: Kinematics, q: Array) -> float:
    """Potential energy [J] from masses and heights alone."""
    model = kinematics.model
    data = model.createData()
    pinocchio.forwardKinematics(model, data, kinematics.full(q))
    heights = [
        data.oMi[i].act(model.inertias[i].lever)[2] * model.inertias[i].mass
        for i in range(1, model.njoints)
    ]
    return float(sum(heights)) * GRAVITY


def test_gravity_is_the_slope_of_potential_energy(arm: tuple[RobotSpec, Kinematics]) -> None:
    spec, kinematics = arm
    for q in configurations(spec):
        slope = [
            (potential(kinematics, q + e) - potential(kinematics, q - e)) / (2.0 * STEP)
            for e in np.eye(spec.n) * STEP
        ]
        np.testing.assert_allclose(kinematics.gravity(q), slope, atol=2e-7)


def test_mass_matrix_is_kinetic_energy(arm: tuple[RobotSpec, Kinematics]) -> None:
    """v' M v / 2 equals the energy of all links, second finger included."""
    spec, kinematics = arm
    rng = np.random.default_rng(3)
    model = kinematics.model
    for q in configurations(spec):
        velocity = rng.normal(size=spec.n)
        mass = kinematics.mass_matrix(q)
        np.testing.assert_allclose(mass, mass.T, atol=1e-15)
        assert np.linalg.eigvalsh(mass)[0] > 0.0
        data = model.createData()
        energy = pinocchio.computeKineticEnergy(
            model, data, kinematics.full(q), kinematics.select @ velocity
        )
        assert 0.5 * velocity @ mass @ velocity == pytest.approx(energy, rel=1e-12)


def test_inverse_dynamics_is_inertia_plus_bias(arm: tuple[RobotSpec, Kinematics]) -> None:
    spec, kinematics = arm
    rng = np.random.default_rng(5)
    zero = np.zeros(spec.n)
    for q in configurations(spec, 5):
        velocity, acceleration = rng.normal(size=(2, spec.n))
        np.testing.assert_allclose(
            kinematics.inverse_dynamics(q, zero, zero), kinematics.gravity(q), atol=1e-12
        )
        np.testing.assert_allclose(
            kinematics.inverse_dynamics(q, velocity, acceleration)
            - kinematics.inverse_dynamics(q, velocity, zero),
            kinematics.mass_matrix(q) @ acceleration,
            atol=1e-10,
        )


def test_the_second_finger_moves_with_the_first() -> None:
    """Opening the gripper by q moves both fingers by q, apart: twice the mass, no net torque."""
    spec = load_robot_spec("omx")
    kinematics = Kinematics(spec)
    full = kinematics.full([0.0, 0.0, 0.0, 0.0, 0.012])
    assert sorted(full)[-2:] == [0.012, 0.012]
    mass = kinematics.mass_matrix(np.zeros(5))
    assert mass[4, 4] == pytest.approx(2 * 0.0466, rel=1e-12)
    assert mass[0, 4] == pytest.approx(0.0, abs=1e-12)  # the fingers push against each other
    assert kinematics.jacobian(np.zeros(5))[:, 4].tolist() == [0.0, 0.0, 0.0]


def test_joints_are_matched_by_name_not_by_place() -> None:
    """A spec with the joints listed backwards gives the same numbers, backwards."""
    spec = load_robot_spec("omx")
    backwards = dataclasses.replace(spec, joints=spec.joints[::-1], home=spec.home[::-1])
    q = configurations(spec, 1)[0]
    forward, reverse = Kinematics(spec), Kinematics(backwards)
    np.testing.assert_allclose(reverse.gravity(q[::-1]), forward.gravity(q)[::-1], atol=1e-14)
    np.testing.assert_allclose(reverse.fk(q[::-1]).position, forward.fk(q).position, atol=1e-14)


def test_a_joint_the_urdf_lacks_is_named() -> None:
    spec = load_robot_spec("omx")
    with pytest.raises(ValueError, match="joint 'joint4' is not in"):
        Kinematics(dataclasses.replace(spec, joints=spec.joints[:3] + spec.joints[4:]))
    strange = dataclasses.replace(spec.joints[3], name="joint7")
    with pytest.raises(ValueError, match="no joint joint7, which"):
        Kinematics(dataclasses.replace(spec, joints=(*spec.joints, strange)))
    with pytest.raises(ValueError, match="no frame 'tool0'"):
        Kinematics(dataclasses.replace(spec, end_effector_frame="tool0"))


@pytest.mark.parametrize(
    ("q", "words"),
    [
        ([0.0] * 4, r"q has shape \(4,\): expected \(5,\)"),
        ([0.0, math.nan, 0.0, 0.0, 0.0], "q of joint2 is not finite"),
    ],
)
def test_a_bad_configuration_is_refused(q: list[float], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Kinematics(load_robot_spec("omx")).gravity(q)


def test_axes_and_origins_make_the_jacobian(arm: tuple[RobotSpec, Kinematics]) -> None:
    """A turning joint moves the tip by axis x (tip - origin); a joint of the gripper does not."""
    spec, kinematics = arm
    turning = [i for i, joint in enumerate(spec.joints) if joint.role == "arm"]
    for q in configurations(spec, 5):
        axes, origins = kinematics.axes(q), kinematics.origins(q)
        np.testing.assert_allclose(np.linalg.norm(axes, axis=0), 1.0)
        tip = kinematics.fk(q).position[:, None]
        expected = np.cross(axes, tip - origins, axis=0)[:, turning]
        np.testing.assert_allclose(kinematics.jacobian(q)[:, turning], expected, atol=1e-9)
