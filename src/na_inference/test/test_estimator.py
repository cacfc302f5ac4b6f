# SPDX-License-Identifier: Apache-2.0
"""What is said and when nothing is said: one row per fault, answers worked out by hand."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio
import pytest

from na_core.kinematics import Kinematics
from na_core.robot_spec import RobotSpec
from na_core.robot_urdf import urdf_string
from na_core.wrench import payload_force
from na_inference.estimate import Estimate
from na_inference.estimator import Estimator, EstimatorSettings
from na_inference.model_file import load_model
from na_inference.reading import Reading
from na_inference.testing import write_tiny_model
from na_inference.validity import Validity

PUSH = np.array([0.2, 0.1, -0.3, 0.0, 0.0])  # A: force 2, 1, −3 N, logit 15


@pytest.fixture(params=[True, False], ids=["stream", "window"])
def estimator(request: pytest.FixtureRequest, tiny: Path, omx: RobotSpec) -> Estimator:
    model = load_model(tiny, omx, streaming=request.param)
    return Estimator(omx, model)


def step(estimator: Estimator, reading: Reading) -> Estimate:
    out = estimator.step(reading, reading.stamp_ns + 2_000_000)
    assert out is not None
    return out


def fill(estimator: Estimator, tick: Any, count: int = 9, **changes: Any) -> Estimate:
    for _ in range(count):
        out = step(estimator, tick(**changes))
    return out


def assert_silent(out: Estimate) -> None:
    for array in (out.force, out.force_ungated, out.covariance, out.effort_raw, out.condition):
        assert np.isnan(array).all()
    assert math.isnan(out.probability)
    assert not out.in_contact


def test_eight_ticks_are_silence_and_the_ninth_speaks(estimator: Estimator, tick: Any) -> None:
    for count in range(1, 9):
        out = step(estimator, tick())
        assert out.validity is Validity.WARMING_UP
        assert f"{count} of 9 ticks" in out.reason
        assert_silent(out)
    assert step(estimator, tick()).valid


def test_free_motion_gives_zero_force_and_the_parts_add_up(estimator: Estimator, tick: Any) -> None:
    reading = tick()
    out = fill(estimator, tick, goal=reading.ticks.position + 0.01)
    assert out.valid
    assert np.array_equal(out.force, np.zeros(3))
    assert out.effort_raw == pytest.approx(np.full(5, 0.09), rel=1e-4)
    assert out.probability == pytest.approx(1 / (1 + math.exp(5)), rel=1e-3)
    assert np.diag(out.covariance) == pytest.approx([0.04] * 3, rel=1e-4)
    assert np.isnan(out.condition).tolist() == [True, True, False, True, True]
    assert out.condition[2] == pytest.approx(0.5)


def test_effort_is_clipped_to_the_limits(estimator: Estimator, tick: Any) -> None:
    goal = tick().ticks.position + np.array([1.0, 0.0, 0.0, 0.0, 0.0])
    out = fill(estimator, tick, goal=goal)
    assert out.effort_raw[0] == pytest.approx(9.0, rel=1e-4)
    assert out.effort_clipped[0] == pytest.approx(estimator.spec.effort_limit[0])


def test_contact_opens_the_gate_after_its_dwell(estimator: Estimator, tick: Any) -> None:
    fill(estimator, tick)
    first = step(estimator, tick(current=PUSH))
    assert first.force_ungated == pytest.approx([2.0, 1.0, -3.0], rel=1e-4)
    assert np.array_equal(first.force, np.zeros(3))
    out = fill(estimator, tick, 2, current=PUSH)
    assert out.in_contact
    assert out.force == pytest.approx([2.0, 1.0, -3.0], rel=1e-4)


def test_a_hanging_weight_points_down_in_base_axes_and_as_pinocchio_says_in_tool_axes(
    omx: RobotSpec, tmp_path: Path, tick: Any
) -> None:
    """The force in tool axes against Pinocchio's own placement of the frame, no code shared."""
    path = write_tiny_model(tmp_path / "m.onnx", omx)
    estimator = Estimator(omx, load_model(path, omx))
    estimator.set_gate(0.001, 0.0005, 0.0)
    weight = payload_force(0.2)
    for pose in ([0.4, -0.6, 0.5, 0.9, 0.005], [-0.8, -0.2, 0.3, -0.5, 0.005]):
        position = np.array(pose)
        out = fill(
            estimator, tick, position=position, goal=position, current=[0, 0, -0.19613, 0, 0]
        )
        assert out.force == pytest.approx(weight, abs=1e-3)
        model = pinocchio.buildModelFromXML(urdf_string(omx))
        data = model.createData()
        full = pinocchio.neutral(model)
        for name, value in zip(omx.names, position, strict=True):
            full[model.joints[model.getJointId(name)].idx_q] = value
        pinocchio.framesForwardKinematics(model, data, full)
        placement = data.oMf[model.getFrameId(omx.end_effector_frame)]
        assert out.force_tool == pytest.approx(placement.rotation.T @ weight, abs=1e-3)
        # Carrying a weight takes effort against gravity: J^T f opposes what gravity() asks for.
        kinematics = Kinematics(omx)
        extra = -kinematics.jacobian(position).T @ weight
        assert extra @ kinematics.gravity(position) > 0


Change = Callable[[Any], dict[str, Any]]


@pytest.mark.parametrize(
    ("change", "validity", "words"),
    [
        ({"trouble": "current of joint2 is not a number"}, Validity.BAD_INPUT, "joint2"),
        ({"stale": True}, Validity.STALE, "did not all answer"),
        ({"temperature": [40, 40, 75, 40, 40]}, Validity.OVER_TEMPERATURE, "joint3 is at 75 °C"),
        ({"current": [9.0, 0, 0, 0, 0]}, Validity.OUT_OF_DISTRIBUTION, "joint1.current"),
        (
            {"voltage": [12, 12, 12, 12, 7.4]},
            Validity.OUT_OF_DISTRIBUTION,
            "gripper_left_joint.vol",
        ),
        ({"temperature": [-30.0] * 5}, Validity.OUT_OF_DISTRIBUTION, "temperature = -30"),
    ],
)
def test_a_tick_that_cannot_be_trusted_is_silence_with_a_reason(
    estimator: Estimator, tick: Any, change: dict[str, Any], validity: Validity, words: str
) -> None:
    fill(estimator, tick)
    out = step(estimator, tick(**change))
    assert out.validity is validity
    assert words in out.reason
    assert_silent(out)


def test_an_outlier_silences_every_window_that_holds_it(estimator: Estimator, tick: Any) -> None:
    fill(estimator, tick)
    step(estimator, tick(current=[9.0, 0, 0, 0, 0]))
    for _ in range(8):
        out = step(estimator, tick())
        assert out.validity is Validity.OUT_OF_DISTRIBUTION
        assert "joint1.current = 9" in out.reason
    assert step(estimator, tick()).valid


def test_a_stretched_arm_is_unobservable(estimator: Estimator, tick: Any) -> None:
    """Elbow and wrist in line: no joint can feel a force along the arm."""
    straight = -math.pi / 2 + math.atan2(0.024, 0.128)
    stretched = np.array([0.3, -0.5, straight, 0.0, 0.005])
    out = fill(estimator, tick, position=stretched, goal=stretched)
    assert out.validity is Validity.UNOBSERVABLE
    assert out.observability == pytest.approx(0.0, abs=1e-6)
    assert_silent(out)
    bent = stretched + np.array([0.0, 0.0, 0.8, 0.0, 0.0])
    out = fill(estimator, tick, 1, position=bent, goal=bent)
    expected = np.linalg.svd(estimator.kinematics.jacobian(bent), compute_uv=False)[-1]
    assert out.valid
    assert out.observability == pytest.approx(expected, abs=1e-6)


def test_a_missing_tick_is_filled_in_on_a_line(estimator: Estimator, tick: Any) -> None:
    """Errors 0, …, 0, [0.02 with the old goal], 0.04: the window sums to what a full one does."""
    pose = tick().ticks.position
    fill(estimator, tick, 20)
    tick()
    out = step(estimator, tick(position=pose + 0.04 * np.eye(5)[0]))
    assert out.valid
    assert out.effort_raw[0] == pytest.approx(-0.06, abs=1e-5)
    assert estimator.counters["bridged"] == 1


def test_after_a_pause_nine_new_ticks_are_needed(estimator: Estimator, tick: Any) -> None:
    fill(estimator, tick, 20)
    for _ in range(4):
        tick()
    out = step(estimator, tick())
    assert out.validity is Validity.WARMING_UP
    assert "1 of 9 ticks after: gap" in out.reason
    assert fill(estimator, tick, 8).valid
    assert estimator.counters["gap"] == 1


def test_what_came_before_a_break_leaves_no_trace(estimator: Estimator, tick: Any) -> None:
    far = tick().ticks.position + 0.1
    fill(estimator, tick, 20, goal=far)
    tick.stamp_ns += 1_000_000_000
    assert fill(estimator, tick, 9).effort_raw == pytest.approx(np.zeros(5), abs=1e-6)


def test_a_clock_set_back_one_hour_costs_one_window(estimator: Estimator, tick: Any) -> None:
    fill(estimator, tick, 20)
    tick.stamp_ns -= 3_600_000_000_000
    out = step(estimator, tick())
    assert out.validity is Validity.WARMING_UP
    assert "clock went back" in out.reason
    assert fill(estimator, tick, 8).valid


def test_an_old_tick_is_stale_and_a_future_one_too(estimator: Estimator, tick: Any) -> None:
    fill(estimator, tick)
    reading = tick()
    for shift, words in ((500_000_000, "0.500 s old"), (-500_000_000, "0.500 s in the future")):
        out = estimator.step(reading, reading.stamp_ns + shift)
        assert out is not None
        assert out.validity is Validity.STALE
        assert words in out.reason


def test_replay_may_switch_the_age_check_off(tiny: Path, omx: RobotSpec, tick: Any) -> None:
    estimator = Estimator(omx, load_model(tiny, omx), EstimatorSettings(max_age=0.0))
    for _ in range(9):
        out = estimator.step(tick(), 10**18)
    assert out is not None and out.valid


def test_a_duplicate_is_not_answered_twice(estimator: Estimator, tick: Any) -> None:
    fill(estimator, tick)
    reading = tick()
    assert estimator.step(reading, reading.stamp_ns) is not None
    assert estimator.step(reading, reading.stamp_ns) is None
    assert step(estimator, tick()).valid


def test_fifty_to_a_hundred_hertz_is_a_rate_mismatch(
    omx: RobotSpec, tmp_path: Path, tick: Any
) -> None:
    from na_inference.testing import tiny_metadata

    path = write_tiny_model(tmp_path / "m.onnx", omx, metadata=tiny_metadata(omx, 1 / 50))
    estimator = Estimator(omx, load_model(path, omx))
    tick.dt = 1 / 50
    assert fill(estimator, tick, 100).valid
    tick.dt = 1 / 100
    out = fill(estimator, tick, 9)
    assert out.validity is Validity.RATE_MISMATCH
    assert "trained for 20.00 ms" in out.reason
    assert_silent(out)
    tick.dt = 1 / 50
    assert fill(estimator, tick, 60).valid


def test_silence_of_the_source_is_said_and_ends_with_a_full_window(
    estimator: Estimator, tick: Any
) -> None:
    fill(estimator, tick)
    out = estimator.silent(tick.stamp_ns + 10**9, 1.0)
    assert out.validity is Validity.STALE
    assert "no tick for 1.00 s" in out.reason
    tick.stamp_ns += 10**9
    assert not fill(estimator, tick, 8).valid
    assert fill(estimator, tick, 1).valid


def test_a_model_swapped_between_two_ticks_starts_a_new_window(
    estimator: Estimator, tick: Any, omx: RobotSpec, tmp_path: Path
) -> None:
    fill(estimator, tick, 12, current=PUSH)
    other = write_tiny_model(tmp_path / "other.onnx", omx, force_per_ampere=20.0)
    estimator.swap(load_model(other, omx))
    assert not fill(estimator, tick, 8, current=PUSH).valid
    out = fill(estimator, tick, 3, current=PUSH)
    assert out.force == pytest.approx([4.0, 2.0, -6.0], rel=1e-4)


def test_tare_takes_the_bias_off_and_keeps_the_gate(estimator: Estimator, tick: Any) -> None:
    bias = [0.03, -0.02, 0.04, 0.0, 0.0]
    fill(estimator, tick, 80, current=bias)
    result = estimator.request_tare()
    assert result.ok, result.text
    out = step(estimator, tick(current=bias))
    assert out.force_ungated == pytest.approx([0.0, 0.0, 0.0], abs=1e-5)
    out = fill(estimator, tick, 5, current=PUSH)
    assert out.force == pytest.approx([1.7, 1.2, -3.4], rel=1e-3)


def test_a_tick_leaves_no_memory_behind(estimator: Estimator, tick: Any) -> None:
    fill(estimator, tick, 100)
    readings = [tick() for _ in range(400)]
    tracemalloc.start()
    for reading in readings[:200]:
        estimator.step(reading, reading.stamp_ns)
    before = tracemalloc.get_traced_memory()[0]
    for reading in readings[200:]:
        estimator.step(reading, reading.stamp_ns)
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 4000
