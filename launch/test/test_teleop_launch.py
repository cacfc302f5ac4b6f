# SPDX-License-Identifier: Apache-2.0
"""teleop.launch.py with emulated arms: rate, recording, orderly end, two pairs side by side."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import launch_pytest
import numpy as np
import psutil
import pytest
import rclpy
from launch import LaunchDescription
from launch.actions import IncludeLaunchDescription, RegisterEventHandler
from launch.event_handlers import OnProcessExit, OnProcessStart
from launch.launch_description_sources import PythonLaunchDescriptionSource
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState

from na_core.nad.reader import find_episodes, load_episode
from na_msgs.msg import ActuatorTelemetry

TELEOP = Path(__file__).resolve().parents[1] / "teleop.launch.py"
NODES = {"emulated_arm_node", "leader_node", "follower_node"}
TIMEOUT = 120.0  # the first start compiles the physics


class Record:
    """What a launch did: processes started, and their exit codes by executable."""

    def __init__(self) -> None:
        self.pids: list[int] = []
        self.exits: list[tuple[str, int]] = []

    def teleop(self, **arguments: str) -> list[Any]:
        """Include teleop.launch.py, and note what starts and ends."""
        included = IncludeLaunchDescription(
            PythonLaunchDescriptionSource(str(TELEOP)),
            launch_arguments={"inference": "false", **arguments}.items(),
        )
        return [
            RegisterEventHandler(OnProcessStart(on_start=self._started)),
            RegisterEventHandler(OnProcessExit(on_exit=self._ended)),
            included,
        ]

    def _started(self, event: Any, context: Any) -> None:
        self.pids.append(event.pid)

    def _ended(self, event: Any, context: Any) -> None:
        self.exits.append((event.process_name.rsplit("-", 1)[0], event.returncode))


class Observer:
    """A node of its own that listens."""

    def __init__(self) -> None:
        self.context = rclpy.Context()
        rclpy.init(context=self.context)
        self.node = Node("observer", context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)

    def listen(self, kind: Any, topic: str, qos: Any) -> list[Any]:
        heard: list[Any] = []
        self.node.create_subscription(kind, topic, heard.append, qos)
        return heard

    def until(self, condition: Callable[[], Any], timeout: float = TIMEOUT) -> None:
        deadline = time.monotonic() + timeout
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
def record() -> Record:
    return Record()


@pytest.fixture
def bags(tmp_path: Path) -> Path:
    return tmp_path / "bags"


@launch_pytest.fixture
def recorded_pair(record: Record, bags: Path) -> LaunchDescription:
    """One pair, recorded."""
    return LaunchDescription(
        [
            *record.teleop(record="true", bag_dir=str(bags)),
            launch_pytest.actions.ReadyToTest(),
        ]
    )


@pytest.mark.launch(fixture=recorded_pair)
def test_the_leader_drives_the_follower_is_recorded_and_ends_in_order(
    observer: Observer, record: Record, bags: Path
) -> Iterator[None]:
    heard = observer.listen(ActuatorTelemetry, "/follower/telemetry", 100)
    leads = observer.listen(JointState, "/leader/joint_states", qos_profile_sensor_data)

    def moved() -> bool:
        poses = np.array([message.position for message in heard if message.torque_enabled])
        return len(poses) > 300 and bool((np.ptp(poses, axis=0)[:4] > 0.1).all())

    observer.until(moved)
    assert leads
    stamps = np.array([m.header.stamp.sec + 1e-9 * m.header.stamp.nanosec for m in heard])
    assert np.median(np.diff(stamps)) == pytest.approx(1 / 60, abs=0.001)
    sequences = [message.sequence for message in heard]
    assert sequences == list(range(sequences[0], sequences[0] + len(sequences)))
    error = np.array([m.position for m in heard[-60:]]) - [m.goal_requested for m in heard[-60:]]
    assert np.abs(error[:, :4]).max() < np.radians(10)
    yield
    assert sorted(record.exits) == sorted(
        [("emulated_arm_node", 0)] * 2
        + [("leader_node", 0), ("follower_node", 0), ("recorder_node", 0)]
    )
    assert not [pid for pid in record.pids if psutil.pid_exists(pid)]
    (episode,) = find_episodes(bags)
    follower = load_episode(episode, use_cache=False).follower
    assert follower is not None
    assert len(follower) > 200  # discovery may start the recorder later than the observer
    assert follower.torque_enabled[-1]


@launch_pytest.fixture
def so101_pair(record: Record, bags: Path) -> LaunchDescription:
    """A pair of Feetech arms, recorded."""
    return LaunchDescription(
        [
            *record.teleop(robot="so101", record="true", bag_dir=str(bags)),
            launch_pytest.actions.ReadyToTest(),
        ]
    )


@pytest.mark.slow
@pytest.mark.launch(fixture=so101_pair)
def test_feetech_arms_are_driven_and_recorded_alike(
    observer: Observer, record: Record, bags: Path
) -> Iterator[None]:
    heard = observer.listen(ActuatorTelemetry, "/follower/telemetry", 100)

    def moved() -> bool:
        poses = np.array([message.position for message in heard if message.torque_enabled])
        return len(poses) > 300 and bool((np.ptp(poses, axis=0)[:4] > 0.1).all())

    observer.until(moved)
    assert len(heard[-1].name) == 6 and not heard[-1].stale
    assert np.isfinite(heard[-1].current).all() and np.isfinite(heard[-1].load).all()
    yield
    assert all(code == 0 for _, code in record.exits) and len(record.exits) == 5
    (episode,) = find_episodes(bags)
    follower = load_episode(episode, use_cache=False).follower
    assert follower is not None and len(follower) > 200 and follower.names[-1] == "gripper"


@launch_pytest.fixture
def two_pairs(record: Record) -> LaunchDescription:
    """Two pairs under their own namespaces."""
    return LaunchDescription(
        [
            *record.teleop(namespace="left", seed="1"),
            record.teleop(namespace="right", seed="2")[-1],
            launch_pytest.actions.ReadyToTest(),
        ]
    )


@pytest.mark.slow
@pytest.mark.launch(fixture=two_pairs)
def test_two_pairs_run_side_by_side(observer: Observer, record: Record) -> Iterator[None]:
    left = observer.listen(ActuatorTelemetry, "/left/follower/telemetry", 100)
    right = observer.listen(ActuatorTelemetry, "/right/follower/telemetry", 100)
    observer.until(lambda: left and right and left[-1].torque_enabled and right[-1].torque_enabled)
    count = len(left), len(right)
    observer.until(lambda: len(left) > count[0] + 200 and len(right) > count[1] + 200)
    assert not np.allclose(left[-1].position, right[-1].position, atol=1e-3)
    yield
    assert [code for _, code in record.exits] == [0] * 8


@launch_pytest.fixture
def no_arm(record: Record, tmp_path: Path) -> LaunchDescription:
    """Real ports that do not exist."""
    missing = {f"{arm}_port": str(tmp_path / arm) for arm in ("leader", "follower")}
    return LaunchDescription(
        [*record.teleop(sim="false", **missing), launch_pytest.actions.ReadyToTest()]
    )


@pytest.mark.launch(fixture=no_arm)
def test_a_missing_port_ends_everything_with_an_error(record: Record) -> Iterator[None]:
    deadline = time.monotonic() + 60.0
    while len(record.exits) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    yield
    assert {name for name, _ in record.exits} == {"leader_node", "follower_node"}
    assert any(code == 1 for _, code in record.exits)
    assert not any(code == 0 for _, code in record.exits)
