# SPDX-License-Identifier: Apache-2.0
"""The arm plant against independent physics: pinocchio, energy, momentum, statics, contacts."""

from __future__ import annotations

import mujoco
import numpy as np
import pinocchio
import pytest

from na_core.robot_spec import load_robot_spec, urdf_string
from na_sim.forces import KIND_BAND, KIND_FORCE, KIND_PLANE, KIND_SPRING
from na_sim.gains import holding_command
from na_sim.payload import set_block, set_payload
from na_sim.plant_core import PlantCore, nominal_core
from na_sim.scene import SceneOptions
from na_sim.unit_parameters import draw_unit

ROBOT = load_robot_spec("omx")
POSE = np.array([0.3, -0.6, 0.3, 0.6, 0.005])
ARM = slice(0, 4)


def held(pose: np.ndarray = POSE, **kwargs: object) -> PlantCore:
    core = nominal_core(ROBOT, 1, **kwargs)
    core.reset(0, pose)
    core.command[0] = holding_command(ROBOT, core.parameters[0], pose)
    return core


def pinocchio_model() -> tuple[pinocchio.Model, pinocchio.Data, list[int]]:
    """The same URDF in pinocchio, and the velocity index of each MuJoCo joint."""
    model = pinocchio.buildModelFromXML(urdf_string(ROBOT))
    model.gravity.linear = np.array([0.0, 0.0, -9.80665])
    return model, model.createData(), [0]


def mapping(core: PlantCore, model: pinocchio.Model) -> list[int]:
    """For each pinocchio velocity, the MuJoCo dof of the same joint."""
    names = [model.names[i] for i in range(1, model.njoints)]
    return [int(core.scene.model.joint(name).dofadr[0]) for name in names]


def test_joint_torques_equal_pinocchio_inverse_dynamics_along_a_motion() -> None:
    """MuJoCo's inverse dynamics of our scene equals that of the URDF in another library."""
    core = held()
    m, d = core.models[0], core.data[0]
    model, data, _ = pinocchio_model()
    order = mapping(core, model)
    rng = np.random.default_rng(0)
    for t in np.linspace(0.0, 2.0, 25):
        phase = rng.uniform(0.0, 6.28, m.nv)
        q = 0.25 * np.sin(2.0 * t + phase) * np.where(core.scene.model.jnt_type == 2, 0.04, 1.0)
        v = 1.5 * np.cos(3.0 * t + phase) * np.where(core.scene.model.jnt_type == 2, 0.04, 1.0)
        a = 8.0 * np.sin(5.0 * t + phase) * np.where(core.scene.model.jnt_type == 2, 0.04, 1.0)
        d.qpos[:], d.qvel[:], d.qacc[:] = q, v, a
        m.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
        mujoco.mj_inverse(m, d)
        expected = np.zeros(m.nv)
        there = [order.index(k) for k in range(m.nv)]
        tau = pinocchio.rnea(model, data, q[order], v[order], a[order])
        expected = tau[there]
        assert np.allclose(d.qfrc_inverse, expected, atol=2e-5 + 1e-4 * np.abs(expected).max())


def test_energy_is_conserved_without_motor_friction_and_damping() -> None:
    """With ideal gears and no friction, rotor, spring and link energy stay together."""
    free = {
        "friction_family": "m1",
        "coulomb": 0.0,
        "viscous": 0.0,
        "link_damping": 0.0,
        "gear_damping": 0.0,
        "backlash": 0.0,
    }
    unit = draw_unit(ROBOT, 0, overrides=free)
    for name in ("coulomb", "viscous", "gear_damping", "link_damping", "backlash"):
        unit.servos[name] = 0.0
    core = PlantCore(ROBOT, [unit], SceneOptions(table=False))
    core.reset(0, np.array([0.2, -0.4, 0.3, 0.2, 0.005]))
    core.models[0].opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_ENERGY)
    core.models[0].opt.timestep = core.dt = 0.0001

    def energy() -> float:
        mujoco.mj_energyPos(core.models[0], core.data[0])
        mujoco.mj_energyVel(core.models[0], core.data[0])
        s, p = core.state[0], core.parameters[0]
        rotor = 0.5 * np.sum(p["inertia"] * s["velocity"] ** 2)
        q = core.data[0].qpos
        twist = s["angle"][ARM] - q[core.scene.qpos[ARM]]
        spring = 0.5 * np.sum(p["stiffness"][ARM] * twist**2)
        left = s["angle"][4] - q[core.scene.qpos[4]] / p["scale"][4]
        right = s["angle"][4] - q[core.scene.mimic_qpos[4]] / p["scale"][4]
        spring += 0.25 * p["stiffness"][4] * (left**2 + right**2)
        return float(np.sum(core.data[0].energy) + rotor + spring)

    start = energy()
    swing = []
    for _ in range(25):
        core.advance(100)
        swing.append(energy())
        assert core.data[0].ncon == 0
    kinetic = float(core.data[0].energy[1])
    assert kinetic > 0.02  # it did fall
    # The numerical damping of the gears (twist taken one step ahead) takes a little.
    assert abs(np.array(swing) - start).max() < 0.05 * abs(kinetic) + 0.003


def test_torque_off_arm_comes_to_rest_and_loses_energy() -> None:
    core = held()
    core.command["torque_enable"] = 0
    core.advance(4000)
    assert np.abs(core.velocities()).max() < 0.01
    assert np.all(core.state["current"] == 0.0)


def test_gear_torque_passes_unchanged_from_rotor_to_link() -> None:
    """At rest the rotor sees the torque that gravity and the payload ask of the link."""
    core = held()
    set_payload(core, 0, 0.3)
    core.advance(3000)
    mujoco.mj_forward(core.models[0], core.data[0])
    gravity = core.data[0].qfrc_bias[core.scene.dof[ARM]]
    assert np.allclose(core.state["gear_torque"][0][ARM], gravity, atol=0.01)


def test_external_force_balances_in_the_joints() -> None:
    """A known force changes the static joint torques by J^T f."""
    core = held()
    core.advance(3000)
    before = core.state["gear_torque"][0].copy()
    f = core.forces[0, 0]
    f["kind"], f["body"], f["on_tip"] = KIND_FORCE, core.scene.end_effector, 1
    f["value"] = [1.0, -0.5, -2.0]
    core.advance(3000)
    change = core.state["gear_torque"][0] - before
    jac = np.zeros((3, core.models[0].nv))
    mujoco.mj_jacBody(core.models[0], core.data[0], jac, None, core.scene.end_effector)
    expected = -(jac.T @ [1.0, -0.5, -2.0])[core.scene.dof]
    assert np.allclose(change[ARM], expected[ARM], atol=0.02)
    assert np.allclose(
        core.truth[0]["force_sum"] / core.truth[0]["steps"], [0.5, -0.25, -1.0], atol=0.02
    )


def test_momentum_of_a_push_equals_its_impulse() -> None:
    """Torque off, frictionless: the generalised momentum gained is the impulse of J^T f."""
    unit = draw_unit(ROBOT, 0)
    for name in ("coulomb", "stribeck", "viscous", "load_motor", "link_damping"):
        unit.servos[name] = 0.0
    core = PlantCore(ROBOT, [unit])
    core.models[0].opt.gravity[:] = 0.0
    core.reset(0, POSE)
    f = core.forces[0, 0]
    f["kind"], f["body"], f["on_tip"] = KIND_FORCE, core.scene.end_effector, 1
    f["value"] = [0.0, 1.0, 0.0]
    core.advance(50)
    m, d = core.models[0], core.data[0]
    jac = np.zeros((3, m.nv))
    mujoco.mj_jacBody(m, d, jac, None, core.scene.end_effector)
    mass = np.zeros((m.nv, m.nv))
    mujoco.mj_fullM(m, d, mass)
    momentum = (mass @ d.qvel)[0] + core.parameters[0]["inertia"][0] * core.state[0]["velocity"][0]
    assert momentum == pytest.approx(0.05 * jac[1, 0], rel=0.03)


def test_payload_reads_as_its_weight_downwards() -> None:
    core = held()
    set_payload(core, 0, 0.25)
    core.advance(3000)
    core.truth["steps"] = 0
    core.truth["force_sum"] = 0.0
    core.advance(200)
    force = core.truth[0]["force_sum"] / core.truth[0]["steps"]
    assert np.allclose(force, [0.0, 0.0, -0.25 * 9.80665], atol=0.02)


def test_wall_and_table_push_back_through_mujoco_contacts() -> None:
    """The reported external force is the wall's reaction, not the command."""
    core = held(np.array([0.0, -0.2, 0.2, 0.1, -0.005]))
    core.advance(1000)
    tip = core.data[0].xpos[core.scene.end_effector].copy()
    core.data[0].mocap_pos[core.scene.wall] = [tip[0] + 0.05, tip[1], tip[2]]
    goal = np.array([0.0, 0.1, 0.0, 0.0, -0.005])
    core.command[0] = holding_command(ROBOT, core.parameters[0], goal)
    core.advance(2500)
    core.truth["steps"] = 0
    core.truth["force_sum"] = core.truth["contact_sum"] = 0.0
    core.advance(200)
    force = core.truth[0]["force_sum"] / core.truth[0]["steps"]
    assert force[0] < -0.5
    assert np.allclose(core.truth[0]["contact_sum"], core.truth[0]["force_sum"])


def test_plane_pushes_only_while_the_tip_is_inside() -> None:
    core = held()
    core.advance(1000)
    tip = core.data[0].xpos[core.scene.end_effector].copy()
    f = core.forces[0, 0]
    f["kind"], f["body"], f["on_tip"] = KIND_PLANE, core.scene.end_effector, 1
    f["stiffness"], f["damping"], f["normal"] = 3000.0, 20.0, [0.0, 0.0, 1.0]
    f["value"] = tip - [0.0, 0.0, 0.001]
    core.advance(100)
    assert np.all(f["force"] == 0.0)
    f["value"] = tip + np.array([0.0, 0.0, 0.001])
    core.advance(100)
    assert 0.1 < f["force"][2] < 3.1
    assert np.hypot(*f["force"][:2]) < 1e-6


def test_hand_spring_is_limited_and_band_pulls_its_joint() -> None:
    core = held()
    core.advance(1000)
    f = core.forces[0, 0]
    f["kind"], f["body"], f["on_tip"] = KIND_SPRING, core.scene.end_effector, 1
    f["stiffness"], f["limit"] = 500.0, 1.5
    f["value"] = core.data[0].xpos[core.scene.end_effector] + [0.2, 0.0, 0.0]
    band = core.forces[0, 1]
    band["kind"], band["joint"], band["stiffness"], band["offset"] = KIND_BAND, 1, 0.8, 0.0
    core.advance(500)
    assert np.linalg.norm(f["force"]) == pytest.approx(1.5)
    assert band["torque"] == pytest.approx(0.8 * 0.6, rel=0.05)


def test_fingers_squeeze_a_block_and_close_without_it() -> None:
    closed = np.array([0.3, -0.6, 0.3, 0.6, 0.001])
    positions = []
    for present in (True, False):
        core = held(np.array([0.3, -0.6, 0.3, 0.6, 0.012]))
        set_block(core, 0, present)
        core.command[0] = holding_command(ROBOT, core.parameters[0], closed)
        core.advance(2000)
        positions.append(float(core.positions()[0, 4]))
        if present:
            assert core.state["gear_torque"][0, 4] < -0.02
    assert positions[0] > 0.0018
    assert positions[1] == pytest.approx(0.001, abs=4e-4)


def test_joint_stops_hold() -> None:
    core = held()
    goal = POSE.copy()
    goal[1] = 2.2  # beyond the stop: the servo is asked to press against it
    core.command[0] = holding_command(ROBOT, core.parameters[0], goal)
    core.models[0].opt.gravity[:] = 0.0
    core.advance(3000)
    assert core.positions()[0, 1] < ROBOT.upper[1] + 0.1


def test_physics_runs_at_a_kilohertz_or_faster() -> None:
    assert held().dt <= 0.001


@pytest.mark.parametrize("arm", range(12))
def test_every_unit_is_numerically_stable(arm: int) -> None:
    """No unit's gears ring: after a jolt the arm comes to rest."""
    core = PlantCore(ROBOT, [draw_unit(ROBOT, arm)])
    core.reset(0, POSE)
    jolt = POSE + np.array([0.2, 0.2, -0.2, 0.3, 0.004])
    core.command[0] = holding_command(ROBOT, core.parameters[0], jolt)
    core.advance(2500)
    assert np.isfinite(core.state["velocity"]).all()
    assert np.abs(core.velocities()[0][ARM]).max() < 0.05
