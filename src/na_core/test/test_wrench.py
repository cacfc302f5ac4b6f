# SPDX-License-Identifier: Apache-2.0
"""The sign of the external force, pinned down with a weight."""

from __future__ import annotations

import math

import numpy as np
import pinocchio
import pytest
from numpy.typing import NDArray

from na_core.robot_spec import RobotSpec, load_robot_spec
from na_core.wrench import (
    GRAVITY,
    Kinematics,
    base_to_frame,
    external_effort,
    frame_to_base,
    payload_force,
)

Array = NDArray[np.float64]
MASS = 0.25  # kg


class Loaded:
    """The same arm with a point mass at the end-effector origin, on its own Pinocchio model."""

    def __init__(self, kinematics: Kinematics) -> None:
        self.kinematics = kinematics
        self.model = kinematics.model.copy()
        frame = self.model.frames[kinematics.frame_id]
        payload = pinocchio.Inertia(MASS, np.zeros(3), np.zeros((3, 3)))
        self.model.appendBodyToJoint(frame.parentJoint, payload, frame.placement)
        self.data = self.model.createData()

    def gravity(self, q: Array) -> Array:
        """Efforts (n,) that hold arm and mass at rest."""
        full = self.kinematics.full(q)
        effort = pinocchio.computeGeneralizedGravity(self.model, self.data, full)
        return np.asarray(self.kinematics.select.T @ effort)


@pytest.fixture(scope="module", params=("omx", "so101", "panda"))
def arm(request: pytest.FixtureRequest) -> tuple[RobotSpec, Kinematics, Loaded]:
    spec = load_robot_spec(request.param)
    kinematics = Kinematics(spec)
    return spec, kinematics, Loaded(kinematics)


def configurations(spec: RobotSpec) -> Array:
    return np.random.default_rng(23).uniform(spec.lower, spec.upper, (20, spec.n))


def test_a_weight_pulls_down_in_base_axes() -> None:
    np.testing.assert_allclose(payload_force(0.5), [0.0, 0.0, -0.5 * 9.81])
    assert payload_force(0.0).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("mass", [-0.1, math.nan, math.inf])
def test_a_mass_that_cannot_hang_is_refused(mass: float) -> None:
    with pytest.raises(ValueError, match="expected a finite mass of at least 0"):
        payload_force(mass)


def test_the_servos_supply_minus_the_external_effort(
    arm: tuple[RobotSpec, Kinematics, Loaded],
) -> None:
    """Gravity efforts of the model with the weight, less those without, are -J^T f."""
    spec, empty, loaded = arm
    for q in configurations(spec):
        extra = loaded.gravity(q) - empty.gravity(q)
        effort = external_effort(empty.jacobian(q), payload_force(MASS))
        np.testing.assert_allclose(extra, -effort, atol=1e-12)


def test_the_same_in_end_effector_axes(arm: tuple[RobotSpec, Kinematics, Loaded]) -> None:
    """Force and Jacobian both rotated into the end-effector frame give the same efforts."""
    spec, empty, loaded = arm
    for q in configurations(spec):
        rotation = empty.fk(q).rotation
        force = base_to_frame(payload_force(MASS), rotation)
        jacobian = rotation.T @ empty.jacobian(q)
        extra = loaded.gravity(q) - empty.gravity(q)
        np.testing.assert_allclose(extra, -external_effort(jacobian, force), atol=1e-12)


def test_a_weight_on_the_level_omx_by_hand() -> None:
    """Level arm: joint2 must supply -m g x with lever x, because positive pitch lowers the hand."""
    kinematics = Kinematics(load_robot_spec("omx"))
    effort = external_effort(kinematics.jacobian(np.zeros(5)), payload_force(MASS))
    levers = np.array([0.024 + 0.124 + 0.126, 0.124 + 0.126, 0.126])
    np.testing.assert_allclose(effort[1:4], MASS * GRAVITY * levers, rtol=1e-12)
    assert effort[0] == pytest.approx(0.0, abs=1e-12)
    assert (-effort[1:4] < 0.0).all()  # what the servos supply against it


def test_a_hand_that_points_down_feels_the_weight_along_its_own_x() -> None:
    """omx with the gripper straight down: base -z is the end effector's +x (forward) axis."""
    kinematics = Kinematics(load_robot_spec("omx"))
    rotation = kinematics.fk([0.0, 0.0, 0.0, math.pi / 2.0, 0.0]).rotation
    np.testing.assert_allclose(
        base_to_frame(payload_force(MASS), rotation), [MASS * GRAVITY, 0.0, 0.0], atol=1e-12
    )


def test_frames_there_and_back_in_batches() -> None:
    rng = np.random.default_rng(1)
    force = rng.normal(size=(6, 3))
    rotation = np.array([pinocchio.exp3(v) for v in rng.normal(size=(6, 3))])
    back = frame_to_base(base_to_frame(force, rotation), rotation)
    np.testing.assert_allclose(back, force, atol=1e-14)
    np.testing.assert_allclose(
        np.linalg.norm(base_to_frame(force, rotation), axis=1), np.linalg.norm(force, axis=1)
    )


def test_a_wrong_shape_shows_both_sides() -> None:
    with pytest.raises(ValueError, match=r"force \(2,\) with rotation \(3, 3\): expected"):
        base_to_frame([1.0, 2.0], np.eye(3))
