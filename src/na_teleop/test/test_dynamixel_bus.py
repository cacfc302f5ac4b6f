# SPDX-License-Identifier: Apache-2.0
"""The Dynamixel bus against emulated servos: SI values, partial replies, retries, torque."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from na_core.control_tables import DYNAMIXEL_X
from na_core.robot_spec import RobotSpec
from na_teleop.buses.dynamixel_reply import READ_ADDRESS, READ_LENGTH, REPLY

Maker = Callable[..., Any]
RAD_PER_COUNT = 2 * np.pi / 4096


def test_one_read_covers_registers_120_to_146() -> None:
    assert (READ_ADDRESS, READ_LENGTH) == (120, 27)
    assert REPLY.itemsize == READ_LENGTH
    names = {"pwm": "pwm", "position": "position", "voltage": "input_voltage"}
    for field, register in names.items():
        assert REPLY.fields is not None
        address = DYNAMIXEL_X[f"present_{register}"].address
        assert READ_ADDRESS + REPLY.fields[field][1] == address


def test_values_come_in_si_joint_units_with_joint_sign(make_arm: Maker, omx: RobotSpec) -> None:
    joints = list(omx.joints)
    assert joints[0].servo is not None
    joints[0] = replace(joints[0], servo=replace(joints[0].servo, sign=-1))
    arm = make_arm(spec=replace(omx, joints=tuple(joints)))
    arm.change(position=[2148, 2048, 1948, 2048, 3048], voltage=119, temperature=41)
    bus = arm.bus()
    bus.open()
    sample = bus.read()
    assert sample.fresh and sample.valid.all()
    gripper = omx.joints[4]
    assert gripper.servo is not None
    slide = 1000 * gripper.ratio * gripper.servo.sign
    expected = np.array([-100, 0, -100, 0, slide]) * RAD_PER_COUNT
    np.testing.assert_allclose(sample.position, expected)
    np.testing.assert_allclose(sample.voltage, 11.9)
    np.testing.assert_allclose(sample.temperature, 41.0)
    np.testing.assert_array_equal(sample.raw_position, [2148, 2048, 1948, 2048, 3048])
    assert np.isfinite(sample.current).all() and np.isfinite(sample.load).all()


def test_a_full_turn_is_4096_counts(arm: Any) -> None:
    bus = arm.bus()
    bus.open()
    arm.change(position=100)
    first = bus.read().position[0]
    arm.change(position=100 + 4096)
    assert bus.read().position[0] - first == pytest.approx(2 * np.pi, abs=1e-12)


def test_positions_beyond_the_limits_are_reported_as_they_are(arm: Any) -> None:
    bus = arm.bus()
    bus.open()
    arm.change(position=4090)
    measured = bus.read().position
    assert np.all(measured[1:4] > arm.spec.upper[1:4])
    np.testing.assert_allclose(measured[:4], (4090 - 2048) * RAD_PER_COUNT)


def test_stamp_is_the_first_reply_byte_on_the_wall_clock(arm: Any) -> None:
    bus = arm.bus()
    bus.open()
    before = time.time_ns()
    sample = bus.read()
    assert before <= sample.stamp_ns <= time.time_ns()


def test_servos_without_a_current_sensor_report_nan_and_load(
    omx: RobotSpec, make_arm: Maker
) -> None:
    joints = list(omx.joints)
    for i, model in ((1, "xl430-w250"), (2, "xl330-m288")):
        servo = joints[i].servo
        assert servo is not None
        joints[i] = replace(joints[i], servo=replace(servo, model=model))
    arm = make_arm(spec=replace(omx, joints=tuple(joints)))
    bus = arm.bus()
    bus.open()
    sample = bus.read()
    assert sample.fresh
    assert np.isnan(sample.current).tolist() == [False, True, False, False, False]
    assert np.isfinite(sample.load).all()
    # Mixed models share one read and one write.
    assert bus.counters.fast_reads == 1
    bus.configure()
    np.testing.assert_allclose(bus.write_goal(sample.position), sample.position)


# -- partial and failed reads ----------------------------------------------------------------


def test_four_of_five_answer_and_the_fifth_is_nan_not_old(arm: Any) -> None:
    bus = arm.bus()
    bus.open()
    assert bus.read().fresh
    arm.log.mute = {13}
    sample = bus.read()
    assert sample.valid.tolist() == [True, True, False, True, True]
    assert not sample.fresh
    for values in (sample.position, sample.velocity, sample.voltage, sample.temperature):
        assert np.isnan(values).tolist() == [False, False, True, False, False]
    assert bus.counters.partial_reads == 1 and bus.counters.missed.tolist() == [0, 0, 1, 0, 0]
    arm.log.mute = set()
    arm.clock.sleep(0.02)
    assert bus.read().fresh


def test_nobody_answers_gives_a_stale_sample_with_the_last_good_stamp(arm: Any) -> None:
    bus = arm.bus()
    bus.open()
    good = bus.read()
    arm.log.mute = set(bus.ids)
    sample = bus.read()
    assert not sample.fresh and not sample.valid.any()
    assert np.isnan(sample.position).all()
    assert sample.stamp_ns == good.stamp_ns
    assert bus.counters.failed_reads == 1


def test_a_missing_servo_is_retried_once_then_not_in_every_tick(arm: Any) -> None:
    bus = arm.bus(fast_sync_read=False)
    bus.open()
    arm.log.mute = {11}
    bus.read()
    assert bus.counters.read_retries == 1
    bus.read()
    bus.read()
    assert bus.counters.read_retries == 1


def test_one_garbled_reply_is_retried_and_counted(arm: Any) -> None:
    bus = arm.bus(fast_sync_read=False)
    bus.open()
    garbled: list[int] = []

    def once(id: int, data: bytes) -> bytes:
        if id == 12 and not garbled:
            garbled.append(id)
            return data[:-5] + bytes([data[-5] ^ 0x40]) + data[-4:]
        return data

    arm.log.mangle = once
    sample = bus.read()
    assert sample.fresh
    # The servo is asked again; then all are, because the line is no longer trusted.
    assert bus.counters.read_retries == 2 and bus.counters.corrupt_packets == 1


@pytest.mark.parametrize("fast", [True, False])
def test_random_corruption_never_yields_a_wrong_value(arm: Any, fast: bool) -> None:
    bus = arm.bus(fast_sync_read=fast, latency_s=0.03)
    bus.open()
    truth = bus.read().position
    random = np.random.default_rng(5)

    def noise(id: int, data: bytes) -> bytes:
        damaged = bytearray(data)
        for i in np.flatnonzero(random.random(len(data)) < 0.01):
            damaged[i] = int(random.integers(256))
        return bytes(damaged)

    arm.log.mangle = noise
    valid = 0
    for _ in range(150):
        arm.clock.sleep(1 / 60)
        sample = bus.read()
        valid += int(sample.valid.sum())
        np.testing.assert_array_equal(sample.position[sample.valid], truth[sample.valid])
    assert valid > 0.5 * 150 * 5  # confirmed by a second answer each
    assert bus.counters.corrupt_packets > 0


def test_replies_that_look_like_headers_are_understood(arm: Any) -> None:
    # Current −1 followed by velocity −3 puts FF FF FD into the data: stuffing at work, twice.
    bus = arm.bus(fast_sync_read=False)
    bus.open()
    bus.read()
    sign = np.array([joint.servo.sign for joint in arm.spec.joints])

    class Awkward:
        def __init__(self, plant: Any) -> None:
            self.plant, self.readings0 = plant, plant.readings

        def __call__(self) -> Any:
            found = self.readings0()
            found.present_pwm[:] = -1
            found.present_current[:] = -3
            found.present_velocity[:] = -1
            found.velocity_trajectory[:] = -3
            return found

    arm.plant.readings = Awkward(arm.plant)
    arm.clock.sleep(0.02)
    sample = bus.read()
    assert sample.fresh
    np.testing.assert_allclose(sample.current, -3 * 2.69e-3 * sign)
    assert bus.counters.corrupt_packets == 0


@pytest.mark.parametrize("fast", [True, False])
def test_a_late_answer_is_not_taken_for_the_answer_to_a_later_question(
    arm: Any, fast: bool
) -> None:
    bus = arm.bus(fast_sync_read=fast, retries=0)
    bus.open()
    assert bus.read().fresh
    kept: list[bytes] = []

    def swallow(id: int, data: bytes) -> bytes:
        kept.append(data)
        return b""

    arm.log.mangle = swallow
    assert not bus.read().fresh
    late = list(kept)
    arm.change(position=2500)

    def deliver_late(id: int, data: bytes) -> bytes:
        return (late.pop(0) if late else b"") + data

    arm.log.mangle = deliver_late
    sample = bus.read()
    np.testing.assert_array_equal(sample.raw_position[sample.valid], 2500)


def test_a_late_answer_does_not_pass_for_another_registers_value(arm: Any) -> None:
    bus = arm.bus(latency_s=0.02)
    bus.open()
    arm.emulator.servo(11).registers.put("led", 1)
    arm.log.delays = [0.03, 0.008]  # later than the first try waits; the second after it
    assert bus.line.read(11, DYNAMIXEL_X["led"]) == 1
    assert bus.counters.register_retries >= 1
    assert bus.line.read(11, DYNAMIXEL_X["torque_enable"]) == 0


# -- fast sync read --------------------------------------------------------------------------


def test_fast_sync_read_is_used_where_it_works(arm: Any) -> None:
    bus = arm.bus()
    bus.open()
    for _ in range(3):
        assert bus.read().fresh
        arm.clock.sleep(1 / 60)
    assert bus.counters.fast_reads == 3 and bus.counters.fast_failures == 0


@pytest.mark.parametrize("refuses", [False, True])
def test_old_firmware_falls_back_for_good_after_a_few_tries(make_arm: Maker, refuses: bool) -> None:
    old = {"firmware": 40, "refuses_unknown_broadcast": refuses}
    arm = make_arm({13: old})
    bus = arm.bus()
    bus.open()
    for _ in range(6):
        assert bus.read().fresh  # every tick has its data all the same
        arm.clock.sleep(1 / 60)
    assert not bus.fast_enabled
    (note,) = bus.take_notes()
    assert "not fast sync read" in note and bus.take_notes() == []
    assert bus.counters.fast_failures == 3 and bus.counters.fast_reads == 0


def test_a_missing_servo_is_no_reason_to_give_up_fast_reads(arm: Any) -> None:
    bus = arm.bus()
    bus.open()
    arm.log.mute = {15}
    for _ in range(5):
        assert bus.read().valid.sum() == 4
        arm.clock.sleep(1 / 60)
    arm.log.mute = set()
    for _ in range(2):
        arm.clock.sleep(1 / 60)
        assert bus.read().fresh
    assert bus.fast_enabled and bus.counters.fast_reads == 1


# -- goals -----------------------------------------------------------------------------------


def test_goal_is_rounded_to_counts_and_told_back(arm: Any) -> None:
    bus = arm.bus()
    bus.open()
    q = np.array([0.1, -0.2, 0.3, 0.4, 0.005])
    written = bus.write_goal(q)
    assert np.all(np.abs(written - q)[:4] <= RAD_PER_COUNT / 2 + 1e-12)
    arm_goal = [bus.line.read(id, DYNAMIXEL_X["goal_position"]) for id in bus.ids]
    np.testing.assert_allclose(bus.conversion.position_from_raw(np.array(arm_goal)), written)


def test_goal_beyond_the_servos_own_limits_is_cut_and_told_back(make_arm: Maker) -> None:
    arm = make_arm({12: {"registers": {"max_position_limit": 2500, "min_position_limit": 1500}}})
    bus = arm.bus()
    bus.open()
    bus.configure()
    written = bus.write_goal(np.array([0.0, 1.5, 0.0, 0.0, 0.0]))
    assert written[1] == pytest.approx((2500 - 2048) * RAD_PER_COUNT)


@pytest.mark.parametrize(
    ("q", "words"),
    [(np.zeros(4), "expected (5,)"), (np.array([0, 0, np.nan, 0, 0]), "joint3 is not finite")],
)
def test_a_goal_that_is_none_is_refused_and_nothing_is_sent(
    arm: Any, q: np.ndarray, words: str
) -> None:
    bus = arm.bus()
    bus.open()
    with pytest.raises(ValueError, match=words.replace("(", r"\(").replace(")", r"\)")):
        bus.write_goal(q)
    assert arm.log.writes(116) == []
