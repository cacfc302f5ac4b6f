# SPDX-License-Identifier: Apache-2.0
"""Pinocchio and MuJoCo read the same URDF and must agree on it to 1e-6.

Both engines get every moving joint of the URDF as an independent coordinate, and quantities are
matched by joint name. Pinocchio ignores the mimic of the second finger here; MuJoCo turns it into
an equality constraint, which is switched off except where a test is about it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
import pinocchio
import pytest
from numpy.typing import NDArray

from na_core.robot_spec import RobotSpec, load_robot_spec, urdf_string

Array = NDArray[np.float64]
TOLERANCE = 1e-6
CONTACT = int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
EQUALITY = int(mujoco.mjtDisableBit.mjDSBL_EQUALITY)
# Keep every link and shape as written: no merging of fixed links, no mending of inertias.
COMPILER = (
    '<mujoco><compiler fusestatic="false" discardvisual="false" balanceinertia="false" '
    'strippath="true"/></mujoco></robot>'
)


@dataclass
class Engines:
    """One robot in both engines, and where each joint sits in MuJoCo (Pinocchio order)."""

    spec: RobotSpec
    pin: Any
    pin_data: Any
    mj: Any
    mj_data: Any
    dof: list[int]

    def set(self, q: Array) -> None:
        """Put both engines at q (nv,), Pinocchio order, at rest."""
        self.mj_data.qvel[:] = 0.0
        self.mj_data.qpos[self.dof] = q
        mujoco.mj_forward(self.mj, self.mj_data)
        pinocchio.computeAllTerms(self.pin, self.pin_data, q, np.zeros(self.pin.nv))
        pinocchio.updateFramePlacements(self.pin, self.pin_data)


@pytest.fixture(scope="module", params=("omx", "so101", "panda"))
def engines(request: pytest.FixtureRequest) -> Engines:
    spec = load_robot_spec(request.param)
    text = urdf_string(spec)
    pin = pinocchio.buildModelFromXML(text)
    mj = mujoco.MjModel.from_xml_string(text.replace("</robot>", COMPILER))
    mj.opt.disableflags |= CONTACT | EQUALITY
    names = [pin.names[i] for i in range(1, pin.njoints)]
    dof = [int(mj.joint(name).dofadr[0]) for name in names]
    return Engines(spec, pin, pin.createData(), mj, mujoco.MjData(mj), dof)


def configurations(engines: Engines) -> Array:
    """Positions within the URDF limits, (25, nv), the same on every run."""
    low, high = engines.pin.lowerPositionLimit, engines.pin.upperPositionLimit
    return np.random.default_rng(42).uniform(low, high, (25, engines.pin.nv))


def test_same_joints_limits_and_bodies(engines: Engines) -> None:
    assert engines.mj.nv == engines.pin.nv
    low, high = engines.mj.jnt_range[engines.dof].T
    np.testing.assert_allclose(low, engines.pin.lowerPositionLimit, atol=1e-12)
    np.testing.assert_allclose(high, engines.pin.upperPositionLimit, atol=1e-12)
    moving = sum(inertia.mass for inertia in engines.pin.inertias[1:])
    base = engines.mj.body(engines.spec.base_frame).mass[0]
    assert engines.mj.body_mass.sum() - base == pytest.approx(moving, rel=1e-12)


def test_the_second_finger_follows_the_first_in_mujoco(engines: Engines) -> None:
    """A mimic entry becomes one equality constraint: follower = leader, nothing for a lone jaw."""
    fingers = {
        "omx": ("gripper_right_joint", "gripper_left_joint"),
        "panda": ("panda_finger_joint2", "panda_finger_joint1"),
    }
    pair = fingers.get(engines.spec.robot)
    assert engines.mj.neq == (0 if pair is None else 1)
    if pair is not None:
        ids = (int(engines.mj.eq_obj1id[0]), int(engines.mj.eq_obj2id[0]))
        assert tuple(engines.mj.joint(i).name for i in ids) == pair
        np.testing.assert_array_equal(engines.mj.eq_data[0, :5], [0.0, 1.0, 0.0, 0.0, 0.0])


def test_mass_matrix(engines: Engines) -> None:
    for q in configurations(engines):
        engines.set(q)
        full = np.zeros((engines.mj.nv, engines.mj.nv))
        mujoco.mj_fullM(engines.mj, engines.mj_data, full)
        ours = np.triu(engines.pin_data.M)
        ours = ours + np.triu(ours, 1).T
        np.testing.assert_allclose(full[np.ix_(engines.dof, engines.dof)], ours, atol=TOLERANCE)


def test_gravity_efforts(engines: Engines) -> None:
    for q in configurations(engines):
        engines.set(q)
        bias = engines.mj_data.qfrc_bias[engines.dof]
        np.testing.assert_allclose(bias, engines.pin_data.g, atol=TOLERANCE)
        assert not engines.mj_data.qfrc_passive.any()  # no damping hidden in the URDF


def test_end_effector_pose(engines: Engines) -> None:
    frame = engines.pin.getFrameId(engines.spec.end_effector_frame)
    for q in configurations(engines):
        engines.set(q)
        body = engines.mj_data.body(engines.spec.end_effector_frame)
        placement = engines.pin_data.oMf[frame]
        np.testing.assert_allclose(body.xpos, placement.translation, atol=TOLERANCE)
        np.testing.assert_allclose(body.xmat.reshape(3, 3), placement.rotation, atol=TOLERANCE)


def test_both_engines_fall_alike(engines: Engines) -> None:
    """Forward dynamics at speed: accelerations agree, relative to their size."""
    rng = np.random.default_rng(9)
    for q in configurations(engines)[:5]:
        velocity = rng.normal(size=engines.pin.nv)
        effort = rng.normal(size=engines.pin.nv)
        engines.set(q)
        engines.mj_data.qvel[engines.dof] = velocity
        engines.mj_data.qfrc_applied[engines.dof] = effort
        mujoco.mj_forward(engines.mj, engines.mj_data)
        ours = pinocchio.aba(engines.pin, engines.pin_data, q, velocity, effort)
        engines.mj_data.qfrc_applied[:] = 0.0
        np.testing.assert_allclose(engines.mj_data.qacc[engines.dof], ours, rtol=1e-6, atol=1e-6)


def test_the_park_pose_touches_nothing(engines: Engines) -> None:
    """The shapes of links that are not neighbours keep apart at home, and above the table."""
    engines.mj.opt.disableflags &= ~CONTACT
    data = mujoco.MjData(engines.mj)
    for name, value in zip(engines.spec.names, engines.spec.home, strict=True):
        data.joint(name).qpos[0] = value
    mujoco.mj_forward(engines.mj, data)
    engines.mj.opt.disableflags |= CONTACT
    touching = {
        tuple(sorted(engines.mj.body(engines.mj.geom_bodyid[g]).name for g in contact.geom))
        for contact in data.contact
    }
    assert not touching
    assert data.body(engines.spec.end_effector_frame).xpos[2] > 0.04
