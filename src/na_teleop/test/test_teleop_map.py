# SPDX-License-Identifier: Apache-2.0
"""Teleop modes and clutch: nothing jumps, motions have the size and side asked for."""

from __future__ import annotations

import numpy as np
import pytest

from na_core.kinematics import Kinematics
from na_core.robot_spec import RobotSpec, load_robot_spec
from na_teleop.teleop_map import Mode, TeleopMap, mirror_signs

LEADER = np.array([0.3, -0.5, 0.2, 0.4, 0.012])
FOLLOWER = np.array([-0.2, -0.9, 0.3, 0.6, 0.005])


def test_joint_mode_is_absolute(omx: RobotSpec) -> None:
    np.testing.assert_array_equal(TeleopMap(omx).map(LEADER, FOLLOWER).goal, LEADER)


def test_scaled_motion_begins_where_the_follower_is(omx: RobotSpec) -> None:
    teleop = TeleopMap(omx, Mode.SCALED, 0.5)
    first = teleop.map(LEADER, FOLLOWER).goal
    np.testing.assert_allclose(first[:4], FOLLOWER[:4])
    assert first[4] == LEADER[4]  # the gripper is absolute
    moved = LEADER + np.array([0.4, -0.2, 0.0, 0.1, -0.01])
    goal = teleop.map(moved, first).goal
    np.testing.assert_allclose(
        goal[:4], FOLLOWER[:4] + np.array([0.2, -0.1, 0.0, 0.05]), atol=1e-12
    )
    assert goal[4] == moved[4]


def test_an_open_clutch_holds_and_closing_moves_nothing(omx: RobotSpec) -> None:
    teleop = TeleopMap(omx, Mode.SCALED, 2.0)
    held = teleop.map(LEADER, FOLLOWER).goal
    teleop.open_clutch(held)
    elsewhere = LEADER + 0.3
    np.testing.assert_array_equal(teleop.map(elsewhere, held).goal, held)
    teleop.close_clutch()
    np.testing.assert_allclose(teleop.map(elsewhere, held).goal[:4], held[:4])
    np.testing.assert_allclose(
        teleop.map(elsewhere + 0.1, held).goal[:4], held[:4] + 0.2, atol=1e-12
    )


def test_closing_the_clutch_in_joint_mode_asks_for_a_ramp_once(omx: RobotSpec) -> None:
    teleop = TeleopMap(omx)
    teleop.open_clutch(FOLLOWER)
    assert not teleop.map(LEADER, FOLLOWER).ramp
    teleop.close_clutch()
    assert teleop.map(LEADER, FOLLOWER).ramp
    assert not teleop.map(LEADER, FOLLOWER).ramp


def test_without_a_known_follower_no_goal_is_made(omx: RobotSpec) -> None:
    goal = TeleopMap(omx, Mode.SCALED, 0.5).map(LEADER, np.full(5, np.nan)).goal
    assert np.isnan(goal).all()


@pytest.mark.parametrize("robot", ["omx", "so101"])
def test_a_mirrored_pose_has_its_tip_mirrored(robot: str) -> None:
    """Mirroring the joints mirrors the tip about the x-z plane, wherever the arm stands."""
    spec = load_robot_spec(robot)
    kinematics, signs = Kinematics(spec), mirror_signs(spec)
    rng = np.random.default_rng(3)
    for _ in range(20):
        q = rng.uniform(spec.lower, spec.upper) * 0.5
        tip = kinematics.fk(q).position
        mirrored = kinematics.fk(np.where(signs < 0, -q, q)).position
        # so101 itself is symmetric to a third of a millimetre.
        np.testing.assert_allclose(mirrored, tip * [1, -1, 1], atol=1e-3)


def test_omx_mirrors_only_its_base_joint(omx: RobotSpec) -> None:
    assert mirror_signs(omx).tolist() == [-1.0, 1.0, 1.0, 1.0, 1.0]


@pytest.mark.parametrize(("mode", "scale"), [(Mode.SCALED, 0.0), (Mode.JOINT, 0.5)])
def test_scales_that_make_no_sense_are_refused(omx: RobotSpec, mode: Mode, scale: float) -> None:
    with pytest.raises(ValueError, match=f"teleop scale is {scale}"):
        TeleopMap(omx, mode, scale)
