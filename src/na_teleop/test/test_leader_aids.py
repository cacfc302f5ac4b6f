# SPDX-License-Identifier: Apache-2.0
"""The leader's aids: what each pushes, in which direction, and where each ends."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from na_core.kinematics import Kinematics
from na_core.robot_spec import RobotSpec, load_robot_spec
from na_core.wrench import external_effort, payload_force
from na_teleop.leader_aids.aids import LeaderAids
from na_teleop.leader_aids.config import FIELDS, AidsConfig
from na_teleop.leader_aids.feedback import ForceFeedback
from na_teleop.leader_aids.motor import friction_torques, torque_constants
from na_teleop.leader_aids.passivity import PassivityGuard

QUIET = AidsConfig(
    gravity_share=0.0, friction_share=0.0, gripper_spring=0.0, ramp_s=0.1, feedback_gain=0.0
)
DT = 1 / 60


def settled(aids: LeaderAids, q: np.ndarray, v: np.ndarray | None = None, **kwargs: Any) -> Any:
    """The output once ramps are over, the arm standing at q."""
    output = None
    for k in range(60):
        if "force" in kwargs:
            aids.feedback.feed(kwargs["force"], "link1", k * DT)
        output = aids.step(
            k * DT, q, np.zeros(q.size) if v is None else v, alive=kwargs.get("alive", True)
        )
    return output


def test_gravity_share_carries_the_weight(omx: RobotSpec) -> None:
    aids = LeaderAids(omx, replace(QUIET, gravity_share=1.0))
    q = np.array([0.0, 0.4, 0.2, 0.3, 0.01])
    out = settled(aids, q)
    held = Kinematics(omx).gravity(q)
    np.testing.assert_allclose(out.gravity[:4], held[:4], atol=1e-12)
    # Newton metres per ampere before gear friction.
    np.testing.assert_allclose(out.current[:4], held[:4] / 2.35)
    assert not out.saturated.any()


def test_torque_comes_in_gently(omx: RobotSpec) -> None:
    aids = LeaderAids(omx, replace(QUIET, gravity_share=1.0, ramp_s=1.0))
    q = np.array([0.0, 0.4, 0.2, 0.3, 0.01])
    first = aids.step(5.0, q, np.zeros(5))
    half = aids.step(5.5, q, np.zeros(5))
    assert not first.current.any()
    np.testing.assert_allclose(half.gravity, 0.5 * aids.step(7.0, q, np.zeros(5)).gravity)


def test_friction_assist_never_exceeds_its_share(omx: RobotSpec) -> None:
    aids = LeaderAids(omx, replace(QUIET, friction_share=0.5, friction_torque=0.11))
    q = np.array(omx.home)
    fast = settled(aids, q, np.array([3.0, -3.0, 0.0, 0.01, 0.1]))
    np.testing.assert_allclose(fast.friction[:3], [0.055, -0.055, 0.0], atol=1e-6)
    assert 0.0 < fast.friction[3] < 0.005 and fast.friction[4] == 0.0


def test_the_gripper_spring_opens_with_bounded_torque(omx: RobotSpec) -> None:
    aids = LeaderAids(omx, replace(QUIET, gripper_spring=0.5, gripper_torque=0.3))
    closed, nearly_open = np.array(omx.home), np.array(omx.home)
    closed[4] = omx.lower[4]
    nearly_open[4] = omx.upper[4] - 0.002
    assert settled(aids, closed).spring[4] == pytest.approx(0.3)
    assert settled(aids, nearly_open).spring[4] == pytest.approx(0.5 * 0.002 / omx.joints[4].ratio)


def test_feedback_pushes_as_the_environment_does(omx: RobotSpec) -> None:
    """A weight that hangs on the follower pulls the leader down with the same joint efforts."""
    config = replace(QUIET, feedback_gain=1.0, feedback_deadband=0.0, feedback_force=30.0)
    aids = LeaderAids(omx, config)
    q = np.array(omx.home)
    out = settled(aids, q, force=payload_force(0.2))
    ratio = np.array([joint.ratio for joint in omx.joints])
    expected = external_effort(aids.kinematics.jacobian(q), payload_force(0.2)) * ratio
    np.testing.assert_allclose(out.feedback, expected, rtol=1e-3, atol=1e-9)
    lower = q + 1e-3 * np.sign(expected)
    assert aids.kinematics.fk(lower).position[2] < aids.kinematics.fk(q).position[2]


def test_gain_deadband_and_saturation_bound_the_force(omx: RobotSpec) -> None:
    config = replace(QUIET, feedback_gain=2.0, feedback_deadband=0.5, feedback_force=6.0)
    aids = LeaderAids(omx, config)
    settled(aids, np.array(omx.home), force=[0.4, 0.0, 0.0])
    assert not aids.feedback.force.any()
    settled(aids, np.array(omx.home), force=[1.5, 0.0, 0.0])
    assert aids.feedback.force[0] == pytest.approx(2.0, rel=1e-3)
    settled(aids, np.array(omx.home), force=[-30.0, 40.0, 0.0])
    np.testing.assert_allclose(aids.feedback.force, [-3.6, 4.8, 0.0], rtol=1e-3)


def test_feedback_needs_the_dead_man_and_a_young_estimate(omx: RobotSpec) -> None:
    config = replace(QUIET, feedback_gain=1.0, wrench_timeout_s=0.1, fade_s=0.1)
    feedback = ForceFeedback(Kinematics(omx), "link1", config)
    q = np.array(omx.home)
    for k in range(20):
        feedback.feed([5.0, 0.0, 0.0], "link1", k * DT)
        feedback.effort(q, k * DT, DT, alive=True)
    assert feedback.share == 1.0
    shares = []
    for k in range(20, 28):  # released: fades, does not drop
        feedback.feed([5.0, 0.0, 0.0], "link1", k * DT)
        feedback.effort(q, k * DT, DT, alive=False)
        shares.append(feedback.share)
    assert shares[0] > 0.7 and shares[-1] == 0.0
    for k in range(28, 60):  # held again, but the estimate has grown old
        feedback.effort(q, k * DT, DT, alive=True)
    assert feedback.share == 0.0


def test_a_wrench_in_another_frame_or_with_nan_is_refused(omx: RobotSpec) -> None:
    feedback = ForceFeedback(Kinematics(omx), "link1", QUIET)
    assert not feedback.feed([1.0, 0.0, 0.0], "end_effector_link", 0.0)
    assert "expected 'link1'" in feedback.last_refusal
    assert not feedback.feed([np.nan, 0.0, 0.0], "link1", 0.0)
    assert feedback.refused == 2 and not feedback.fresh(0.0)


def test_a_mirrored_follower_is_felt_mirrored_back(omx: RobotSpec) -> None:
    config = replace(QUIET, feedback_gain=1.0, feedback_deadband=0.0, mirror=True)
    aids = LeaderAids(omx, config)
    settled(aids, np.array(omx.home), force=[1.0, 2.0, 3.0])
    np.testing.assert_allclose(aids.feedback.force, [1.0, -2.0, 3.0], rtol=1e-3)


def test_no_current_beyond_the_limit(omx: RobotSpec) -> None:
    aids = LeaderAids(omx, replace(QUIET, gravity_share=1.2, current_limit=0.1))
    out = settled(aids, np.array([0.0, 0.8, 0.0, 0.0, 0.01]))
    assert np.abs(out.current).max() == pytest.approx(0.1) and out.saturated[1]


def test_friction_is_the_models_and_unknown_ones_get_no_assist(omx: RobotSpec) -> None:
    np.testing.assert_allclose(friction_torques(omx), 0.11)
    joints = []
    for joint, model in zip(
        omx.joints,
        ["xl330-m288", "xl330-m077", "xl430-w250", "xm430-w210", "xm430-w350"],
        strict=True,
    ):
        assert joint.servo is not None
        joints.append(replace(joint, servo=replace(joint.servo, model=model)))
    found = friction_torques(replace(omx, joints=tuple(joints)))
    np.testing.assert_allclose(found, [0.0048, 0.0013, 0.0, 0.0662, 0.11], atol=1e-4)


def test_torque_constants_can_be_replaced(omx: RobotSpec) -> None:
    np.testing.assert_allclose(torque_constants(omx), 2.35)
    np.testing.assert_allclose(torque_constants(omx, 1.7), 1.7)
    with pytest.raises(ValueError, match="has no servo"):
        torque_constants(load_robot_spec("panda"))


@pytest.mark.parametrize("name", sorted(FIELDS))
def test_every_aid_has_a_range_that_is_checked(name: str) -> None:
    high = FIELDS[name][1][1]
    with pytest.raises(ValueError, match=f"leader aid {name} is .*expected"):
        AidsConfig(**{name: high * 2 + 1})


# -- passivity -------------------------------------------------------------------------------


def push_a_spring(guard: PassivityGuard, delay: int, stiffness: float = 200.0) -> list[float]:
    """Energy while a hand swings in and out of a spring whose torque comes `delay` ticks late."""
    sent = [0.0] * delay
    energies = []
    for k in range(240):
        x = 0.05 * np.sin(2 * np.pi * 1.5 * k * DT)
        sent.append(-stiffness * x if x > 0 else 0.0)
        result = guard.step(np.array([sent.pop(0)]), np.array([x]), DT)
        energies.append(result.energy)
    return energies


def test_a_prompt_spring_is_nearly_passive_and_a_late_one_is_not() -> None:
    prompt = PassivityGuard(0.0, 10.0, 10.0, active=False)
    late = PassivityGuard(0.0, 10.0, 10.0, active=False)
    push_a_spring(prompt, 0)
    push_a_spring(late, 6)
    assert late.lowest < 4.0 * prompt.lowest < 0.0


def test_the_guard_bounds_what_a_late_spring_gives_away() -> None:
    free = PassivityGuard(0.3, 0.02, 0.05, active=False)
    guarded = PassivityGuard(0.3, 0.02, 0.05)
    push_a_spring(free, 6)
    push_a_spring(guarded, 6)
    assert free.lowest < -0.1
    assert guarded.lowest > -0.05


def test_injected_damping_opposes_the_motion_and_is_bounded() -> None:
    guard = PassivityGuard(0.1, 1.0, 0.0)
    guard.step(np.array([1.0]), np.array([0.0]), DT)
    out = guard.step(np.array([0.0]), np.array([0.02]), DT)  # was pushed along: gave 0.02 J
    assert out.energy < 0.0 and out.damping == pytest.approx(0.1)
    assert out.torque[0] == pytest.approx(-0.1 * 0.02 / DT)


def test_past_work_counts_only_up_to_the_reserve() -> None:
    guard = PassivityGuard(0.1, 0.02, 0.05)
    guard.step(np.array([-5.0]), np.array([0.0]), DT)
    out = guard.step(np.array([0.0]), np.array([1.0]), DT)  # 5 J taken from the hand
    assert out.energy == pytest.approx(0.05)


def test_a_reset_guard_starts_with_nothing() -> None:
    guard = PassivityGuard(0.1, 0.02, 0.05)
    guard.step(np.array([1.0]), np.array([0.0]), DT)
    guard.step(np.array([1.0]), np.array([0.5]), DT)
    guard.reset()
    assert guard.step(np.array([1.0]), np.array([9.0]), DT).energy == 0.0
