# SPDX-License-Identifier: Apache-2.0
"""The follower on the wire: emulated servos, real packets, and every way it can go wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from na_sim.dynamixel.packet import PacketParser
from na_teleop.buses.errors import PortError
from na_teleop.follower_config import FollowerConfig
from na_teleop.follower_control import State
from na_teleop.follower_loop import FollowerLoop, FollowerTick
from na_teleop.preflight import require_preflight

Maker = Callable[..., Any]
DT = 1 / 60
CONFIG = FollowerConfig(ramp_s=0.5, park_timeout_s=6.0)
GOAL_POSITION, TORQUE_ENABLE = 116, 64


class Rig:
    """A loop on an emulated arm, ticked by a clock that is set by hand."""

    def __init__(self, arm: Any, config: FollowerConfig = CONFIG) -> None:
        self.arm = arm
        self.bus = arm.bus()
        self.rechecks = 0
        self.loop = FollowerLoop(self.bus, config, recheck=self.recheck, clock=arm.clock)
        self.leader: np.ndarray | None = None
        self.ticks: list[FollowerTick] = []
        self.changes: list[str] = []
        require_preflight(self.bus)
        self.loop.start()

    def recheck(self) -> None:
        self.rechecks += 1
        require_preflight(self.bus)

    def tick(self, dt: float = DT) -> FollowerTick:
        self.arm.clock.sleep(dt)
        if self.leader is not None:
            assert self.loop.leader_message(self.arm.spec.names, self.leader.tolist()) == ""
        result = self.loop.tick()
        self.ticks.append(result)
        self.changes += result.changes
        return result

    def run(self, seconds: float) -> None:
        for _ in range(round(seconds / DT)):
            self.tick()

    def until(self, state: State, within_s: float = 12.0) -> FollowerTick:
        for _ in range(round(within_s / DT)):
            result = self.tick()
            if result.state is state:
                return result
        pytest.fail(f"still {self.loop.control.state}: {self.loop.control.reason}")

    def follow(self, offset: float = 0.0) -> None:
        shift = offset * np.array([1.0, 0.5, -0.5, 0.5, 0.0])
        self.leader = self.arm.spec.home + shift
        self.until(State.FOLLOWING)

    @property
    def torque(self) -> dict[int, bool]:
        found: dict[int, bool] = self.arm.emulator.torque_enabled()
        return found

    def register_goals(self) -> np.ndarray:
        goals = [t.telemetry.goal_register for t in self.ticks]
        return np.array([g for g in goals if np.isfinite(g).all()])


@pytest.fixture
def rig(arm: Any) -> Rig:
    return Rig(arm)


# -- a normal life ---------------------------------------------------------------------------


def test_before_a_leader_only_torque_off_was_ever_written(rig: Rig) -> None:
    rig.run(0.5)
    assert rig.loop.control.state is State.WAITING
    assert {value for _, value in rig.arm.log.torque_writes()} == {0}
    assert rig.arm.log.writes(GOAL_POSITION) == []
    last = rig.ticks[-1].telemetry
    assert not last.stale and not last.torque_enabled
    assert np.isnan(last.goal_sent).all() and np.isnan(last.goal_requested).all()


def test_goal_register_holds_the_present_position_before_torque_goes_on(rig: Rig) -> None:
    rig.arm.change(position=[2100, 1800, 2200, 2050, 1990])
    rig.run(0.1)
    rig.arm.log.heard.clear()
    rig.follow()
    order: list[str] = []
    for packet in PacketParser().feed(bytes(rig.arm.log.heard)):
        p = packet.parameters
        if packet.instruction == 0x83 and p[0] == GOAL_POSITION and "torque" not in order:
            counts = {p[i]: int.from_bytes(p[i + 1 : i + 5], "little") for i in range(4, len(p), 5)}
            assert counts == {11: 2100, 12: 1800, 13: 2200, 14: 2050, 15: 1990}
            order.append("goal")
        elif packet.instruction == 0x03 and p[0] == TORQUE_ENABLE and p[2] == 1:
            order.append("torque")
    assert order[0] == "goal" and order.count("torque") == 5
    assert all(rig.torque.values())


def test_the_arm_follows_the_leader_and_steps_stay_bounded(rig: Rig) -> None:
    rig.follow()
    rig.leader = rig.arm.spec.home + np.array([0.6, 0.3, -0.3, 0.3, 0.004])
    rig.run(1.5)
    last = rig.ticks[-1].telemetry
    np.testing.assert_allclose(last.position, rig.leader, atol=2e-3)
    np.testing.assert_array_equal(last.goal_requested, rig.leader)
    steps = np.abs(np.diff(rig.register_goals(), axis=0))
    count = np.abs(rig.bus.conversion.position_scale)
    assert np.all(steps <= rig.arm.spec.velocity_limit * 1.5 * DT + count)
    sequence = [t.telemetry.sequence for t in rig.ticks]
    assert sequence == list(range(len(sequence)))


def test_servos_watchdog_is_armed_before_torque_and_disarmed_after(rig: Rig) -> None:
    rig.follow()
    assert all(rig.arm.emulator.servo(id).registers.get("bus_watchdog") == 25 for id in rig.bus.ids)
    rig.loop.shutdown()
    while not rig.loop.finished:
        rig.tick()
    assert all(rig.arm.emulator.servo(id).registers.get("bus_watchdog") == 0 for id in rig.bus.ids)


@pytest.mark.parametrize("when", [State.RAMPING, State.FOLLOWING, State.HOLDING, State.PARKING])
def test_shutdown_parks_and_releases_every_servo(rig: Rig, when: State) -> None:
    rig.leader = rig.arm.spec.home + np.array([0.5, 0.3, -0.3, 0.3, 0.0])
    rig.until(State.RAMPING)
    if when is not State.RAMPING:
        rig.until(State.FOLLOWING)
    if when is State.HOLDING:
        rig.leader = None
        rig.until(State.HOLDING)
    if when is State.PARKING:
        rig.loop.park()
        rig.run(0.1)
    rig.loop.shutdown()
    for _ in range(1000):
        if rig.loop.finished:
            break
        rig.tick()
    assert rig.loop.finished and not any(rig.torque.values())
    np.testing.assert_allclose(rig.ticks[-1].telemetry.position, rig.arm.spec.home, atol=0.06)
    steps = np.abs(np.diff(rig.register_goals(), axis=0))
    count = np.abs(rig.bus.conversion.position_scale)
    assert np.all(steps <= rig.arm.spec.velocity_limit * 1.5 * DT + count)
    rig.loop.close()


# -- bad goals -------------------------------------------------------------------------------


def test_bad_messages_are_counted_and_the_arm_holds(rig: Rig) -> None:
    rig.follow()
    rig.leader = None
    names = list(rig.arm.spec.names)
    held = rig.ticks[-1].telemetry.goal_sent
    bad = [
        ([*names[:-1], "elbow"], [0.0] * 5, "unknown joints elbow"),
        (names, [0.0, float("nan"), 0.0, 0.0, 0.0], "joint2"),
        (names[:3], [0.0] * 3, "joint4, gripper_left_joint are missing"),
        (names, [0.0] * 4, "5 names but 4 positions"),
    ]
    for _ in range(15):
        for message_names, positions, words in bad:
            assert words in rig.loop.leader_message(message_names, positions)
        rig.tick()
    rig.run(0.2)
    assert rig.loop.control.state is State.HOLDING
    assert rig.loop.intake.total_refused == 60
    np.testing.assert_array_equal(rig.ticks[-1].telemetry.goal_sent, held)


def test_partial_goals_move_named_joints_and_leave_the_others(arm: Any) -> None:
    rig = Rig(arm)
    rig.loop = FollowerLoop(rig.bus, CONFIG, partial_goals=True, clock=arm.clock)
    rig.loop.start()
    rig.tick()
    start = rig.ticks[-1].telemetry.position
    for _ in range(90):
        assert rig.loop.leader_message(["joint1"], [0.2]) == ""
        assert rig.loop.leader_message(["joint3"], [0.1]) == ""  # two between ticks: both count
        rig.tick()
    assert rig.loop.control.state is State.FOLLOWING
    expected = start.copy()
    expected[[0, 2]] = 0.2, 0.1
    np.testing.assert_allclose(rig.ticks[-1].telemetry.position, expected, atol=2e-3)


# -- the line --------------------------------------------------------------------------------


def test_stale_ticks_carry_no_old_values_and_no_new_stamp(rig: Rig) -> None:
    rig.follow()
    good = rig.ticks[-1].telemetry
    rig.arm.log.mute = set(rig.bus.ids)
    stale = rig.tick().telemetry
    assert stale.stale and stale.stamp_ns == good.stamp_ns
    assert np.isnan(stale.position).all()
    rig.arm.log.mute = set()
    fresh = rig.tick().telemetry
    assert not fresh.stale and fresh.stamp_ns > good.stamp_ns
    assert rig.loop.control.state is State.FOLLOWING


def test_one_silent_servo_stops_all_and_is_named(rig: Rig) -> None:
    rig.follow()
    rig.leader = rig.arm.spec.home + np.array([1.0, 0.5, -0.5, 0.5, 0.0])
    rig.run(0.2)
    rig.arm.log.mute = {13}
    fault = rig.until(State.FAULT, within_s=1.0)
    assert any("joint3 (id 13) did not answer" in text for text in rig.changes)
    frozen = fault.telemetry.goal_register
    rig.run(0.5)
    np.testing.assert_array_equal(rig.ticks[-1].telemetry.goal_register, frozen)
    rig.arm.log.mute = set()
    rig.tick()
    # Nothing jumps on recovery: goal := present, then the ramp.
    assert rig.loop.clear_fault()[0]
    rig.until(State.FOLLOWING)
    steps = np.abs(np.diff(rig.register_goals()[-80:], axis=0))
    count = np.abs(rig.bus.conversion.position_scale)
    assert np.all(steps <= rig.arm.spec.velocity_limit * 1.5 * DT + count)


def test_cable_pulled_in_motion_is_a_fault_not_an_exception(rig: Rig) -> None:
    rig.follow()
    rig.leader = rig.arm.spec.home + np.array([1.0, 0.5, -0.5, 0.5, 0.0])
    rig.run(0.2)
    rig.arm.port.close()
    lost = rig.tick()
    assert lost.state is State.FAULT and lost.telemetry.stale
    assert any("was lost" in text and rig.bus.port in text for text in rig.changes)
    rig.run(1.0)
    rig.loop.shutdown()
    for _ in range(10):
        rig.tick()
    assert rig.loop.finished and rig.loop.control.torque_on  # it could not be confirmed off
    rig.loop.close()


def test_replugged_port_needs_clearing_and_a_full_recheck(make_arm: Maker, tmp_path: Any) -> None:
    arm = make_arm(link=tmp_path / "follower")
    rig = Rig(arm)
    rig.follow(0.3)
    arm.port.close()
    rig.until(State.FAULT, within_s=0.2)
    ok, text = rig.loop.clear_fault()
    assert not ok and "do not all answer" in text
    arm.port.open()
    rig.run(1.0)
    assert rig.bus.is_open and rig.loop.control.state is State.FAULT
    assert any("is back" in text for text in rig.changes)
    before = len(rig.ticks)
    assert rig.loop.clear_fault()[0] and rig.rechecks == 1
    rig.until(State.FOLLOWING)
    first = rig.ticks[before].telemetry  # goal := present, to the count
    np.testing.assert_allclose(first.goal_register, first.position, atol=1e-9)
    assert all(rig.torque.values())


def test_a_recheck_that_fails_keeps_the_fault(make_arm: Maker, tmp_path: Any) -> None:
    arm = make_arm(link=tmp_path / "follower")
    rig = Rig(arm)
    rig.follow()
    arm.port.close()
    rig.until(State.FAULT, within_s=0.2)
    arm.emulator.set_connected(12, False)
    arm.port.open()
    rig.run(1.0)
    ok, text = rig.loop.clear_fault()
    assert not ok and "joint2 (id 12)" in text
    assert rig.loop.control.state is State.FAULT


# -- servos ----------------------------------------------------------------------------------


def test_brown_out_is_noticed_and_settings_are_restored_before_torque(rig: Rig) -> None:
    rig.follow()
    rig.run(4.0)
    rig.arm.emulator.brown_out()
    rig.until(State.FAULT, within_s=1.0)
    assert not any(rig.torque.values())
    rig.run(0.5)
    ok, text = rig.loop.clear_fault()
    assert ok, text
    rig.until(State.FOLLOWING)
    assert all(rig.torque.values())
    assert rig.arm.emulator.servo(11).registers.get("position_i_gain") == 100
    assert any("setting restored" in text for text in rig.changes)


def test_latched_hardware_error_stops_all_and_clear_restarts_the_servo(rig: Rig) -> None:
    rig.follow()
    rig.arm.emulator.inject_hardware_error(14, 0x20)
    rig.until(State.FAULT, within_s=0.5)
    assert any("joint4 (id 14) 0x20" in text for text in rig.changes)
    assert rig.ticks[-1].telemetry.hardware_error.tolist() == [0, 0, 0, 0x20, 0]
    rig.run(0.2)
    rig.arm.emulator.inject_hardware_error(14, 0)
    ok, text = rig.loop.clear_fault()
    assert not ok and "[14] were restarted" in text
    rig.run(1.0)
    assert rig.loop.clear_fault()[0]
    rig.until(State.FOLLOWING)
    assert all(rig.torque.values())


def test_if_this_program_dies_the_servos_stop_by_themselves(rig: Rig) -> None:
    rig.follow()
    rig.leader = rig.arm.spec.home + np.array([1.5, 0.5, -0.5, 0.5, 0.0])
    rig.run(0.2)
    rig.arm.clock.sleep(CONFIG.watchdog_s + 0.1)  # no more ticks
    rig.arm.emulator.tick()
    assert all(rig.arm.emulator.servo(id).watchdog_trips == 1 for id in rig.bus.ids)
    stopped = rig.arm.plant.position.copy()
    rig.arm.clock.sleep(2.0)
    rig.arm.emulator.tick()
    np.testing.assert_array_equal(rig.arm.plant.position, stopped)


def test_after_a_pause_of_ours_the_tripped_watchdog_is_a_fault(rig: Rig) -> None:
    rig.follow()
    rig.tick(CONFIG.watchdog_s + 0.2)
    assert rig.loop.control.state is State.FAULT
    assert "watchdog of servos" in rig.loop.control.reason
    rig.run(0.1)
    assert rig.loop.clear_fault()[0]
    rig.until(State.FOLLOWING)
    rig.leader = rig.arm.spec.home + np.array([0.3, 0.0, 0.0, 0.0, 0.0])
    rig.run(1.0)
    np.testing.assert_allclose(rig.ticks[-1].telemetry.position, rig.leader, atol=2e-3)


def test_torque_that_one_servo_refuses_leaves_all_off(make_arm: Maker) -> None:
    arm = make_arm()
    rig = Rig(arm)
    original = arm.log.incoming

    def lose_torque_on(data: bytes, now: float) -> bytes:
        original(data, now)
        writes_torque = data[4:5] == b"\x0d" and data[7:10] == b"\x03\x40\x00"
        return b"" if writes_torque and data[10:11] == b"\x01" else data

    arm.log.incoming = lose_torque_on
    rig.leader = arm.spec.home.copy()
    rig.until(State.FAULT, within_s=2.0)
    assert "servo 13" in rig.loop.control.reason
    assert not any(rig.torque.values())


def test_release_tries_every_servo_although_one_is_silent(rig: Rig) -> None:
    rig.follow()
    rig.arm.log.mute = {12}
    rig.until(State.FAULT, within_s=1.0)
    rig.loop.shutdown()
    for _ in range(10):
        if rig.loop.finished:
            break
        rig.tick()
    assert rig.loop.finished
    assert [id for id, on in rig.torque.items() if on] == [12]
    assert any("NOT confirmed by ids [12]" in text for text in rig.changes)


def test_positions_beyond_the_limits_are_reported_and_the_arm_walks_in(rig: Rig) -> None:
    beyond = rig.bus.conversion.raw_from_position(rig.arm.spec.upper)
    rig.arm.change(position=[2048, int(beyond[1]) + 60, 2048, 2048, 2048])
    tick = rig.tick()
    assert tick.telemetry.position[1] > rig.arm.spec.upper[1]
    rig.follow()
    goals = rig.register_goals()
    assert goals[0][1] > rig.arm.spec.upper[1]
    steps = np.abs(np.diff(goals, axis=0))
    count = np.abs(rig.bus.conversion.position_scale)
    assert np.all(steps <= rig.arm.spec.velocity_limit * 1.5 * DT + count)


# -- start -----------------------------------------------------------------------------------


def test_start_is_refused_when_a_servo_does_not_confirm_torque_off(make_arm: Maker) -> None:
    arm = make_arm({13: {"connected": False}})
    loop = FollowerLoop(arm.bus(), CONFIG, clock=arm.clock)
    with pytest.raises(PortError, match=r"cannot start .* NOT confirmed by ids \[13\]"):
        loop.start()
    assert {value for _, value in arm.log.torque_writes()} == {0}


def test_start_clears_what_an_earlier_program_left(make_arm: Maker) -> None:
    arm = make_arm({12: {"return_delay_us": 500}})
    servo = arm.emulator.servo(12)
    servo.registers.put("torque_enable", 1)
    servo.registers.put("bus_watchdog", -1)
    rig = Rig(arm)
    assert not any(rig.torque.values())
    assert servo.registers.get("bus_watchdog") == 0
    assert servo.registers.get("return_delay_time") == 0
