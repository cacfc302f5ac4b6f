# SPDX-License-Identifier: Apache-2.0
"""The workspace box: goals inside pass untouched, goals outside end on its wall."""

from __future__ import annotations

import numpy as np
import pytest

from na_core.kinematics import Kinematics
from na_core.robot_spec import RobotSpec
from na_teleop.goal_shaping import GoalShaper
from na_teleop.workspace import TOLERANCE, WorkspaceBox, limited

LOW, HIGH = [0.05, -0.15, 0.05], [0.25, 0.15, 0.35]


def test_a_goal_inside_is_not_touched(omx: RobotSpec) -> None:
    box = WorkspaceBox(omx, LOW, HIGH)
    assert box.apply(omx.home, omx.home) is omx.home and box.cut == 0


def test_random_goals_end_inside(omx: RobotSpec) -> None:
    box, kinematics = WorkspaceBox(omx, LOW, HIGH), Kinematics(omx)
    rng = np.random.default_rng(1)
    for _ in range(200):
        goal = rng.uniform(omx.lower, omx.upper)
        result = box.apply(goal, omx.home)
        tip = kinematics.fk(result).position
        assert (tip >= np.array(LOW) - 2 * TOLERANCE).all()
        assert (tip <= np.array(HIGH) + 2 * TOLERANCE).all()
        assert (result >= omx.lower - 1e-12).all() and (result <= omx.upper + 1e-12).all()
    assert box.cut > 50


def test_a_shaped_walk_never_leaves_the_box_nor_the_speed_limit(omx: RobotSpec) -> None:
    box, kinematics = WorkspaceBox(omx, LOW, HIGH), Kinematics(omx)
    shaper = GoalShaper(
        omx.lower, omx.upper, omx.velocity_limit, longest_step_s=0.025, constrain=box.apply
    )
    shaper.reset(omx.home, 0.0)
    rng = np.random.default_rng(2)
    target, last = np.array(omx.home), np.array(omx.home)
    for k in range(1, 1200):
        if k % 60 == 0:
            target = rng.uniform(omx.lower, omx.upper)
        sent = shaper.shape(target, k / 60).sent
        assert (np.abs(sent - last) <= omx.velocity_limit / 60 + 1e-12).all()
        tip = kinematics.fk(sent).position
        assert (tip >= np.array(LOW) - 0.004).all() and (tip <= np.array(HIGH) + 0.004).all()
        last = sent


def test_from_outside_only_inward_motion_is_allowed(omx: RobotSpec) -> None:
    box, kinematics = WorkspaceBox(omx, LOW, HIGH), Kinematics(omx)
    outside = np.array([0.0, 0.6, 0.2, 0.3, 0.01])
    before = kinematics.fk(outside).position
    assert before[0] > HIGH[0] or before[2] < LOW[2]
    result = kinematics.fk(box.apply(outside, outside)).position

    def distance(tip: np.ndarray) -> float:
        return float(np.linalg.norm(tip - np.clip(tip, LOW, HIGH)))

    assert distance(result) <= distance(before) + 1e-9


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        ([0.2, 0.0, 0.0], [0.1, 1.0, 1.0], "expected lower < upper"),
        ([0.5, -1.0, 0.0], [1.0, 1.0, 1.0], "does not contain the park pose"),
        ([0.0, 0.0], [1.0, 1.0], "three numbers each"),
    ],
)
def test_boxes_that_make_no_sense_are_refused(
    omx: RobotSpec, low: list[float], high: list[float], expected: str
) -> None:
    with pytest.raises(ValueError, match=expected):
        WorkspaceBox(omx, low, high)


def test_limits_can_be_narrowed_and_slowed(omx: RobotSpec) -> None:
    spec = limited(omx, 0.5, 0.1)
    np.testing.assert_allclose(spec.velocity_limit, 0.5 * omx.velocity_limit)
    np.testing.assert_allclose(spec.lower[:4], omx.lower[:4] + 0.1)
    assert spec.upper[4] == pytest.approx(omx.upper[4] - 0.1 * omx.joints[4].ratio)
    assert omx.velocity_limit[0] == 4.8
    with pytest.raises(ValueError, match="without its park position"):
        limited(omx, 1.0, 0.6)
    with pytest.raises(ValueError, match="velocity_share is 0"):
        limited(omx, 0.0)
