# SPDX-License-Identifier: Apache-2.0
"""How the follower parks and shuts down, whatever it was doing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from follower_rig import CONFIG, DT, Rig

from na_core.robot_spec import RobotSpec
from na_teleop.follower_control import State


@pytest.fixture
def rig(omx: RobotSpec) -> Rig:
    return Rig(omx)


# -- parking ---------------------------------------------------------------------------------


def test_parking_speed_is_bounded_by_its_share(rig: Rig) -> None:
    rig.follow()
    rig.leader = rig.spec.home + np.array([0.8, 0.3, -0.3, 0.3, 0.0])
    rig.run(2.0)
    first = len(rig.sent)
    assert rig.control.request_park(rig.now)[0]
    rig.until(State.PARKED)
    steps = np.abs(np.diff(np.array(rig.sent[first:]), axis=0))
    assert np.all(steps <= CONFIG.park_speed * rig.spec.velocity_limit * DT + 1e-9)


def test_park_on_request_stays_parked_although_the_leader_speaks(rig: Rig) -> None:
    rig.follow()
    rig.control.request_park(rig.now)
    rig.until(State.PARKED)
    rig.run(2.0)
    assert rig.control.state is State.PARKED and not rig.torque
    ok, _ = rig.control.clear_fault(rig.now)
    assert ok
    rig.until(State.FOLLOWING)
    assert rig.ons == 2


def test_park_that_never_arrives_releases_at_the_time_out(rig: Rig) -> None:
    rig.follow()
    rig.moves = False
    rig.position = rig.position + 0.5
    rig.control = rig.control
    config = CONFIG
    rig.control.request_park(rig.now)
    began = rig.now
    rig.until(State.PARKED)
    # The goal arrived, the arm did not: it is given the settling time, no longer.
    assert rig.now - began <= config.park_timeout_s + 2 * DT
    assert not rig.torque


def test_the_time_out_releases_even_when_the_goal_has_not_arrived(omx: RobotSpec) -> None:
    # A time-out shorter than the way at full speed.
    rig = Rig(omx, replace(CONFIG, park_timeout_s=0.2, park_settle_s=0.0))
    rig.follow()
    rig.leader = omx.home + np.array([2.0, 0.5, -0.5, 0.5, 0.0])
    rig.run(3.0)
    rig.control.request_park(rig.now)
    began = rig.now
    rig.until(State.PARKED)
    assert rig.now - began == pytest.approx(0.2, abs=2 * DT)
    assert "released anyway" in rig.control.reason
    rig.assert_continuous()


def test_a_long_way_is_parked_fast_enough_to_arrive(omx: RobotSpec) -> None:
    rig = Rig(omx, replace(CONFIG, park_speed=0.01, park_timeout_s=4.0))
    rig.follow()
    rig.leader = omx.home + np.array([2.0, 0.5, -0.5, 0.5, 0.0])
    rig.run(3.0)
    rig.control.request_park(rig.now)
    rig.until(State.PARKED)
    np.testing.assert_allclose(rig.position, omx.home, atol=1e-9)
    assert "released anyway" not in rig.control.reason


# -- shutdown --------------------------------------------------------------------------------


@pytest.mark.parametrize("during", ["ramp", "follow", "hold", "park"])
def test_shutdown_parks_from_the_last_goal_then_releases(rig: Rig, during: str) -> None:
    rig.leader = rig.spec.home + 0.3 * np.array([1, 1, -1, 1, 0.01])
    rig.until(State.RAMPING)
    rig.run(0.4)
    if during != "ramp":
        rig.until(State.FOLLOWING)
    if during == "hold":
        rig.leader = None
        rig.until(State.HOLDING)
    if during == "park":
        rig.control.request_park(rig.now)
    rig.control.request_shutdown(rig.now)
    while not rig.control.finished:
        rig.tick()
    assert rig.control.state is State.PARKED and not rig.torque
    np.testing.assert_allclose(rig.position, rig.spec.home, atol=1e-9)
    rig.assert_continuous()
    rig.leader = rig.spec.home.copy()
    rig.run(1.0)
    assert not rig.torque and rig.ons == 1


def test_shutdown_while_waiting_tells_the_servos_once_more(rig: Rig) -> None:
    rig.run(0.1)
    rig.control.request_shutdown(rig.now)
    rig.run(0.1)
    assert rig.control.finished and rig.offs == 1 and rig.ons == 0


def test_shutdown_when_already_parked_finishes(rig: Rig) -> None:
    rig.follow()
    rig.control.request_park(rig.now)
    rig.until(State.PARKED)
    rig.control.request_shutdown(rig.now)
    rig.run(0.1)
    assert rig.control.finished


def test_a_second_interrupt_releases_at_once(rig: Rig) -> None:
    rig.follow()
    rig.control.request_shutdown(rig.now)
    rig.tick()
    rig.control.release_now()
    rig.tick()
    assert not rig.torque and rig.control.finished


def test_release_is_tried_a_bounded_number_of_times_and_reported(rig: Rig) -> None:
    rig.follow()
    rig.release_fails = "torque off NOT confirmed by ids [13]"
    rig.control.request_shutdown(rig.now)
    while not rig.control.finished:
        rig.tick()
    assert rig.offs == CONFIG.release_attempts
    assert rig.control.torque_on and "[13]" in rig.control.reason


def test_shutdown_in_a_fault_releases_without_parking(rig: Rig) -> None:
    rig.follow()
    rig.control.fault("something broke", rig.now)
    rig.control.request_shutdown(rig.now)
    rig.tick()
    assert not rig.torque and rig.control.finished
