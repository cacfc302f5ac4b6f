# SPDX-License-Identifier: Apache-2.0
"""A calibration walks through its steps on emulated servos and finds how the arm is built."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from na_core.calibration import apply_calibration
from na_core.raw_si import JointConversion
from na_core.robot_spec import RobotSpec, load_robot_spec
from na_teleop.buses.errors import PortError
from na_teleop.calibration.assemble import CalibrationRefusedError
from na_teleop.calibration.run import CalibrationRun, Request, Task
from na_teleop.calibration.steps import DirectionCheck, PoseCapture, RangeSweep, StepError
from na_teleop.calibration.wording import free_direction, way_of


class Hand:
    """Turns the emulated shafts where it is asked to, in the arm's true geometry."""

    def __init__(self, arm: Any, built: RobotSpec, *, share: float = 0.98) -> None:
        self.arm, self.built, self.share = arm, built, share
        self.convert = JointConversion(built)
        self.pose = np.array(built.home)
        self.queue: list[np.ndarray] = []
        self.said: list[str] = []
        self.swap: dict[int, int] = {}
        self._place(self.convert.raw_from_position(self.pose).astype(float))

    def _place(self, counts: np.ndarray) -> None:
        self.arm.plant.position[:] = counts

    def ask(self, request: Request) -> None:
        """Plan the motion."""
        joint = self.swap.get(request.joint, request.joint)
        home = np.array(self.built.home)
        if request.task is Task.REFERENCE:
            self.queue = [home]
            return
        low, high = self.built.lower[joint], self.built.upper[joint]
        if request.task is Task.DIRECTION:
            step = request.direction * 0.4 * self.built.joints[joint].ratio
            targets = [float(np.clip(self.pose[joint] + step, low, high))]
        else:
            middle, half = (low + high) / 2, (high - low) / 2 * self.share
            targets = [middle - half, middle + half, home[joint]]
        self.queue = []
        for target in targets:
            pose = self.pose.copy()
            pose[joint] = target
            self.queue.append(pose)

    def done(self, request: Request) -> bool:
        """Whether nothing is left to do."""
        return not self.queue

    def say(self, text: str) -> None:
        """Remember."""
        self.said.append(text)

    def sleep(self, seconds: float) -> None:
        """Time passes: turn every shaft on, at most 150 counts per read."""
        self.arm.clock.sleep(seconds)
        if not self.queue:
            return
        goal = self.convert.raw_from_position(self.queue[0])
        now = self.arm.plant.position
        self._place(now + np.clip(goal - now, -150.0, 150.0))
        if np.array_equal(self.arm.plant.position, goal):
            self.pose = self.queue.pop(0)


def built(spec: RobotSpec, turned: dict[str, int], flipped: tuple[str, ...] = ()) -> RobotSpec:
    joints = []
    for joint in spec.joints:
        assert joint.servo is not None
        servo = replace(
            joint.servo,
            zero_count=joint.servo.zero_count + turned.get(joint.name, 0),
            sign=joint.servo.sign * (-1 if joint.name in flipped else 1),
        )
        joints.append(replace(joint, servo=servo))
    return replace(spec, joints=tuple(joints))


def run_on(arm: Any, hand: Hand, **options: Any) -> Any:
    bus = arm.bus()
    bus.open()
    return CalibrationRun(bus, "leader", hand, clock=arm.clock, sleep=hand.sleep, **options).run(
        "test"
    )


def test_offsets_and_directions_are_found(arm: Any, omx: RobotSpec) -> None:
    true = built(omx, {"joint2": 137, "joint3": -90, "gripper_left_joint": 55}, ("joint4",))
    hand = Hand(arm, true)
    found = run_on(arm, hand)
    for joint in true.joints:
        assert joint.servo is not None
        measured = found.joints[joint.name]
        assert measured.sign == joint.servo.sign
        assert abs(measured.zero_count - joint.servo.zero_count) <= 1
    assert any("joint4: direction is the opposite" in text for text in hand.said)
    apply_calibration(omx, found, "leader")
    assert {value for _, value in arm.log.torque_writes()} == {0}


def test_a_seam_inside_the_range_is_refused_with_the_turn_needed(arm: Any, omx: RobotSpec) -> None:
    hand = Hand(arm, built(omx, {"joint3": 1500}))
    with pytest.raises(
        CalibrationRefusedError, match=r"joint3 \(id 13\).*seam.*turned by \d+ degrees"
    ):
        run_on(arm, hand)


def test_every_problem_is_reported_at_once(arm: Any, omx: RobotSpec) -> None:
    hand = Hand(arm, omx, share=0.3)
    with pytest.raises(CalibrationRefusedError) as caught:
        run_on(arm, hand)
    assert len(caught.value.problems) == omx.n
    assert "move it from end to end" in caught.value.problems[0]


def test_a_wrong_reference_pose_shows_in_the_reach(arm: Any, omx: RobotSpec) -> None:
    hand = Hand(arm, omx)
    hand.built = replace(omx, home=omx.home + np.array([0.0, 0.3, 0.0, 0.0, 0.0]))
    with pytest.raises(CalibrationRefusedError, match=r"joint2 \(id 12\): reaches"):
        run_on(arm, hand)


def test_swapped_ids_show_in_the_direction_check(arm: Any, omx: RobotSpec) -> None:
    hand = Hand(arm, omx)
    hand.swap = {1: 2, 2: 1}
    with pytest.raises(StepError, match=r"asked for joint2, but joint3 moved.*each other's ids"):
        run_on(arm, hand)


def test_nobody_moves_the_arm(arm: Any, omx: RobotSpec) -> None:
    hand = Hand(arm, omx)
    hand.done = lambda request: False  # type: ignore[method-assign]
    with pytest.raises(StepError, match="within 5 s"):
        run_on(arm, hand, step_timeout_s=5.0)


def test_a_silent_servo_ends_the_run(make_arm: Callable[..., Any], omx: RobotSpec) -> None:
    arm = make_arm()
    hand = Hand(arm, omx)
    say = hand.ask

    def ask(request: Request) -> None:
        say(request)
        if request.task is Task.SWEEP:
            arm.log.mute = {13}

    hand.ask = ask  # type: ignore[method-assign]
    with pytest.raises(PortError, match=r"\[13\] .* stopped answering during the calibration"):
        run_on(arm, hand)


def test_the_linkage_is_measured_from_a_travel(arm: Any, omx: RobotSpec) -> None:
    hand = Hand(arm, omx, share=1.0)
    span = float(omx.upper[4] - omx.lower[4])
    found = run_on(arm, hand, travel=1.04 * span)
    assert found.joints["gripper_left_joint"].ratio == pytest.approx(
        1.04 * omx.joints[4].ratio, rel=2e-3
    )


def test_an_impossible_linkage_is_refused(arm: Any, omx: RobotSpec) -> None:
    span = float(omx.upper[4] - omx.lower[4])
    with pytest.raises(CalibrationRefusedError, match=r"linkage of .* the robot file has 11\.491"):
        run_on(arm, Hand(arm, omx), travel=2.0 * span)


def test_a_pose_needs_stillness() -> None:
    capture = PoseCapture(2)
    for k in range(30):
        assert capture.feed(np.array([100 + 3 * k, 5])) is None
    poses = [capture.feed(np.array([190 + k % 2, 5])) for k in range(20)]
    assert poses[-1] is not None and poses[-1].tolist() in ([190, 5], [191, 5])


def test_a_small_motion_tells_no_direction() -> None:
    check = DirectionCheck(("a", "b"), 0, np.array([2000, 2000]))
    assert check.feed(np.array([2100, 2000])) is None
    assert check.feed(np.array([1800, 2050])) == -1


def test_a_sweep_follows_the_count_over_the_seam() -> None:
    sweep = RangeSweep(np.array([4000]))
    for count in (4080, 60, 200, 4090, 3500):
        sweep.feed(np.array([count]))
    (seen,) = sweep.ranges
    assert (seen.low, seen.high) == (3500, 4296)


def test_directions_are_told_by_where_the_tip_goes(omx: RobotSpec) -> None:
    assert way_of(omx, 0) == "so that the tip of the arm goes left"
    assert way_of(omx, 3) == "so that the tip of the arm goes down"
    assert way_of(omx, 4, -1) == "so that the gripper closes"


def test_a_joint_parked_at_its_end_is_moved_the_other_way(omx: RobotSpec) -> None:
    so101 = load_robot_spec("so101")
    elbow = so101.order.index("elbow_flex")
    assert free_direction(so101, elbow) == -1
    assert way_of(so101, elbow, -1) == "so that the tip of the arm goes up"
    assert [free_direction(omx, joint) for joint in range(5)] == [1] * 5
