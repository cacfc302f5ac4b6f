# SPDX-License-Identifier: Apache-2.0
"""Options of the arm nodes: calibration files, leader aids, teleop modes, limits, clutch."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import rclpy
from geometry_msgs.msg import WrenchStamped
from rclpy.exceptions import InvalidParameterValueException
from rclpy.parameter import Parameter
from std_msgs.msg import Bool
from std_srvs.srv import SetBool

from na_core.calibration import (
    Calibration,
    CalibrationError,
    JointCalibration,
    write_calibration,
)
from na_core.robot_spec import load_robot_spec
from na_sim.emulated_servos import emulated_bus, kinematic_plant, servo_configs
from na_sim.wire.pty_port import PtyPort
from na_teleop.arm_calibration import PairCalibration
from na_teleop.fixed_rate import FixedRate
from na_teleop.follower_node import FollowerNode
from na_teleop.leader_node import LeaderNode

OMX, SO101 = load_robot_spec("omx"), load_robot_spec("so101")
TIMEOUT = 15.0


class Bench:
    """Emulated servos and a ROS context; makes nodes and ticks them."""

    def __init__(self, folder: Path, robot: Any) -> None:
        plant = kinematic_plant(robot)
        plant.position[:] = 2048
        self.servos = emulated_bus(servo_configs(robot), plant)
        self.port = PtyPort(self.servos, str(folder / "arm"), realistic_timing=False)
        self.port.open()
        self.robot = robot
        self.stop: Any = SimpleNamespace(count=0)
        self.nodes: list[Any] = []
        rclpy.init()

    def make(self, kind: Any, **parameters: Any) -> Any:
        values = {"port": self.port.path, "robot": self.robot.robot, **parameters}
        overrides = [Parameter(name, value=value) for name, value in values.items()]
        node = kind(self.stop, parameter_overrides=overrides)
        self.nodes.append(node)
        return node

    def until(self, node: Any, condition: Callable[[], Any]) -> None:
        rate = FixedRate(100.0)
        deadline = time.monotonic() + TIMEOUT
        while not condition():
            if time.monotonic() > deadline:
                raise AssertionError("condition did not come true in time")
            rate.wait(lambda timeout: None)
            node.tick(rate, self.stop)

    def close(self) -> None:
        for node in self.nodes:
            node.close()
            node.destroy_node()
        self.port.close()
        rclpy.try_shutdown()


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path, OMX)
    yield made
    made.close()


@pytest.fixture
def so101(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path, SO101)
    yield made
    made.close()


def calibration(arm: str, robot: Any = OMX) -> Calibration:
    joints = {}
    for joint in robot.joints:
        servo = joint.servo
        joints[joint.name] = JointCalibration(
            servo.id, servo.model, servo.sign, 2100, 0, 100, 4000, joint.ratio
        )
    return Calibration(robot.robot, arm, joints)


def files(tmp_path: Path) -> tuple[str, str]:
    """Paths of a leader's and a follower's calibration."""
    paths = []
    for arm in ("leader", "follower"):
        path = tmp_path / f"{arm}.yaml"
        write_calibration(path, calibration(arm))
        paths.append(str(path))
    return paths[0], paths[1]


# -- calibration -----------------------------------------------------------------------------


def test_a_calibration_moves_the_zero(bench: Bench, tmp_path: Path) -> None:
    leader_file, _ = files(tmp_path)
    node = bench.make(LeaderNode, calibration=leader_file)
    tick = node.control.tick()
    assert tick.sample.position[0] == pytest.approx((2048 - 2100) * 2 * np.pi / 4096)
    assert node.spec.calibration == calibration("leader").hash


def test_the_other_arms_file_is_refused_with_the_remedy(bench: Bench, tmp_path: Path) -> None:
    _, follower_file = files(tmp_path)
    with pytest.raises(CalibrationError, match=r"other one's file. Calibrate this arm: \./na"):
        bench.make(LeaderNode, calibration=follower_file)


def test_the_recorded_hash_is_the_followers(tmp_path: Path) -> None:
    leader_file, follower_file = files(tmp_path)
    pair = PairCalibration(leader_file, follower_file)
    expected = calibration("follower").hash
    assert pair.recorded_hash("omx") == expected
    assert pair.recorded_hash("omx", expected) == expected
    assert PairCalibration(leader_file).recorded_hash("omx", "given") == "given"


@pytest.mark.parametrize(
    ("leader", "follower", "robot", "given", "expected"),
    [
        (0, 0, "omx", "", "Give each arm its own file"),
        (1, 0, "omx", "", "or they are swapped"),
        (0, 1, "so101", "", "the robot in use"),
        (0, 1, "omx", "abc", "as parameter calibration_hash says"),
    ],
)
def test_files_that_do_not_belong_together_are_refused(
    tmp_path: Path, leader: int, follower: int, robot: str, given: str, expected: str
) -> None:
    both = files(tmp_path)
    pair = PairCalibration(both[leader], both[follower])
    with pytest.raises(CalibrationError, match=expected):
        pair.recorded_hash(robot, given)


# -- aids ------------------------------------------------------------------------------------


def switch(node: Any, on: bool) -> Any:
    return node._on_aids(SetBool.Request(data=on), SetBool.Response())


def test_aids_come_and_go_by_service(bench: Bench) -> None:
    node = bench.make(LeaderNode)
    bench.until(node, lambda: node.control.health.values()["lowest_voltage"] != "unknown")
    assert not any(bench.servos.torque_enabled().values())
    assert switch(node, True).success
    bench.until(node, lambda: node.control.output is not None)
    assert all(bench.servos.torque_enabled().values())
    assert node._aid_values()["aids"] == "on"
    answer = switch(node, False)
    assert answer.success and not any(bench.servos.torque_enabled().values())


def test_wrench_and_dead_man_reach_the_aids(bench: Bench) -> None:
    node = bench.make(LeaderNode, aids=True, aid_feedback_gain=1.0, dead_man="topic")
    bench.until(node, lambda: node.control.output is not None)
    message = WrenchStamped()
    message.header.frame_id = "link1"
    message.wrench.force.x = 4.0

    def feel() -> bool:
        node._on_wrench(message)
        node._on_dead_man(Bool(data=True))
        return bool(node.control.aids.feedback.force[0] > 1.0)

    bench.until(node, feel)
    message.header.frame_id = "somewhere"
    node._on_wrench(message)
    assert "expected 'link1'" in node.control.aids.feedback.last_refusal


def test_an_arm_without_current_control_says_so_and_goes_on_reading(so101: Bench) -> None:
    node = so101.make(LeaderNode, aids=True)
    assert "no current control" in node.control.obstacle
    answer = switch(node, True)
    assert not answer.success and "no current control" in answer.message
    assert node.control.tick().sample.valid.all()
    assert not any(so101.servos.torque_enabled().values())


def test_strengths_out_of_range_are_refused(bench: Bench) -> None:
    with pytest.raises(InvalidParameterValueException, match="aid_current_limit"):
        bench.make(LeaderNode, aid_current_limit=5.0)
    with pytest.raises(ValueError, match="dead_man is 'pedal'"):
        bench.make(LeaderNode, dead_man="pedal")


# -- modes and limits ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"teleop_mode": "wild"}, "teleop_mode is 'wild'"),
        ({"teleop_mode": "joint", "teleop_scale": 0.5}, "use mode scaled"),
        ({"workspace": [0.1, 0.0]}, "workspace has 2 numbers, expected 6"),
        ({"workspace": [0.5, 0.0, 0.0, 0.6, 1.0, 1.0]}, "does not contain the park pose"),
        ({"limit_margin": 0.9}, "without its park position"),
    ],
)
def test_limits_that_make_no_sense_are_refused(
    bench: Bench, parameters: dict[str, Any], expected: str
) -> None:
    with pytest.raises(ValueError, match=expected):
        bench.make(FollowerNode, **parameters)


def led(bench: Bench, node: Any, pose: np.ndarray) -> Callable[[], bool]:
    """A condition that leads the follower to `pose` while it is asked, true once it follows."""

    def following() -> bool:
        node.loop.leader_message(bench.robot.names, pose.tolist())
        return str(node.loop.control.state) == "following"

    return following


def test_the_clutch_holds_and_closes_without_a_jump(bench: Bench) -> None:
    node = bench.make(FollowerNode, teleop_mode="scaled", teleop_scale=0.5, ramp_s=0.2)
    pose = np.array(OMX.home)
    bench.until(node, led(bench, node, pose))
    stood = node.loop.control.held
    answer = node._on_clutch(SetBool.Request(data=True), SetBool.Response())
    assert answer.success
    seen: list[np.ndarray] = []

    def elsewhere() -> bool:
        moved = pose + np.array([0.4, 0.2, -0.2, 0.1, 0.0])
        node.loop.leader_message(OMX.names, moved.tolist())
        seen.append(node.loop.control.held)
        return len(seen) > 20

    bench.until(node, elsewhere)
    np.testing.assert_allclose(seen, np.tile(stood, (len(seen), 1)))
    node._on_clutch(SetBool.Request(data=False), SetBool.Response())
    seen.clear()
    bench.until(node, elsewhere)
    np.testing.assert_allclose(np.array(seen)[:, :4], np.tile(stood[:4], (len(seen), 1)))


def test_a_clutch_needs_torque(bench: Bench) -> None:
    node = bench.make(FollowerNode)
    answer = node._on_clutch(SetBool.Request(data=True), SetBool.Response())
    assert not answer.success and "torque is off" in answer.message


def test_narrower_limits_bound_the_goal(bench: Bench) -> None:
    node = bench.make(FollowerNode, limit_margin=0.2, velocity_share=0.5, ramp_s=0.1)
    far = replace(OMX).upper
    bench.until(node, led(bench, node, far))
    bench.until(node, lambda: led(bench, node, far)() and node.loop.control.held[1] > 1.29)
    assert node.loop.control.held[1] <= OMX.upper[1] - 0.2 + 1e-9
