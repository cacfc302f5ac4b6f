# SPDX-License-Identifier: Apache-2.0
"""Hold requests: what is refused, and that the arm holds, retreats, ramps back and still parks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from na_core.robot_spec import RobotSpec
from na_teleop.buses.base import BusSample
from na_teleop.follower_config import FollowerConfig
from na_teleop.follower_control import FollowerControl, State, Torque
from na_teleop.hold_request import HoldAction, HoldRequests

DT = 1 / 60


class Arm:
    """An arm that goes where it is sent unless a wall stops joint 1."""

    def __init__(self, spec: RobotSpec) -> None:
        self.control = FollowerControl(spec, FollowerConfig(ramp_s=0.2))
        self.spec, self.now = spec, 50.0
        self.position = np.array(spec.home)
        self.leader: np.ndarray | None = np.array(spec.home)
        self.wall = np.inf
        self.goal = self.position

    def run(self, seconds: float) -> None:
        for _ in range(round(seconds / DT)):
            self.now += DT
            sample = replace(
                BusSample.nothing(self.spec.n, 1),
                position=self.position,
                valid=np.ones(self.spec.n, dtype=bool),
                fresh=True,
            )
            actions = self.control.step(self.now, sample, self.leader)
            if actions.torque is Torque.ON:
                self.control.torque_is_on(self.now)
            if actions.torque is Torque.OFF:
                self.control.torque_released(True, "off")
            if actions.goal is not None:
                self.goal = actions.goal.sent
                self.position = self.goal.copy()
                self.position[0] = min(self.position[0], self.wall)

    def ask(self, action: HoldAction, **values: Any) -> str:
        return self.control.holds.take(self.now, action, values.pop("duration", 0.5), **values)


@pytest.fixture
def pressing(omx: RobotSpec) -> Arm:
    """Follows a leader whose joint 1 is 0.3 rad inside a wall."""
    arm = Arm(omx)
    arm.run(1.0)
    assert arm.control.state is State.FOLLOWING
    arm.wall = omx.home[0] + 0.1
    arm.leader = np.array(omx.home)
    arm.leader[0] += 0.4
    arm.run(1.0)
    return arm


def test_hold_takes_the_goal_back_to_where_the_arm_is_and_ramps_back_later(pressing: Arm) -> None:
    assert pressing.goal[0] == pytest.approx(pressing.spec.home[0] + 0.4)
    assert pressing.ask(HoldAction.HOLD, reason="force 9.0 N") == ""
    pressing.run(0.45)
    assert pressing.control.state is State.HOLDING
    assert "force 9.0 N" in pressing.control.reason
    assert pressing.goal[0] == pytest.approx(pressing.wall)
    pressing.run(0.2)
    assert pressing.control.state is State.RAMPING
    pressing.run(1.0)
    assert pressing.control.state is State.FOLLOWING


def test_a_renewed_hold_lasts_and_a_release_ends_it(pressing: Arm) -> None:
    for _ in range(10):
        pressing.ask(HoldAction.HOLD)
        pressing.run(0.3)
    assert pressing.control.state is State.HOLDING
    pressing.ask(HoldAction.RELEASE)
    pressing.run(0.05)
    assert pressing.control.state is State.RAMPING


def test_retreat_walks_back_at_park_speed(pressing: Arm) -> None:
    back = pressing.spec.home.tolist()
    refusal = pressing.ask(
        HoldAction.RETREAT, duration=5.0, names=pressing.spec.names, positions=back
    )
    assert refusal == ""
    before = pressing.goal.copy()
    pressing.run(DT)
    limit = 0.25 * pressing.spec.velocity_limit * DT
    assert (np.abs(pressing.goal - before) <= limit + 1e-12).all()
    pressing.run(2.0)
    assert pressing.goal == pytest.approx(pressing.spec.home, abs=1e-6)


def test_a_silent_leader_still_parks_during_a_hold(pressing: Arm) -> None:
    pressing.ask(HoldAction.HOLD, duration=60.0)
    pressing.leader = None
    pressing.run(6.0)
    assert pressing.control.state in (State.PARKING, State.PARKED)


def test_without_torque_a_hold_does_nothing(omx: RobotSpec) -> None:
    arm = Arm(omx)
    arm.leader = None
    arm.ask(HoldAction.HOLD)
    arm.run(0.3)
    assert arm.control.state is State.WAITING


@pytest.mark.parametrize(
    ("action", "values", "words"),
    [
        (3, {}, "action 3, expected 0"),
        (1, {"duration": 0.0}, "duration 0.0 s"),
        (1, {"duration": float("nan")}, "duration nan s"),
        (1, {"duration": 61.0}, "at most 60"),
        (2, {}, "expected a finite position of each of"),
        (2, {"names": ["joint1"], "positions": [0.0]}, "expected a finite position of each of"),
        (2, {"names": ["joint1"], "positions": []}, "1 joint names but 0 values"),
    ],
)
def test_nonsense_is_refused(
    omx: RobotSpec, action: int, values: dict[str, Any], words: str
) -> None:
    holds = HoldRequests(omx.names)
    assert words in holds.take(0.0, action, values.pop("duration", 0.5), **values)
    assert not holds.active(0.1)
