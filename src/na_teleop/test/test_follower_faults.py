# SPDX-License-Identifier: Apache-2.0
"""A follower of each servo family meets a fault in motion: it stops, says why, and comes back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from na_sim.faults import FaultInjector, FaultRunner, FaultTarget
from na_sim.faults.catalogue import make_fault
from na_teleop.follower_config import FollowerConfig
from na_teleop.follower_control import State
from na_teleop.follower_loop import FollowerLoop, FollowerTick
from na_teleop.preflight import require_preflight

Maker = Callable[..., Any]
DT = 1 / 60
CONFIG = FollowerConfig(ramp_s=0.4, park_timeout_s=6.0)


class Rig:
    """A loop on an emulated arm that swings, faults included, on a clock that is set by hand."""

    def __init__(self, arm: Any) -> None:
        self.arm = arm
        self.injector = FaultInjector()
        arm.emulator.faults = self.injector
        arm.emulator._coupling.faults = self.injector
        self.runner = FaultRunner(self.injector, FaultTarget(arm.emulator, arm.port))
        home = arm.bus().conversion.raw_from_position(arm.spec.home)
        arm.change(position=home)
        self.bus = arm.bus(latency_s=0.03)
        self.loop = FollowerLoop(
            self.bus, CONFIG, recheck=lambda: _check(self.bus), clock=arm.clock
        )
        self.ratio = np.array([joint.ratio for joint in arm.spec.joints])
        self.moving = True
        self.ticks: list[FollowerTick] = []
        self.changes: list[str] = []
        require_preflight(self.bus)
        self.loop.start()
        self.until(State.FOLLOWING)
        self.run(0.3)
        self.changes.clear()

    @property
    def state(self) -> State:
        state: State = self.loop.control.state
        return state

    def tick(self) -> FollowerTick:
        self.arm.clock.sleep(DT)
        swing = 0.3 * np.sin(3.0 * self.arm.clock()) if self.moving else 0.0
        spec = self.arm.spec
        room = 0.3 * np.abs(self.ratio)
        goal = np.clip(spec.home, spec.lower + room, spec.upper - room) + swing * self.ratio
        assert self.loop.leader_message(spec.names, goal.tolist()) == ""
        result = self.loop.tick()
        self.ticks.append(result)
        self.changes += result.changes
        return result

    def run(self, seconds: float) -> None:
        for _ in range(round(seconds / DT)):
            self.tick()

    def until(self, state: State, within_s: float = 8.0) -> FollowerTick:
        for _ in range(round(within_s / DT)):
            result = self.tick()
            if result.state is state:
                return result
        pytest.fail(f"still {self.state}: {self.loop.control.reason}")

    def fault(self, name: str, one: bool = True, **parameters: Any) -> Any:
        ids = (self.bus.ids[2],) if one else None
        effect = make_fault(name, ids=ids, **parameters)
        self.runner.begin(effect)
        return effect

    def mend(self, effect: Any) -> None:
        self.runner.end(effect)
        self.moving = False
        self.run(0.4)

    def clear(self) -> str:
        """Clear until it works, at most four times; return the last refusal."""
        text = ""
        for _ in range(4):
            ok, text = self.loop.clear_fault()
            self.run(0.5)
            if ok and self.state is not State.FAULT:
                return ""
        return text

    def bounded(self) -> bool:
        """Whether no goal ever stepped farther than the joints may move in a tick."""
        goals = np.array([t.telemetry.goal_register for t in self.ticks])
        steps = np.abs(np.diff(goals[np.isfinite(goals).all(axis=1)], axis=0))
        count = np.abs(self.bus.conversion.position_scale)
        return bool(np.all(steps <= self.arm.spec.velocity_limit * 2.0 * DT + 2 * count))


def _check(bus: Any) -> None:
    require_preflight(bus)


@pytest.fixture
def rig(each: Maker) -> Rig:
    return Rig(each())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "one", "words"),
    [
        ("silent", True, "did not answer 6 reads"),
        ("silent", False, "did not answer 6 reads"),
        ("repeated_values", True, "repeated old values in 6 reads"),
        ("encoder_wrap", True, "no motion explains"),
        ("stuck_encoder", True, "the encoder is stuck"),
        ("brown_out", False, ""),
        ("overload", True, ""),
    ],
)
def test_the_arm_stops_says_why_and_comes_back(rig: Rig, fault: str, one: bool, words: str) -> None:
    effect = rig.fault(fault, one)
    rig.until(State.FAULT, within_s=2.5)
    assert words in " ".join(rig.changes)
    standing = np.array(rig.arm.plant.position)
    rig.run(0.5)
    assert np.abs(np.array(rig.arm.plant.position) - standing).max() < 0.25 * 4096 / (2 * np.pi)
    rig.mend(effect)
    if fault == "overload" and rig.arm.log.feetech:
        rig.arm.emulator.brown_out()  # a person switches the supply off and on
        rig.run(0.5)
    assert rig.clear() == ""
    rig.until(State.FOLLOWING)
    assert all(rig.arm.emulator.torque_enabled().values())
    if fault != "stuck_encoder":  # there the position itself was wrong
        assert rig.bounded()


def test_a_wrapped_encoder_is_not_cleared_while_it_is_wrong(rig: Rig) -> None:
    effect = rig.fault("encoder_wrap", turns=1)
    rig.until(State.FAULT, within_s=0.5)
    rig.moving = False
    assert "not cleared" in rig.clear()
    assert rig.state is State.FAULT
    rig.runner.end(effect)
    rig.run(0.2)
    assert rig.clear() == ""
    rig.until(State.FOLLOWING)


def test_scattered_damage_is_no_fault(rig: Rig) -> None:
    rig.fault("corrupt_bytes", one=False, rate=0.001)
    rig.run(3.0)
    assert rig.state is State.FOLLOWING
    assert rig.loop.counters.stale_ticks < 90


def test_goals_wait_while_nobody_answers(rig: Rig) -> None:
    effect = rig.fault("silent", one=False)
    goals = [rig.tick().telemetry.goal_sent for _ in range(4)]
    assert all((goal == goals[0]).all() for goal in goals)
    rig.runner.end(effect)
    rig.run(0.5)
    assert rig.state is State.FOLLOWING and rig.bounded()


def test_settings_that_a_locked_eeprom_refuses_keep_torque_off(rig: Rig) -> None:
    lock = rig.fault("eeprom_locked", one=False)
    rig.fault("brown_out", one=False)
    rig.arm.emulator.servo(rig.bus.ids[2]).registers.put("return_delay_time", 250)
    rig.until(State.FAULT, within_s=1.0)
    rig.moving = False
    rig.run(0.5)
    rig.loop.clear_fault()
    rig.run(1.0)
    assert rig.state is State.FAULT and "return_delay_time" in rig.loop.control.reason
    assert not any(rig.arm.emulator.torque_enabled().values())
    rig.mend(lock)
    assert rig.clear() == ""
    rig.until(State.FOLLOWING)
