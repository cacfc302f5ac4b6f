# SPDX-License-Identifier: Apache-2.0
"""Register counts and SI units: full turn, round trip, sign, offset, linkage, unmeasured values."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from na_core.raw_si import JointConversion
from na_core.robot_spec import RobotSpec, load_robot_spec

PUBLISHED_GRIPPER_STEP = 0.000017626621790  # m per count, OpenManipulator-X linkage


@pytest.fixture(scope="module")
def omx() -> RobotSpec:
    return load_robot_spec("omx")


@pytest.fixture(scope="module")
def conversion(omx: RobotSpec) -> JointConversion:
    return JointConversion(omx)


def altered(spec: RobotSpec, **servo: object) -> RobotSpec:
    """Return the robot with every servo changed."""
    joints = tuple(
        dataclasses.replace(joint, servo=dataclasses.replace(joint.servo, **servo))
        for joint in spec.joints
        if joint.servo is not None
    )
    return dataclasses.replace(spec, joints=joints)


def test_4096_counts_are_exactly_one_turn(conversion: JointConversion) -> None:
    turn = conversion.position_from_raw(np.full(5, 2048 + 4096))
    assert turn[0] == 2.0 * math.pi
    half = conversion.position_from_raw(np.zeros(5, dtype=np.int64))
    assert half[0] == -math.pi


def test_zero_count_is_position_zero(conversion: JointConversion) -> None:
    np.testing.assert_array_equal(conversion.position_from_raw([2048] * 5), np.zeros(5))


def test_every_count_of_four_turns_comes_back(conversion: JointConversion) -> None:
    counts = np.arange(-8192, 8192)[:, None] + np.zeros(5, dtype=np.int64)
    back = conversion.raw_from_position(conversion.position_from_raw(counts))
    np.testing.assert_array_equal(back, counts)


def test_a_position_comes_back_within_half_a_count(conversion: JointConversion) -> None:
    q = np.random.default_rng(7).uniform(-20.0, 20.0, (1000, 5)) * np.abs(conversion.ratio)
    back = conversion.position_from_raw(conversion.raw_from_position(q))
    assert (np.abs(back - q) <= 0.5000001 * np.abs(conversion.position_scale)).all()


def test_nothing_is_clamped(conversion: JointConversion, omx: RobotSpec) -> None:
    """A command clamp belongs to the follower; here it would hide a wrong reading."""
    far = conversion.raw_from_position(omx.upper * 3.0)
    assert (conversion.position_from_raw(far) > omx.upper).all()


@pytest.mark.parametrize("sign", [1, -1])
def test_sign_and_offset(omx: RobotSpec, sign: int) -> None:
    conversion = JointConversion(altered(omx, sign=sign, zero_count=1000))
    position = conversion.position_from_raw([1000 + 1024] * 5)
    np.testing.assert_allclose(position[:4], sign * math.pi / 2.0, rtol=1e-15)
    assert np.sign(conversion.velocity_from_raw([10] * 5)).tolist() == [sign] * 5
    assert np.sign(conversion.current_from_raw([10] * 5)).tolist() == [sign] * 5
    np.testing.assert_array_equal(conversion.raw_from_position(np.zeros(5)), [1000] * 5)


def test_gripper_linkage_is_the_published_one(conversion: JointConversion) -> None:
    assert abs(conversion.position_scale[4]) == pytest.approx(PUBLISHED_GRIPPER_STEP, rel=1e-12)
    # Published: position = counts * step - 0.036099321 m in reverse drive mode, so zero is 2048.
    zero_offset = PUBLISHED_GRIPPER_STEP * 2048
    assert zero_offset == pytest.approx(0.036099321, abs=1e-9)
    opened = conversion.position_from_raw([2048, 2048, 2048, 2048, 2048 - 1000])
    assert opened[4] == pytest.approx(0.0176266, abs=1e-7)  # fewer counts open the fingers


def test_velocity_of_arm_and_gripper(conversion: JointConversion) -> None:
    speed = conversion.velocity_from_raw([100, 100, 100, 100, -100])
    assert speed[0] == pytest.approx(100 * 0.229 * 2.0 * math.pi / 60.0)
    assert speed[4] == pytest.approx(speed[0] * conversion.ratio[4])
    np.testing.assert_array_equal(conversion.raw_from_velocity(speed), [100, 100, 100, 100, -100])


def test_voltage_temperature_and_current(conversion: JointConversion) -> None:
    np.testing.assert_allclose(conversion.voltage_from_raw([121] * 5), 12.1)
    np.testing.assert_allclose(conversion.temperature_from_raw([38] * 5), 38.0)
    np.testing.assert_allclose(conversion.current_from_raw([100] * 5)[:4], 0.269)
    np.testing.assert_allclose(conversion.current_from_raw([100] * 5)[4], -0.269)


def test_what_is_not_measured_is_nan_not_zero(omx: RobotSpec) -> None:
    load_only = JointConversion(altered(omx, model="xl430-w250"))
    assert np.isnan(load_only.current_from_raw([0] * 5)).all()
    np.testing.assert_allclose(load_only.load_from_raw([1000] * 5)[:4], 1.0)
    current_only = JointConversion(omx)
    assert np.isnan(current_only.load_from_raw([0] * 5)).all()


def test_unsigned_counts_below_zero_count_do_not_wrap(conversion: JointConversion) -> None:
    raw = np.array([2047] * 5, dtype=np.uint32)
    assert conversion.position_from_raw(raw)[0] == pytest.approx(-2.0 * math.pi / 4096.0)


def test_batches_of_ticks(conversion: JointConversion) -> None:
    ticks = np.full((3, 9, 5), 2048)
    assert conversion.position_from_raw(ticks).shape == (3, 9, 5)


def test_a_wrong_shape_names_the_joints(conversion: JointConversion) -> None:
    with pytest.raises(ValueError, match=r"shape \(4,\): expected a last axis of 5.*joint1"):
        conversion.position_from_raw([2048] * 4)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_no_register_holds_a_position_that_is_not_a_number(
    conversion: JointConversion, bad: float
) -> None:
    with pytest.raises(ValueError, match="position of joint3 is not finite"):
        conversion.raw_from_position([0.0, 0.0, bad, 0.0, 0.0])


def test_a_robot_without_servos_has_no_counts() -> None:
    with pytest.raises(ValueError, match="robot 'panda' is offline only"):
        JointConversion(load_robot_spec("panda"))
