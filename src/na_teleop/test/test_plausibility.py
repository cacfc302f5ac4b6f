# SPDX-License-Identifier: Apache-2.0
"""Impossible positions are dropped and named; joints that stall far from their goal are noticed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from na_core.robot_spec import RobotSpec
from na_teleop.buses.base import BusSample
from na_teleop.plausibility import PositionCheck, StallWatch

DT = 1 / 60


def sample(spec: RobotSpec, position: np.ndarray, load: float = 0.0) -> BusSample:
    n = spec.n
    return replace(
        BusSample.nothing(n, 1),
        position=np.array(position, dtype=float),
        velocity=np.zeros(n),
        load=np.full(n, load),
        valid=np.ones(n, dtype=bool),
        fresh=True,
    )


@pytest.fixture(params=["omx", "so101"])
def spec(request: pytest.FixtureRequest) -> RobotSpec:
    chosen: RobotSpec = request.getfixturevalue(request.param)
    return chosen


@pytest.mark.parametrize("turns", [1, -1, 3])
def test_a_turn_is_dropped_and_the_joint_named(spec: RobotSpec, turns: int) -> None:
    check = PositionCheck(spec)
    home = np.array(spec.home)
    assert check.judge(sample(spec, home), 0.0).fresh and check.trouble == ""
    wrapped = home.copy()
    wrapped[1] += 2 * np.pi * turns
    for i in range(1, 200):  # it does not become true by waiting
        judged = check.judge(sample(spec, wrapped), i * DT)
        assert not judged.fresh and judged.valid.tolist() == [j != 1 for j in range(spec.n)]
        assert np.isnan(judged.position[1]) and judged.position[0] == home[0]
    assert spec.names[1] in check.trouble and "wrapped" in check.trouble
    assert check.judge(sample(spec, home), 4.0).fresh and check.trouble == ""


def test_the_fastest_motion_is_believed(spec: RobotSpec) -> None:
    check = PositionCheck(spec)
    position = np.array(spec.lower)
    for i in range(20):
        assert check.judge(sample(spec, position), i * DT).fresh
        position = np.minimum(position + 2 * spec.velocity_limit * DT, spec.upper)


def test_without_a_past_the_limits_decide(spec: RobotSpec) -> None:
    check = PositionCheck(spec)
    far = np.array(spec.home)
    far[2] = spec.upper[2] + 2.0
    judged = check.judge(sample(spec, far), 0.0)
    assert not judged.valid[2] and "another turn" in check.trouble
    beyond = np.array(spec.home)
    beyond[2] = spec.upper[2] + 0.3  # found a little outside: that happens
    assert check.judge(sample(spec, beyond), 1.0).fresh
    check.forget()
    assert check.judge(sample(spec, far), 2.0).valid[2] == np.False_


def test_a_joint_that_moves_or_is_near_does_not_stall(spec: RobotSpec) -> None:
    watch = StallWatch(spec, 0.25, 0.5)
    home = np.array(spec.home)
    for i in range(120):
        position = home + 0.03 * i * np.array([j.ratio for j in spec.joints])
        assert watch.update(sample(spec, position), position + 0.1, i * DT) == ""
        assert watch.update(sample(spec, home), home + 0.001, i * DT) == ""


@pytest.mark.parametrize(("load", "words"), [(0.9, "it is blocked"), (0.0, "encoder is stuck")])
def test_a_joint_far_from_its_goal_stalls_after_a_while(
    spec: RobotSpec, load: float, words: str
) -> None:
    watch = StallWatch(spec, 0.25, 0.5)
    home = np.array(spec.home)
    goal = home.copy()
    goal[1] += 0.4
    texts = [watch.update(sample(spec, home, load), goal, i * DT) for i in range(40)]
    first = next(i for i, text in enumerate(texts) if text)
    assert first * DT == pytest.approx(0.5, abs=2 * DT)
    assert spec.names[1] in texts[first] and words in texts[first]
    assert watch.idle[1] == (load == 0.0)


def test_the_gripper_may_be_stopped_by_what_it_holds(spec: RobotSpec) -> None:
    watch = StallWatch(spec, 0.25, 0.5)
    goal = np.array(spec.home)
    gripper = next(i for i, joint in enumerate(spec.joints) if joint.role == "gripper")
    goal[gripper] += 1.0
    assert not any(watch.update(sample(spec, spec.home), goal, i * DT) for i in range(100))


def test_no_time_means_no_watch(spec: RobotSpec) -> None:
    watch = StallWatch(spec, 0.25, 0.0)
    goal = np.array(spec.home) + 1.0
    assert not any(watch.update(sample(spec, spec.home), goal, i * DT) for i in range(100))
