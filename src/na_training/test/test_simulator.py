# SPDX-License-Identifier: Apache-2.0
"""Simulators: gradients meet finite differences, steps meet MuJoCo, back ends meet each other."""

from __future__ import annotations

import numpy as np
import pytest

from na_core.robot_spec import load_robot_spec
from na_core.robot_urdf import urdf_string

torch = pytest.importorskip("torch", reason="needs torch: requirements/train.txt")

from na_core.features.rigid import reduced_model  # noqa: E402
from na_training.simulator import (  # noqa: E402
    SimulatorError,
    SimulatorParameters,
    clip_effort,
    make_simulator,
)
from na_training.simulator.pinocchio_backend import PinocchioSimulator  # noqa: E402
from na_training.simulator.torch_backend import TorchSimulator  # noqa: E402

DT = 1.0 / 58.6
BUILT = ("pinocchio", "torch")

# Turning about x and z with offsets and rotated frames, a slide across them, full inertias.
URDF = """<robot name="t"><link name="base"/>
 <link name="a"><inertial><origin xyz="0.1 0.02 -0.03" rpy="0.1 0.2 0.3"/><mass value="0.7"/>
  <inertia ixx="0.01" ixy="0.001" ixz="0.0005" iyy="0.02" iyz="-0.001" izz="0.015"/>
  </inertial></link>
 <link name="b"><inertial><origin xyz="-0.05 0.1 0.04"/><mass value="0.4"/>
  <inertia ixx="0.004" ixy="0" ixz="0.0003" iyy="0.005" iyz="0" izz="0.006"/></inertial></link>
 <link name="c"><inertial><origin xyz="0.02 0.03 0.1"/><mass value="0.3"/>
  <inertia ixx="0.002" ixy="0.0001" ixz="0" iyy="0.002" iyz="0.0002" izz="0.001"/>
  </inertial></link>
 <joint name="j1" type="revolute"><parent link="base"/><child link="a"/><origin xyz="0 0.1 0.2"
  rpy="0.3 -0.2 0.5"/><axis xyz="1 0 0"/><limit lower="-3" upper="3" effort="9"
  velocity="9"/></joint>
 <joint name="j2" type="prismatic"><parent link="a"/><child link="b"/><origin xyz="0.2 0 0.1"
  rpy="0 0.4 0"/><axis xyz="0 0.6 0.8"/><limit lower="-1" upper="1" effort="9"
  velocity="9"/></joint>
 <joint name="j3" type="revolute"><parent link="b"/><child link="c"/><origin xyz="0 0.15 0"
  rpy="0.2 0 -0.7"/><axis xyz="0 0 1"/><limit lower="-3" upper="3" effort="9"
  velocity="9"/></joint>
</robot>"""
JOINTS = ("j1", "j2", "j3")
PARAMETERS = SimulatorParameters(
    DT, np.array([0.3, 2.0, 0.4]), np.array([0.006, 0.1, 0.006]), np.array([4.0, 30.0, 4.0])
)


def odd_chain(kind: type, **options: object):
    return kind(URDF, JOINTS, PARAMETERS, torch.float64, **options)


def states(n: int, batch: int, seed: int = 0, speed: float = 1.0):
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randn(3, batch, n, dtype=torch.float64, generator=generator)
    return [(rows[0] * 0.6), rows[1] * speed, rows[2]]


def simulators():
    return [odd_chain(PinocchioSimulator), odd_chain(TorchSimulator, compiled=False)]


@pytest.mark.parametrize("simulator", simulators(), ids=lambda s: s.name)
def test_gradients_of_a_step_meet_finite_differences(simulator) -> None:
    inputs = [tensor.requires_grad_() for tensor in states(3, 4)]
    assert torch.autograd.gradcheck(simulator.step, inputs, eps=1e-6, atol=1e-6)


def test_back_ends_agree_on_a_chain_with_a_slide_across_turned_axes() -> None:
    one, other = simulators()
    q, qd, effort = states(3, 64, speed=3.0)
    for a, b in zip(one.step(q, qd, effort), other.step(q, qd, effort), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("robot", ["omx", "so101"])
def test_back_ends_agree_on_our_robots(robot: str) -> None:
    spec = load_robot_spec(robot)
    one = make_simulator("pinocchio", spec, DT, dtype=torch.float64)
    other = make_simulator("torch", spec, DT, dtype=torch.float64, compiled=False)
    q, qd, effort = states(spec.n, 16)
    for a, b in zip(one.step(q, qd, effort), other.step(q, qd, effort), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("simulator", simulators(), ids=lambda s: s.name)
def test_steps_are_those_of_mujoco_with_joint_damping(simulator) -> None:
    """MuJoCo's Euler integrator treats joint damping implicitly, as ours does; 200 steps agree."""
    mujoco = pytest.importorskip("mujoco")
    spec = mujoco.MjSpec.from_string(URDF)
    spec.option.timestep = DT
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_EULER
    spec.option.disableflags |= (
        mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT
    )
    model = spec.compile()
    model.dof_damping[:] = PARAMETERS.damping
    model.dof_armature[:] = PARAMETERS.armature
    data = mujoco.MjData(model)
    model.opt.gravity[:] = [0.0, 0.0, -9.81]
    assert [model.joint(index).name for index in range(3)] == list(JOINTS)
    q, qd, _ = states(3, 1, seed=3, speed=0.3)
    data.qpos[:], data.qvel[:] = q[0].numpy(), qd[0].numpy()
    rng = np.random.default_rng(1)
    for _ in range(200):
        effort = rng.normal(0.0, [1.0, 3.0, 0.3])
        data.qfrc_applied[:] = np.clip(effort, -PARAMETERS.effort_limit, PARAMETERS.effort_limit)
        mujoco.mj_step(model, data)
        q, qd = simulator.step(q, qd, torch.as_tensor(effort)[None])
    np.testing.assert_allclose(q[0].numpy(), data.qpos, atol=1e-6)
    np.testing.assert_allclose(qd[0].numpy(), data.qvel, atol=1e-6)


def test_an_arm_held_by_its_gravity_torque_stays() -> None:
    import pinocchio as pin

    spec = load_robot_spec("omx")
    simulator = make_simulator("pinocchio", spec, DT, dtype=torch.float64)
    model = reduced_model(urdf_string(spec), spec.names)
    q0 = torch.as_tensor(np.array(spec.home))[None]
    hold = pin.computeGeneralizedGravity(model, model.createData(), q0[0].numpy())
    q, qd = q0, torch.zeros_like(q0)
    for _ in range(100):
        q, qd = simulator.step(q, qd, torch.as_tensor(hold)[None])
    torch.testing.assert_close(q, q0, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize(
    ("gradient", "expected"),
    [("hard", [0, 1, 0, 0]), ("straight_through", [1, 1, 1, -1]), ("inward", [1, 1, 0, 0])],
)
def test_gradient_at_the_bound_is_the_named_one(gradient: str, expected: list[float]) -> None:
    """Raw efforts 3, 0.5, −3, 3 against a bound of 1; upstream gradients +1, +1, +1, −1."""
    raw = torch.tensor([3.0, 0.5, -3.0, 3.0], requires_grad=True)
    clipped = clip_effort(raw, torch.ones(4), gradient)
    assert clipped.tolist() == [1.0, 0.5, -1.0, 1.0]
    clipped.backward(torch.tensor([1.0, 1.0, 1.0, -1.0]))
    assert raw.grad.tolist() == expected


def test_a_back_end_that_is_not_there_is_named() -> None:
    spec = load_robot_spec("omx")
    with pytest.raises(SimulatorError, match="'warp' is not built yet"):
        make_simulator("warp", spec, DT)
    with pytest.raises(SimulatorError, match="'bullet', expected one of"):
        make_simulator("bullet", spec, DT)
    with pytest.raises(ValueError, match="clip gradient 'soft'"):
        clip_effort(torch.ones(1), torch.ones(1), "soft")
