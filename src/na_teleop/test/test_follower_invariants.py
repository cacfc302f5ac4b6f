# SPDX-License-Identifier: Apache-2.0
"""Whatever happens in whatever order, the follower never jumps and always lets go."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from na_core.robot_spec import RobotSpec
from na_teleop.buses.base import BusSample
from na_teleop.follower_config import FollowerConfig
from na_teleop.follower_control import FollowerControl, State, Torque

DT = 1 / 60
CONFIG = FollowerConfig(
    ramp_s=0.3, hold_after_s=0.1, park_after_s=0.6, park_timeout_s=2.0, park_settle_s=0.1
)


def random_life(spec: RobotSpec, seed: int, ticks: int) -> None:
    """Live through `ticks` ticks of random trouble, checking after each."""
    random = np.random.default_rng(seed)
    control = FollowerControl(spec, CONFIG)
    now, torque = 0.0, False
    position = random.uniform(spec.lower, spec.upper)
    leader: np.ndarray | None = None
    muted = np.zeros(spec.n, dtype=bool)
    errors = np.zeros(spec.n, dtype=np.uint8)
    last_sent: np.ndarray | None = None
    release_works = True
    heard = -np.inf
    for _ in range(ticks):
        dt = float(random.choice([DT, DT, DT, DT, 0.05, 0.4]))
        now += dt
        before, believed_on = control.state, control.torque_on
        # -- what may happen
        if random.random() < 0.02:
            leader = None if random.random() < 0.5 else random.uniform(spec.lower, spec.upper) * 1.3
        if random.random() < 0.01:
            muted = random.random(spec.n) < 0.3
        elif random.random() < 0.05:
            muted[:] = False
        if random.random() < 0.003:
            errors[int(random.integers(spec.n))] = 0x20
        elif random.random() < 0.02:
            errors[:] = 0
        event = random.random()
        if event < 0.01:
            control.clear_fault(now)
        elif event < 0.013:
            control.request_park(now)
        elif event < 0.015:
            control.fault("made up", now)
        release_works = random.random() < 0.9
        # -- the tick
        heard = heard if leader is None else now
        sample = replace(
            BusSample.nothing(spec.n, 1),
            position=np.where(muted, np.nan, position),
            valid=~muted,
            fresh=not muted.any(),
            hardware_error=errors.copy(),
        )
        actions = control.step(now, sample, leader)
        if actions.goal is not None:
            sent = actions.goal.sent
            assert np.isfinite(sent).all()
            restarted = actions.torque is Torque.ON or control.state is State.FAULT
            if last_sent is not None and torque and not restarted:
                bound = spec.velocity_limit * min(dt, CONFIG.longest_step_s) + 1e-9
                assert np.all(np.abs(sent - last_sent) <= bound), (before, control.state)
            if control.state is State.FAULT and before is State.FAULT and last_sent is not None:
                np.testing.assert_array_equal(sent, last_sent)  # stopped means stopped
            last_sent = sent.copy()
        if actions.torque is Torque.ON:
            assert actions.goal is not None
            np.testing.assert_array_equal(actions.goal.sent, position)  # goal := present
            assert believed_on or now - heard < CONFIG.hold_after_s  # never without a leader
            if random.random() < 0.1:
                torque = False
                control.torque_failed("made up", now)
            else:
                torque = True
                control.torque_is_on(now)
        elif actions.torque is Torque.OFF:
            torque = torque and not release_works
            control.torque_released(release_works, "made up")
        if control.state is State.PARKED and release_works and actions.torque is Torque.OFF:
            assert not torque
        assert torque <= control.torque_on  # torque is never on without the control knowing
        if torque and last_sent is not None:
            position = last_sent + random.normal(0.0, 1e-3, spec.n)
    # -- the end
    control.request_shutdown(now)
    for _ in range(round((CONFIG.park_timeout_s + 1.0) / DT)):
        now += DT
        sample = replace(
            BusSample.nothing(spec.n, 1), position=position, valid=~muted, fresh=not muted.any()
        )
        actions = control.step(now, sample, leader)
        assert actions.torque is not Torque.ON
        if actions.torque is Torque.OFF:
            torque = False
            control.torque_released(True, "off")
        if control.finished:
            break
    assert control.finished and not torque and not control.torque_on


@pytest.mark.parametrize("seed", range(20))
def test_random_lives_never_jump_and_always_end_released(omx: RobotSpec, seed: int) -> None:
    random_life(omx, seed, 1500)
