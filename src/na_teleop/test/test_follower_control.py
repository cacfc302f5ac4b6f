# SPDX-License-Identifier: Apache-2.0
"""Every transition of the follower's state machine, and what never happens on the way."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from follower_rig import CONFIG, DT, Rig

from na_core.robot_spec import RobotSpec
from na_teleop.follower_control import ParkCause, State


@pytest.fixture
def rig(omx: RobotSpec) -> Rig:
    return Rig(omx)


# -- starting --------------------------------------------------------------------------------


def test_nothing_happens_without_a_leader(rig: Rig) -> None:
    rig.run(30.0)
    assert rig.control.state is State.WAITING
    assert rig.sent == [] and rig.ons == 0 and not rig.torque


def test_torque_goes_on_at_the_present_position_then_the_arm_ramps(rig: Rig) -> None:
    start = rig.position.copy()
    rig.leader = rig.spec.home.copy()
    rig.until(State.RAMPING)
    assert rig.first_goal_before_torque is not None
    np.testing.assert_array_equal(rig.first_goal_before_torque, start)
    began = rig.now
    rig.until(State.FOLLOWING)
    assert rig.now - began == pytest.approx(CONFIG.ramp_s, abs=2 * DT)
    np.testing.assert_allclose(rig.sent[-1], rig.spec.home, atol=1e-6)
    rig.assert_continuous()
    assert rig.ons == 1


def test_an_arm_outside_its_limits_is_taken_over_where_it_stands(rig: Rig) -> None:
    rig.position = rig.spec.upper + 0.02
    start = rig.position.copy()
    rig.leader = rig.spec.home.copy()
    rig.until(State.RAMPING)
    assert rig.first_goal_before_torque is not None
    np.testing.assert_array_equal(rig.first_goal_before_torque, start)
    rig.until(State.FOLLOWING)
    rig.assert_continuous()


def test_no_alignment_on_an_incomplete_read(rig: Rig) -> None:
    rig.leader = rig.spec.home.copy()
    rig.tick()
    assert rig.control.state is State.ALIGNING
    rig.valid[2] = False
    rig.tick()
    rig.tick()
    assert rig.control.state is State.ALIGNING and rig.ons == 0
    rig.valid[2] = True
    rig.tick()
    assert rig.ons == 1


def test_a_leader_that_falls_silent_before_torque_sends_the_arm_back_to_waiting(
    rig: Rig,
) -> None:
    rig.leader = rig.spec.home.copy()
    rig.tick()
    assert rig.control.state is State.ALIGNING
    rig.leader = None
    rig.tick(CONFIG.hold_after_s)
    rig.run(1.0)
    assert rig.control.state is State.WAITING and rig.ons == 0


def test_torque_that_does_not_come_on_is_a_fault_with_torque_off(rig: Rig) -> None:
    rig.torque_fails = "servo 13 refused"
    rig.leader = rig.spec.home.copy()
    rig.until(State.FAULT)
    assert "servo 13 refused" in rig.control.reason
    assert not rig.control.torque_on
    before = len(rig.sent)
    rig.run(1.0)
    assert len(rig.sent) == before and rig.ons == 1


# -- following -------------------------------------------------------------------------------


def test_following_tracks_the_leader_within_limits(rig: Rig) -> None:
    rig.follow()
    rig.leader = rig.spec.upper + 1.0
    rig.run(3.0)
    np.testing.assert_allclose(rig.sent[-1], rig.spec.upper)
    rig.assert_continuous()


def test_a_leader_that_jumps_is_followed_at_bounded_speed_even_after_gaps(rig: Rig) -> None:
    rig.follow()
    random = np.random.default_rng(0)
    for _ in range(300):
        rig.leader = random.uniform(rig.spec.lower, rig.spec.upper)
        rig.tick(float(random.choice([DT, DT, 0.1, 0.2])))
    rig.assert_continuous(1.0)


def test_a_nan_leader_counts_as_silence(rig: Rig) -> None:
    rig.follow()
    goal = rig.sent[-1]
    rig.leader = np.full(rig.spec.n, np.nan)
    rig.run(1.0)
    assert rig.control.state is State.HOLDING
    np.testing.assert_array_equal(rig.sent[-1], goal)


def test_measurements_are_not_touched_and_requests_are_kept(rig: Rig) -> None:
    rig.follow()
    rig.leader = rig.spec.upper + 1.0
    actions = rig.tick()
    assert actions.goal is not None
    np.testing.assert_array_equal(actions.goal.requested, rig.spec.upper + 1.0)


# -- silence ---------------------------------------------------------------------------------


def test_leader_silent_holds_then_parks_then_releases(rig: Rig) -> None:
    rig.follow()
    rig.leader = rig.spec.home + 0.2 * np.array([1, 1, -1, 1, 0.01])
    rig.run(1.0)
    rig.leader = None
    silent_from = rig.now
    rig.until(State.HOLDING)
    assert rig.now - silent_from == pytest.approx(CONFIG.hold_after_s, abs=2 * DT)
    held = rig.sent[-1]
    rig.until(State.PARKING)
    assert rig.now - silent_from == pytest.approx(CONFIG.park_after_s, abs=2 * DT)
    np.testing.assert_allclose(rig.sent[-2], held)
    rig.until(State.PARKED)
    np.testing.assert_allclose(rig.position, rig.spec.home, atol=1e-9)
    assert not rig.torque and not rig.control.torque_on and rig.offs == 1
    rig.assert_continuous()


def test_leader_back_while_holding_ramps_from_the_held_goal(rig: Rig) -> None:
    rig.follow()
    rig.leader = None
    rig.until(State.HOLDING)
    rig.run(1.0)
    rig.leader = rig.spec.home + 0.3 * np.array([1, 1, -1, 1, 0.01])
    rig.tick()
    assert rig.control.state is State.RAMPING
    rig.until(State.FOLLOWING)
    rig.assert_continuous()
    assert rig.ons == 1


def test_leader_back_while_parking_resumes(rig: Rig) -> None:
    rig.follow()
    rig.leader = rig.spec.home + 1.0 * np.array([1, 0.5, -0.5, 0.5, 0.0])
    rig.run(2.0)
    rig.leader = None
    rig.until(State.PARKING)
    rig.leader = rig.spec.home.copy()
    rig.tick()
    assert rig.control.state is State.RAMPING
    rig.assert_continuous()


def test_leader_back_after_parking_aligns_anew(rig: Rig) -> None:
    rig.follow()
    rig.leader = None
    rig.until(State.PARKED)
    rig.position = rig.position - 0.05  # the released arm sags
    rig.leader = rig.spec.home.copy()
    sagged = rig.position.copy()
    rig.until(State.RAMPING)
    assert rig.ons == 2 and rig.first_goal_before_torque is not None
    np.testing.assert_array_equal(rig.first_goal_before_torque, sagged)


def test_without_resume_a_parked_arm_waits_for_a_person(omx: RobotSpec) -> None:
    rig = Rig(omx, replace(CONFIG, resume_after_silence=False))
    rig.follow()
    rig.leader = None
    rig.until(State.PARKED)
    rig.leader = omx.home.copy()
    rig.run(1.0)
    assert rig.control.state is State.PARKED and rig.ons == 1
    assert rig.control.clear_fault(rig.now)[0]
    rig.until(State.FOLLOWING)


# -- faults ----------------------------------------------------------------------------------


@pytest.mark.parametrize("state", [State.WAITING, State.RAMPING, State.FOLLOWING, State.HOLDING])
def test_reads_that_keep_failing_are_a_latched_fault_naming_the_servo(
    rig: Rig, state: State
) -> None:
    if state is not State.WAITING:
        rig.leader = rig.spec.home.copy()
        rig.until(State.RAMPING)
    if state in (State.FOLLOWING, State.HOLDING):
        rig.until(State.FOLLOWING)
    if state is State.HOLDING:
        rig.leader = None
        rig.until(State.HOLDING)
    rig.valid[2] = False
    for _ in range(CONFIG.max_failed_reads - 1):
        rig.tick()
        assert rig.control.state is not State.FAULT
    rig.tick()
    assert rig.control.state is State.FAULT
    assert "joint3 (id 13)" in rig.control.reason
    rig.valid[2] = True
    rig.leader = rig.spec.home + 0.5
    rig.run(1.0)
    assert rig.control.state is State.FAULT  # latched although everything is well again


def test_scattered_failed_reads_are_no_fault(rig: Rig) -> None:
    rig.follow()
    for k in range(600):
        rig.valid[k % 5] = k % CONFIG.max_failed_reads == 0
        rig.tick()
        rig.valid[:] = True
        if k % (CONFIG.max_failed_reads - 1) == 0:
            rig.tick()
    assert rig.control.state is State.FOLLOWING


def test_cable_out_in_motion_stops_all_joints_together(rig: Rig) -> None:
    rig.follow()
    rig.leader = rig.spec.home + np.array([1.0, 0.5, -0.5, 0.5, 0.0])
    rig.run(0.3)
    rig.valid[:] = False
    rig.until(State.FAULT)
    stopped = rig.sent[-1]
    rig.run(1.0)
    np.testing.assert_array_equal(np.array(rig.sent[-60:]), np.tile(stopped, (60, 1)))


def test_a_fault_stops_at_the_present_position_not_at_a_distant_goal(rig: Rig) -> None:
    rig.follow()
    rig.moves = False  # something blocks the arm while the goal walks away
    rig.leader = rig.spec.home + np.array([1.0, 0.5, -0.5, 0.5, 0.0])
    rig.run(0.5)
    here = rig.position.copy()
    rig.errors[1] = 0x20
    rig.tick()
    assert rig.control.state is State.FAULT
    np.testing.assert_array_equal(rig.sent[-1], here)


def test_hardware_error_is_a_fault_that_clears_only_when_it_is_gone(rig: Rig) -> None:
    rig.follow()
    rig.errors[3] = 0x04
    rig.tick()
    assert rig.control.state is State.FAULT and "joint4 (id 14) 0x04" in rig.control.reason
    ok, text = rig.control.clear_fault(rig.now)
    assert not ok and "joint4 (id 14)" in text
    rig.errors[3] = 0
    rig.tick()
    assert rig.control.clear_fault(rig.now)[0]
    rig.until(State.FOLLOWING)


def test_clearing_with_torque_on_aligns_and_ramps_without_a_jump(rig: Rig) -> None:
    rig.follow()
    rig.control.fault("tripped", rig.now)
    rig.run(0.5)
    rig.position = rig.position - 0.1  # it sagged meanwhile
    here = rig.position.copy()
    rig.moves = False
    rig.leader = rig.spec.home + 0.3 * np.array([1, 1, -1, 1, 0.0])
    rig.tick()
    before = len(rig.sent)
    assert rig.control.clear_fault(rig.now)[0]
    rig.moves = True
    rig.until(State.RAMPING)
    np.testing.assert_array_equal(rig.sent[before], here)
    rig.until(State.FOLLOWING)
    steps = np.abs(np.diff(np.array(rig.sent[before:]), axis=0))
    assert np.all(steps <= rig.spec.velocity_limit * DT + 1e-9)
    assert rig.ons == 2  # torque is asserted anew: a servo may have lost it


def test_clearing_without_a_leader_holds_the_arm(rig: Rig) -> None:
    rig.follow()
    rig.leader = None
    rig.control.fault("tripped", rig.now)
    rig.run(1.0)
    assert rig.control.clear_fault(rig.now)[0]
    rig.until(State.HOLDING, within_s=0.2)
    assert rig.torque


def test_clearing_while_servos_are_silent_is_refused(rig: Rig) -> None:
    rig.follow()
    rig.valid[0] = False
    rig.until(State.FAULT)
    ok, text = rig.control.clear_fault(rig.now)
    assert not ok and "do not all answer" in text


def test_the_first_fault_keeps_its_reason(rig: Rig) -> None:
    rig.follow()
    rig.control.fault("first", rig.now)
    rig.control.fault("second", rig.now)
    assert rig.control.reason == "first"


def test_park_in_a_fault_is_refused_with_the_remedy(rig: Rig) -> None:
    rig.follow()
    rig.control.fault("tripped", rig.now)
    ok, text = rig.control.request_park(rig.now)
    assert not ok and "clear_fault" in text


@pytest.mark.parametrize("shutdown", [False, True])
def test_an_arm_being_aligned_under_torque_is_parked_not_dropped(rig: Rig, shutdown: bool) -> None:
    rig.follow()
    rig.leader = rig.spec.home + 0.3 * np.array([1, 1, -1, 1, 0.0])
    rig.run(1.0)
    rig.control.fault("tripped", rig.now)
    rig.tick()
    assert rig.control.clear_fault(rig.now)[0]
    assert rig.control.state is State.ALIGNING
    if shutdown:
        rig.control.request_shutdown(rig.now)
    else:
        assert rig.control.request_park(rig.now) == (True, "parking")
    rig.until(State.PARKED)
    np.testing.assert_allclose(rig.position, rig.spec.home, atol=1e-9)
    assert not rig.torque


def test_clear_without_a_fault_is_harmless(rig: Rig) -> None:
    rig.follow()
    ok, text = rig.control.clear_fault(rig.now)
    assert ok and "no fault" in text and rig.control.state is State.FOLLOWING


def test_park_cause_survives_a_park_request_during_shutdown(rig: Rig) -> None:
    rig.follow()
    rig.control.request_shutdown(rig.now)
    rig.control.request_park(rig.now)
    assert rig.control.park_cause is ParkCause.SHUTDOWN
