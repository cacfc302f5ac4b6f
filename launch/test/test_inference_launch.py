# SPDX-License-Identifier: Apache-2.0
"""The live estimate in teleop.launch.py, and replay.launch.py: wrenches come, everything ends."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import launch_pytest
import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from launch import LaunchDescription
from launch.actions import IncludeLaunchDescription, RegisterEventHandler
from launch.event_handlers import OnProcessExit
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_ros.actions import Node as LaunchedNode
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState

from na_core.robot_spec import load_robot_spec
from na_inference.testing import tiny_metadata, write_plain_calibration, write_tiny_model
from na_msgs.msg import ActuatorTelemetry, NeuralActuatorState, PlantTruth

LAUNCH = Path(__file__).resolve().parents[1]
TIMEOUT = 120.0  # the first start compiles the physics
SPEC = load_robot_spec("omx")


def include(name: str, exits: list[tuple[str, int]], **arguments: str) -> list[Any]:
    """Include a launch file, and note the exit codes of its processes."""

    def ended(event: Any, context: Any) -> None:
        exits.append((event.process_name.rsplit("-", 1)[0], event.returncode))

    return [
        RegisterEventHandler(OnProcessExit(on_exit=ended)),
        IncludeLaunchDescription(
            PythonLaunchDescriptionSource(str(LAUNCH / name)), launch_arguments=arguments.items()
        ),
    ]


class Observer:
    """A node that listens."""

    def __init__(self) -> None:
        self.context = rclpy.Context()
        rclpy.init(context=self.context)
        self.node = Node("observer", context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)

    def listen(self, kind: Any, topic: str) -> list[Any]:
        heard: list[Any] = []
        self.node.create_subscription(kind, topic, heard.append, 100)
        return heard

    def until(self, condition: Callable[[], Any]) -> None:
        deadline = time.monotonic() + TIMEOUT
        while not condition():
            assert time.monotonic() < deadline, "condition did not come true in time"
            self.executor.spin_once(timeout_sec=0.1)

    def close(self) -> None:
        self.node.destroy_node()
        rclpy.try_shutdown(context=self.context)


@pytest.fixture
def observer() -> Iterator[Observer]:
    made = Observer()
    yield made
    made.close()


@pytest.fixture
def exits() -> list[tuple[str, int]]:
    return []


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A tiny model that takes everything for typical."""
    wide = tiny_metadata(SPEC, feature_scale=[1000.0] * 35)
    return write_tiny_model(tmp_path / "tiny.onnx", SPEC, stream=True, metadata=wide)


@launch_pytest.fixture
def with_estimate(exits: list[tuple[str, int]], model: Path) -> LaunchDescription:
    return LaunchDescription(
        [
            *include("teleop.launch.py", exits, model=str(model), namespace="left", scene="demo"),
            launch_pytest.actions.ReadyToTest(),
        ]
    )


@pytest.mark.launch(fixture=with_estimate)
def test_teleoperation_with_a_model_estimates_forces_in_its_namespace(
    observer: Observer, exits: list[tuple[str, int]]
) -> Iterator[None]:
    states = observer.listen(NeuralActuatorState, "/left/neural_actuator/state")
    truth = observer.listen(PlantTruth, "/left/sim/follower/truth")
    observer.until(lambda: truth and sum(state.validity == 0 for state in states) > 60)
    assert truth[-1].header.frame_id == SPEC.base_frame
    last = next(state for state in reversed(states) if state.validity == 0)
    assert list(last.effort.name) == list(SPEC.names)
    yield
    assert len(exits) == 5
    assert all(code == 0 for _, code in exits), exits


@launch_pytest.fixture
def calibrated(exits: list[tuple[str, int]], model: Path, tmp_path: Path) -> LaunchDescription:
    write_plain_calibration(tmp_path / "arm.yaml", SPEC)
    arguments = {"model": str(model), "follower_calibration": str(tmp_path / "arm.yaml")}
    return LaunchDescription(
        [
            *include("teleop.launch.py", exits, **arguments, namespace="strict"),
            *include(
                "teleop.launch.py",
                [],
                **arguments,
                namespace="lenient",
                accept_other_calibration="true",
            ),
            launch_pytest.actions.ReadyToTest(),
        ]
    )


@pytest.mark.slow
@pytest.mark.launch(fixture=calibrated)
def test_a_model_of_another_calibration_is_refused_unless_accepted(
    observer: Observer, exits: list[tuple[str, int]]
) -> Iterator[None]:
    driven = observer.listen(ActuatorTelemetry, "/strict/follower/telemetry")
    states = observer.listen(NeuralActuatorState, "/lenient/neural_actuator/state")
    reports = observer.listen(DiagnosticArray, "/diagnostics")

    def remarked() -> bool:
        found = [s for r in reports for s in r.status if "/lenient/neural" in s.name]
        return bool(found) and "not validated on this arm" in found[-1].message

    observer.until(lambda: exits and driven and states and remarked())
    count = len(driven)
    observer.until(lambda: len(driven) > count + 30)  # the arm goes on without an estimate
    assert exits == [("neural_actuator_node", 1)]
    yield


@launch_pytest.fixture
def without_model(exits: list[tuple[str, int]], tmp_path: Path) -> LaunchDescription:
    missing = {f"{arm}_port": str(tmp_path / arm) for arm in ("leader", "follower")}
    return LaunchDescription(
        [
            *include("teleop.launch.py", exits, robot="so101", sim="false", **missing),
            launch_pytest.actions.ReadyToTest(),
        ]
    )


@pytest.mark.launch(fixture=without_model)
def test_without_a_model_of_the_robot_the_estimate_is_left_out(
    exits: list[tuple[str, int]],
) -> Iterator[None]:
    deadline = time.monotonic() + 60.0
    while len(exits) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    yield
    assert "neural_actuator_node" not in {name for name, _ in exits}


@pytest.fixture
def bag(tmp_path: Path) -> Path:
    """Two seconds of an arm at rest."""
    from na_core.nad.example import write_example

    return write_example(tmp_path / "episode")


@launch_pytest.fixture
def replay(exits: list[tuple[str, int]], model: Path, bag: Path) -> LaunchDescription:
    return LaunchDescription(
        [
            *include("replay.launch.py", exits, model=str(model), bag=str(bag)),
            launch_pytest.actions.ReadyToTest(),
        ]
    )


@pytest.mark.launch(fixture=replay)
def test_a_recording_is_played_into_the_estimate(
    observer: Observer, exits: list[tuple[str, int]]
) -> Iterator[None]:
    states = observer.listen(NeuralActuatorState, "/neural_actuator/state")
    observer.until(lambda: any(state.validity == 0 for state in states))
    observer.until(lambda: exits)
    yield
    assert ("bag_replay_node", 0) in exits


@launch_pytest.fixture
def other_driver(exits: list[tuple[str, int]], model: Path) -> LaunchDescription:
    return LaunchDescription(
        [
            *include(
                "inference.launch.py",
                exits,
                model=str(model),
                joint_states="/their/states",
                goal="/their/goal",
                goal_type="JointState",
                joint_names="['waist=joint1']",
                effort_unit="mA",
                voltage="12.0",
                temperature="35.0",
                max_age="1.0",
            ),
            launch_pytest.actions.ReadyToTest(),
        ]
    )


@pytest.mark.launch(fixture=other_driver)
def test_another_drivers_joint_states_become_a_force(
    observer: Observer, exits: list[tuple[str, int]]
) -> Iterator[None]:
    states = observer.listen(NeuralActuatorState, "/neural_actuator/state")
    joints = observer.node.create_publisher(JointState, "/their/states", qos_profile_sensor_data)
    goals = observer.node.create_publisher(JointState, "/their/goal", 1)
    message = JointState(name=["waist", *SPEC.names[1:]], position=[0.1, -0.6, 0.5, 0.9, 0.005])
    message.velocity, message.effort = [0.0] * 5, [200.0, 100.0, -300.0, 0.0, 0.0]
    stamp = [time.time_ns()]

    def publish() -> None:
        stamp[0] = max(stamp[0] + 16_666_667, time.time_ns() - 200_000_000)
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp[0], 10**9)
        goals.publish(message)
        joints.publish(message)

    observer.node.create_timer(1 / 60, publish)
    observer.until(lambda: states and states[-1].contact.in_contact)
    force = states[-1].force
    assert (force.x, force.y, force.z) == pytest.approx((2.0, 1.0, -3.0), rel=1e-3)
    yield
    assert exits == [("neural_actuator_node", 0)]


@launch_pytest.fixture
def nothing_declared(exits: list[tuple[str, int]], model: Path) -> LaunchDescription:
    return LaunchDescription(
        [
            *include("inference.launch.py", exits, model=str(model)),
            launch_pytest.actions.ReadyToTest(),
        ]
    )


@pytest.mark.launch(fixture=nothing_declared)
def test_without_declared_units_it_does_not_start(exits: list[tuple[str, int]]) -> Iterator[None]:
    deadline = time.monotonic() + 60.0
    while not exits and time.monotonic() < deadline:
        time.sleep(0.05)
    yield
    assert exits == [("neural_actuator_node", 1)]


@launch_pytest.fixture
def pressing(exits: list[tuple[str, int]]) -> LaunchDescription:
    """The committed model, no leader, and the example that presses on the table."""
    press = LaunchedNode(package="na_inference", executable="press_and_hold_node", output="screen")
    return LaunchDescription(
        [
            *include("teleop.launch.py", exits, goal_source="topic"),
            press,
            launch_pytest.actions.ReadyToTest(),
        ]
    )


@pytest.mark.slow
@pytest.mark.launch(fixture=pressing)
def test_the_example_finds_the_table_and_holds_its_force(
    observer: Observer, exits: list[tuple[str, int]]
) -> Iterator[None]:
    truth = observer.listen(PlantTruth, "/sim/follower/truth")

    def held() -> bool:
        """Two seconds of a true force around the four newtons that were asked for."""
        last = [message.force.z for message in truth[-120:]]
        return len(last) == 120 and min(last) > 2.0 and max(last) < 7.0

    observer.until(held)
    yield
    assert not [name for name, code in exits if code != 0]


@launch_pytest.fixture
def demonstrating(exits: list[tuple[str, int]], tmp_path: Path) -> LaunchDescription:
    press = LaunchedNode(package="na_inference", executable="press_and_hold_node")
    bags = {"record": "true", "bag_dir": str(tmp_path / "bags")}
    return LaunchDescription(
        [
            *include("teleop.launch.py", exits, goal_source="topic", **bags),
            press,
            launch_pytest.actions.ReadyToTest(),
        ]
    )


@pytest.mark.slow
@pytest.mark.launch(fixture=demonstrating)
def test_a_policy_cloned_from_a_recording_presses_too(
    observer: Observer, exits: list[tuple[str, int]], tmp_path: Path
) -> Iterator[None]:
    pytest.importorskip("torch", reason="needs torch: requirements/train.txt")
    truth = observer.listen(PlantTruth, "/sim/follower/truth")
    observer.until(lambda: sum(message.force.z > 2.0 for message in truth) > 200)
    yield
    policy = tmp_path / "policy.npz"
    module = [sys.executable, "-m", "na_training.behaviour_cloning", str(tmp_path / "bags")]
    learnt = subprocess.run([*module, "--out", str(policy)], capture_output=True, text=True)
    assert learnt.returncode == 0, learnt.stderr
    words = ["na_bringup", "teleop.launch.py", "goal_source:=topic"]
    node = ["na_inference", "cloned_policy_node", "--ros-args", "-p", f"policy:={policy}"]
    ros2 = shutil.which("ros2")
    assert ros2 is not None
    running = [subprocess.Popen([ros2, "launch", *words]), subprocess.Popen([ros2, "run", *node])]
    begin = len(truth)
    try:
        observer.until(lambda: sum(m.force.z > 1.0 for m in truth[begin:]) > 120)
    finally:
        for process in reversed(running):
            process.send_signal(signal.SIGINT)
            process.wait(40)
