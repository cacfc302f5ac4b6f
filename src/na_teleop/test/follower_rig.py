# SPDX-License-Identifier: Apache-2.0
"""An arm without a bus for tests of the follower's state machine."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from na_core.robot_spec import RobotSpec
from na_teleop.buses.base import BusSample
from na_teleop.follower_config import FollowerConfig
from na_teleop.follower_control import Actions, FollowerControl, State, Torque

DT = 1 / 60
CONFIG = FollowerConfig(ramp_s=1.0, park_timeout_s=8.0, park_settle_s=0.2)


def reading(position: np.ndarray, valid: np.ndarray, errors: np.ndarray) -> BusSample:
    return replace(
        BusSample.nothing(position.shape[0], 1),
        position=np.where(valid, position, np.nan),
        valid=valid,
        fresh=bool(valid.all()),
        hardware_error=errors,
    )


class Rig:
    """An arm that goes where it is sent, and the loop's side of the conversation."""

    def __init__(self, spec: RobotSpec, config: FollowerConfig = CONFIG) -> None:
        self.spec = spec
        self.control = FollowerControl(spec, config)
        self.now = 100.0
        self.position = spec.home + 0.1 * np.array([1.0, 1.0, 1.0, 1.0, 0.01])
        self.leader: np.ndarray | None = None
        self.valid = np.ones(spec.n, dtype=bool)
        self.errors = np.zeros(spec.n, dtype=np.uint8)
        self.torque = False
        self.torque_fails = ""
        self.release_fails = ""
        self.sent: list[np.ndarray] = []
        self.ons = 0
        self.offs = 0
        self.first_goal_before_torque: np.ndarray | None = None
        self.moves = True

    def tick(self, dt: float = DT) -> Actions:
        self.now += dt
        sample = reading(self.position, self.valid, self.errors)
        actions = self.control.step(self.now, sample, self.leader)
        if actions.goal is not None:
            self.sent.append(actions.goal.sent.copy())
        if actions.torque is Torque.ON:
            self.ons += 1
            self.first_goal_before_torque = None if actions.goal is None else actions.goal.sent
            if self.torque_fails:
                self.control.torque_failed(self.torque_fails, self.now)
            else:
                self.torque = True
                self.control.torque_is_on(self.now)
        elif actions.torque is Torque.OFF:
            self.offs += 1
            self.torque = bool(self.release_fails)
            self.control.torque_released(not self.release_fails, self.release_fails or "off")
        if self.torque and self.moves and actions.goal is not None:
            self.position = actions.goal.sent.copy()
        return actions

    def run(self, seconds: float) -> None:
        for _ in range(round(seconds / DT)):
            self.tick()

    def until(self, state: State, within_s: float = 20.0) -> None:
        end = self.now + within_s
        while self.control.state is not state:
            assert self.now < end, f"still {self.control.state}: {self.control.reason}"
            self.tick()

    def follow(self) -> None:
        self.leader = self.spec.home.copy()
        self.until(State.FOLLOWING)

    def assert_continuous(self, longest_dt: float = DT) -> None:
        steps = np.abs(np.diff(np.array(self.sent), axis=0))
        bound = self.spec.velocity_limit * min(longest_dt, CONFIG.longest_step_s) + 1e-9
        assert np.all(steps <= bound)
