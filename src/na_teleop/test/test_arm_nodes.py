# SPDX-License-Identifier: Apache-2.0
"""Leader and follower node in process, on emulated servos: topics, services, staleness, start."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from na_core.robot_spec import load_robot_spec
from na_msgs.msg import ActuatorTelemetry, JointGoal
from na_sim.dynamixel.bus_emulator import BusEmulator
from na_sim.dynamixel.servo_config import ServoConfig
from na_sim.wire.kinematic_plant import KinematicPlant
from na_sim.wire.pty_port import PtyPort
from na_teleop.fixed_rate import FixedRate
from na_teleop.follower_node import FollowerNode
from na_teleop.leader_node import LeaderNode
from na_teleop.preflight_report import PreflightError

SPEC = load_robot_spec("omx")
IDS = [joint.servo.id for joint in SPEC.joints if joint.servo is not None]
TIMEOUT = 15.0


class Arm:
    """Emulated servos on a port of their own."""

    def __init__(self, path: Path, ids: list[int]) -> None:
        self.path = str(path)
        servos = [ServoConfig(id=number, boot_time=0.0) for number in ids]
        self.bus = BusEmulator(servos, KinematicPlant(len(ids)))
        self.port = PtyPort(self.bus, path, realistic_timing=False)
        self.port.open()


class World:
    """A ROS context, a node under test and a peer that listens and asks."""

    def __init__(self) -> None:
        rclpy.init()
        self.executor = SingleThreadedExecutor()
        self.peer = Node("peer")
        self.executor.add_node(self.peer)
        self.stop: Any = SimpleNamespace(count=0)
        self.node: Any = None
        self.going = True

    def add(self, kind: Any, arm: Arm, **parameters: Any) -> Any:
        values = {"port": arm.path, "control_rate": 200.0, **parameters}
        overrides = [Parameter(name, value=value) for name, value in values.items()]
        self.node = kind(self.stop, parameter_overrides=overrides)
        self.executor.add_node(self.node)
        return self.node

    def until(self, condition: Callable[[], Any], also: Callable[[], None] = lambda: None) -> Any:
        """Tick and serve until the condition holds; its value is returned."""
        rate = FixedRate(200.0)
        deadline = time.monotonic() + TIMEOUT
        while not (value := condition()):
            if time.monotonic() > deadline:
                raise AssertionError("condition did not come true in time")
            also()
            rate.wait(lambda timeout: self.executor.spin_once(timeout_sec=timeout))
            if self.going:
                self.going = self.node.tick(rate, self.stop)
        return value

    def listen(self, kind: Any, topic: str, qos: Any = 10) -> list[Any]:
        heard: list[Any] = []
        self.peer.create_subscription(kind, topic, heard.append, qos)
        return heard

    def call(self, service: str) -> Any:
        client = self.peer.create_client(Trigger, service)
        self.until(client.service_is_ready)
        future = client.call_async(Trigger.Request())
        self.until(future.done)
        return future.result()


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    yield made
    if made.node is not None:
        made.node.destroy_node()
    made.peer.destroy_node()
    rclpy.try_shutdown()


@pytest.fixture
def arm(tmp_path: Path) -> Iterator[Arm]:
    made = Arm(tmp_path / "arm", IDS)
    yield made
    made.port.close()


def leader_message(pose: np.ndarray, names: tuple[str, ...] = SPEC.names) -> JointState:
    return JointState(name=list(names), position=[float(value) for value in pose])


def drive(world: World, arm: Arm, **parameters: Any) -> tuple[FollowerNode, Any, list[Any]]:
    """A follower that follows; returns it, a function that leads it home, and its telemetry."""
    node = world.add(FollowerNode, arm, ramp_s=0.1, park_settle_s=0.1, **parameters)
    heard = world.listen(ActuatorTelemetry, "follower/telemetry", 100)
    publisher = world.peer.create_publisher(
        JointState, "leader/joint_states", qos_profile_sensor_data
    )

    def lead() -> None:
        publisher.publish(leader_message(SPEC.home))

    world.until(lambda: heard and node.loop.control.state == "following", also=lead)
    return node, lead, heard


def test_without_a_leader_torque_stays_off_and_goals_are_nan(world: World, arm: Arm) -> None:
    world.add(FollowerNode, arm)
    heard = world.listen(ActuatorTelemetry, "follower/telemetry", 100)
    world.until(lambda: len(heard) >= 20)
    last = heard[-1]
    assert not last.torque_enabled
    assert np.isnan(last.goal_sent).all()
    assert np.isnan(last.goal_requested).all()
    assert not any(arm.bus.torque_enabled().values())
    assert list(last.name) == list(SPEC.names)
    assert [message.sequence for message in heard] == list(
        range(heard[0].sequence, heard[0].sequence + len(heard))
    )


def test_the_follower_goes_where_the_leader_is(world: World, arm: Arm) -> None:
    _, lead, heard = drive(world, arm)
    assert all(arm.bus.torque_enabled().values())

    def arrived() -> bool:
        return bool(np.allclose(heard[-1].position, SPEC.home, atol=0.01))

    world.until(arrived, also=lead)
    assert np.allclose(heard[-1].goal_requested, SPEC.home)
    assert np.allclose(heard[-1].goal_register, heard[-1].goal_sent, atol=2e-3)


@pytest.mark.parametrize(
    ("names", "pose", "reason"),
    [
        (("joint1", "elbow"), [0.0, 0.0], "unknown name"),
        (SPEC.names[:2], [0.0, 0.0], "missing joint"),
        (SPEC.names, [0.0, 0.0, float("nan"), 0.0, 0.0], "not finite"),
        (SPEC.names, [0.0], "length mismatch"),
    ],
)
def test_a_bad_leader_message_is_ignored_counted_and_the_arm_holds(
    world: World, arm: Arm, names: tuple[str, ...], pose: list[float], reason: str
) -> None:
    node, _, heard = drive(world, arm)
    diagnostics = world.listen(DiagnosticArray, "/diagnostics")
    publisher = world.peer.create_publisher(
        JointState, "leader/joint_states", qos_profile_sensor_data
    )

    def mislead() -> None:
        publisher.publish(leader_message(np.array(pose), names))

    def counted() -> bool:
        values = {v.key: v.value for array in diagnostics for v in array.status[0].values}
        return int(values.get(f"goals_ignored: {reason}", 0)) > 0

    world.until(counted, also=mislead)
    world.until(lambda: node.loop.control.state == "holding", also=mislead)
    goal = heard[-1].goal_sent
    count = len(heard)
    world.until(lambda: len(heard) > count + 20, also=mislead)
    assert np.array_equal(heard[-1].goal_sent, goal)
    assert heard[-1].torque_enabled


def test_park_service_parks_releases_and_stays_parked(world: World, arm: Arm) -> None:
    node, lead, heard = drive(world, arm)
    answer = world.call("follower_node/park")
    assert answer.success, answer.message
    world.until(lambda: not any(arm.bus.torque_enabled().values()), also=lead)
    world.until(lambda: not heard[-1].torque_enabled, also=lead)
    assert node.loop.control.state == "parked"
    count = len(heard)
    world.until(lambda: len(heard) > count + 50, also=lead)
    assert not any(arm.bus.torque_enabled().values())
    assert world.call("follower_node/clear_fault").success
    world.until(lambda: node.loop.control.state == "following", also=lead)


def test_a_silent_servo_makes_stale_nan_telemetry_then_a_latched_fault(
    world: World, arm: Arm
) -> None:
    node, lead, heard = drive(world, arm)
    states = world.listen(JointState, "follower/joint_states", qos_profile_sensor_data)
    world.until(lambda: states, also=lead)
    arm.bus.set_connected(IDS[2], False)
    world.until(lambda: heard[-1].stale, also=lead)
    assert np.isnan(heard[-1].position[2])
    assert np.isfinite(heard[-1].position[1])
    world.until(lambda: node.loop.control.state == "fault", also=lead)
    stale_from = next(m.sequence for m in heard if m.stale)
    last_state = states[-1].header.stamp
    stamps = {
        (m.header.stamp.sec, m.header.stamp.nanosec) for m in heard if m.sequence < stale_from
    }
    assert (last_state.sec, last_state.nanosec) in stamps
    arm.bus.set_connected(IDS[2], True)
    count = len(heard)
    world.until(lambda: len(heard) > count + 20 and not heard[-1].stale, also=lead)
    assert node.loop.control.state == "fault"
    assert world.call("follower_node/clear_fault").success
    world.until(lambda: node.loop.control.state == "following", also=lead)


def test_asked_to_stop_it_parks_then_releases_then_ends(world: World, arm: Arm) -> None:
    node, lead, heard = drive(world, arm)
    world.stop.count = 1
    world.until(lambda: not world.going, also=lead)
    assert node.loop.control.reason == "parked (shutting down)"
    assert node.close()
    assert not any(arm.bus.torque_enabled().values())
    assert np.allclose(heard[-1].position, SPEC.home, atol=0.06)


def test_a_goal_topic_can_drive_single_joints(world: World, arm: Arm) -> None:
    node = world.add(FollowerNode, arm, goal_source="topic", ramp_s=0.1)
    heard = world.listen(ActuatorTelemetry, "follower/telemetry", 100)
    publisher = world.peer.create_publisher(JointGoal, "follower/goal", 1)

    def send(names: tuple[str, ...], pose: list[float]) -> Callable[[], None]:
        return lambda: publisher.publish(JointGoal(name=list(names), position=pose))

    world.until(
        lambda: node.loop.control.state == "following", also=send(SPEC.names, SPEC.home.tolist())
    )
    target = SPEC.home[0] + 0.2
    world.until(
        lambda: abs(heard[-1].position[0] - target) < 0.01, also=send(("joint1",), [target])
    )
    assert np.allclose(heard[-1].goal_requested[1:], SPEC.home[1:])


def test_the_leader_is_read_and_never_holds_torque(world: World, arm: Arm) -> None:
    world.add(LeaderNode, arm)
    states = world.listen(JointState, "leader/joint_states", qos_profile_sensor_data)
    telemetry = world.listen(ActuatorTelemetry, "leader/telemetry", 100)
    world.until(lambda: len(states) > 10 and telemetry)
    assert list(states[-1].name) == list(SPEC.names)
    assert not telemetry[-1].torque_enabled
    assert telemetry[-1].arm == "leader"
    assert not any(arm.bus.torque_enabled().values())
    arm.bus.set_connected(IDS[0], False)
    world.until(lambda: telemetry[-1].stale)
    count = len(states)
    sequence = telemetry[-1].sequence
    world.until(lambda: telemetry[-1].sequence > sequence + 20)
    assert len(states) <= count + 1


@pytest.mark.parametrize("kind", [FollowerNode, LeaderNode])
def test_an_absent_servo_is_named_at_the_start(world: World, tmp_path: Path, kind: Any) -> None:
    arm = Arm(tmp_path / "short", IDS[:-1])
    try:
        with pytest.raises(PreflightError, match=rf"id {IDS[-1]}"):
            world.add(kind, arm)
        assert not any(arm.bus.torque_enabled().values())
    finally:
        arm.port.close()


def test_an_unknown_goal_source_is_refused(world: World, arm: Arm) -> None:
    with pytest.raises(ValueError, match="goal_source is 'policy', expected 'leader' or 'topic'"):
        world.add(FollowerNode, arm, goal_source="policy")
