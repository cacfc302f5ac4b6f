# SPDX-License-Identifier: Apache-2.0
"""The recorder node in process: services, raw recording, QoS as offered, labels, diagnostics."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import rclpy
import yaml
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState

from na_core.nad.layout import FOLLOWER_JOINT_STATES, FOLLOWER_TELEMETRY, LEADER_TELEMETRY
from na_core.nad.raw_bag import RawBag
from na_core.nad.reader import find_episodes, read_episode
from na_core.nad.validate import validate
from na_msgs.msg import ActuatorTelemetry, ForceLabel
from na_msgs.srv import SetForceLabel, StartEpisode, StopEpisode
from na_teleop.recorder_node import RecorderNode

JOINTS = ["joint1", "joint2", "joint3", "joint4", "gripper_left_joint"]
TIMEOUT = 15.0


class World:
    """A context of its own, the recorder, and a peer that plays arm and operator."""

    def __init__(self, out_dir: Path) -> None:
        self.context = Context()
        self.context.init(domain_id=random.SystemRandom().randrange(100, 200))
        self.executor = SingleThreadedExecutor(context=self.context)
        self.out_dir = out_dir
        self.peer = Node("peer", context=self.context)
        self.executor.add_node(self.peer)
        self.telemetry = self.peer.create_publisher(ActuatorTelemetry, FOLLOWER_TELEMETRY, 100)
        self.states = self.peer.create_publisher(
            JointState, FOLLOWER_JOINT_STATES, qos_profile_sensor_data
        )
        self.diagnostics: list[Any] = []
        self.peer.create_subscription(
            DiagnosticArray, "/diagnostics", lambda m: self.diagnostics.extend(m.status), 10
        )
        self.recorder: Any = None
        self.sent = 0

    def start(self, **parameters: Any) -> Any:
        values = {"out_dir": str(self.out_dir), "disk_reserve_mb": 0.0, **parameters}
        overrides = [Parameter(name, value=value) for name, value in values.items()]
        self.recorder = RecorderNode(context=self.context, parameter_overrides=overrides)
        self.executor.add_node(self.recorder)
        self.until(lambda: self.telemetry.get_subscription_count() > 0)
        self.until(lambda: self.states.get_subscription_count() > 0)
        return self.recorder

    def until(self, condition: Callable[[], Any], seconds: float = TIMEOUT) -> Any:
        deadline = time.monotonic() + seconds
        while not (value := condition()):
            if time.monotonic() > deadline:
                raise AssertionError("condition did not come true in time")
            self.executor.spin_once(timeout_sec=0.02)
        return value

    def publish(self, count: int) -> None:
        seen = self.recorder.session.seen
        for _ in range(count):
            now = self.peer.get_clock().now().to_msg()
            message = ActuatorTelemetry(sequence=self.sent, arm="follower", name=JOINTS)
            message.header.stamp = now
            for field in ("position", "velocity", "goal_requested", "current", "voltage"):
                setattr(message, field, [0.1] * 5)
            self.telemetry.publish(message)
            states = JointState(name=JOINTS, position=[0.1] * 5)
            states.header.stamp = now
            self.states.publish(states)
            self.sent += 1
            self.until(lambda: seen[FOLLOWER_TELEMETRY] == self.sent)
        self.until(lambda: seen[FOLLOWER_JOINT_STATES] == self.sent)

    def call(self, kind: Any, name: str, request: Any) -> Any:
        client = self.peer.create_client(kind, f"/recorder_node/{name}")
        self.until(client.service_is_ready)
        future = client.call_async(request)
        self.until(future.done)
        return future.result()

    def close(self) -> None:
        for node in (self.recorder, self.peer):
            if node is not None:
                node.destroy_node()
        self.executor.shutdown()
        self.context.try_shutdown()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


def test_episode_by_service(world: World) -> None:
    world.start()
    request = StartEpisode.Request(episode="one", task="push", category="free_motion")
    started = world.call(StartEpisode, "start_episode", request)
    assert started.success and started.path == str(world.out_dir / "one")
    world.publish(20)
    stopped = world.call(StopEpisode, "stop_episode", StopEpisode.Request(keep=True))
    assert stopped.success and stopped.messages == 42
    episode = read_episode(world.out_dir / "one")
    assert episode.follower is not None and len(episode.follower) == 20
    assert episode.follower.sequence.tolist() == list(range(20))
    assert (episode.info.task, episode.info.robot) == ("push", "omx")
    assert len(episode.info.robot_hash) == 64
    content = yaml.safe_load((world.out_dir / "one/metadata.yaml").read_text())
    topics = content["rosbag2_bagfile_information"]["topics_with_message_count"]
    offered = {
        topic["topic_metadata"]["name"]: topic["topic_metadata"]["offered_qos_profiles"][0]
        for topic in topics
    }
    assert offered[FOLLOWER_TELEMETRY]["reliability"] == "reliable"
    assert offered[FOLLOWER_JOINT_STATES]["reliability"] == "best_effort"
    assert "readable" not in {check.rule for check in validate(world.out_dir / "one").checks}


def test_refusals_say_what_to_do(world: World) -> None:
    world.start()
    stopped = world.call(StopEpisode, "stop_episode", StopEpisode.Request(keep=True))
    assert not stopped.success and "call start_episode first" in stopped.message
    request = StartEpisode.Request(category="dance")
    started = world.call(StartEpisode, "start_episode", request)
    assert not started.success and "expected one of free_motion" in started.message
    assert list(world.out_dir.iterdir()) == []


def test_label_changes_are_messages_in_the_episode(world: World) -> None:
    world.start()
    label = ForceLabel(source=ForceLabel.PAYLOAD, mass=0.2, valid=True)
    label.header.frame_id, label.force.z = "link1", -1.961
    request = SetForceLabel.Request(label=label)
    assert world.call(SetForceLabel, "set_force_label", request).success
    world.until(lambda: world.recorder.session.seen["/nad/label"] == 1)
    world.call(StartEpisode, "start_episode", StartEpisode.Request(episode="one"))
    world.publish(2)
    label.mass, label.force.z = 0.5, -4.903
    assert world.call(SetForceLabel, "set_force_label", request).success
    world.until(lambda: world.recorder.session.seen["/nad/label"] == 2)
    label.mass = float("nan")
    refused = world.call(SetForceLabel, "set_force_label", request)
    assert not refused.success and "mass = nan kg" in refused.message
    world.call(StopEpisode, "stop_episode", StopEpisode.Request(keep=True))
    labels = read_episode(world.out_dir / "one").labels
    assert labels is not None and labels.mass.tolist() == [0.2, 0.5]
    assert labels.stamp_ns[1] > labels.stamp_ns[0] > 0
    label.source = ForceLabel.FT_SENSOR
    sensor = world.call(SetForceLabel, "set_force_label", request)
    assert sensor.success and "nothing has arrived on /ft_sensor/wrench" in sensor.message


def test_parameters_relabel_a_running_episode_and_can_be_refused(world: World) -> None:
    world.start()
    world.call(StartEpisode, "start_episode", StartEpisode.Request(episode="one"))
    (good,) = world.recorder.set_parameters([Parameter("task", value="hold")])
    (bad,) = world.recorder.set_parameters([Parameter("category", value="dance")])
    (late,) = world.recorder.set_parameters([Parameter("out_dir", value="/tmp")])
    assert good.successful
    assert not bad.successful and "expected one of" in bad.reason
    assert not late.successful and "restart the recorder" in late.reason
    world.call(StopEpisode, "stop_episode", StopEpisode.Request(keep=True))
    assert read_episode(world.out_dir / "one").info.task == "hold"


def test_missing_topic_is_on_diagnostics_within_two_seconds(world: World) -> None:
    world.start()
    world.call(StartEpisode, "start_episode", StartEpisode.Request(episode="one"))
    begin = time.monotonic()
    world.publish(1)

    def told() -> Any:
        return [s for s in world.diagnostics if LEADER_TELEMETRY in s.message.split("from")[-1]]

    (status, *_) = world.until(told)
    assert time.monotonic() - begin < 2.0
    assert status.level == b"\x01"
    silent = world.until(lambda: [s for s in world.diagnostics if FOLLOWER_TELEMETRY in s.message])
    assert "nothing from" in silent[0].message


def test_auto_start_and_auto_mode(world: World) -> None:
    world.start(auto_episodes=2, auto_length=0.3, auto_reset=0.1)
    world.until(lambda: world.recorder.session.kept == 2)
    world.until(lambda: not world.recorder.session.recording)
    assert len(list(find_episodes(world.out_dir))) == 2


def test_a_namespaced_recorder_keeps_the_names_of_the_layout(world: World) -> None:
    options = [Parameter("out_dir", value=str(world.out_dir)), Parameter("auto_start", value=True)]
    options.append(Parameter("disk_reserve_mb", value=0.0))
    world.recorder = RecorderNode(
        context=world.context, namespace="/left", parameter_overrides=options
    )
    world.executor.add_node(world.recorder)
    publisher = world.peer.create_publisher(ActuatorTelemetry, f"/left{FOLLOWER_TELEMETRY}", 100)
    world.until(lambda: publisher.get_subscription_count() > 0)
    publisher.publish(ActuatorTelemetry(name=JOINTS, position=[0.0] * 5))
    world.until(lambda: world.recorder.session.recording)
    publisher.publish(ActuatorTelemetry(name=JOINTS, position=[0.0] * 5, sequence=1))
    world.until(lambda: world.recorder.session.seen[FOLLOWER_TELEMETRY] == 2)
    path = world.recorder.session.stop().path
    assert len(read_episode(path).follower or ()) == 1
    assert RawBag(path).custom_data()["namespace"] == "/left"


def test_bad_start_parameters_are_refused(world: World) -> None:
    with pytest.raises(ValueError, match=r"recorder parameter topics: '/x' is not part of the NAD"):
        world.start(topics=["/x"])
    world.recorder = None


@pytest.mark.slow
@pytest.mark.parametrize("harm", [signal.SIGSTOP, signal.SIGKILL])
def test_a_dead_recorder_never_delays_a_publisher(tmp_path: Path, harm: signal.Signals) -> None:
    domain = str(random.SystemRandom().randrange(100, 200))
    environment = {**os.environ, "ROS_DOMAIN_ID": domain, "FASTDDS_BUILTIN_TRANSPORTS": "UDPv4"}
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    command = [sys.executable, "-m", "na_teleop.recorder_node", "--ros-args", "-p"]
    command += [f"out_dir:={tmp_path}", "-p", "auto_start:=true", "-p", "disk_reserve_mb:=0.0"]
    process = subprocess.Popen(command, env=environment)
    context = Context()
    context.init(domain_id=int(domain))
    node = Node("arm", context=context)
    publisher = node.create_publisher(ActuatorTelemetry, FOLLOWER_TELEMETRY, 100)
    message = ActuatorTelemetry(name=JOINTS, position=[0.0] * 5, arm="follower")
    try:
        deadline = time.monotonic() + TIMEOUT
        while not list(tmp_path.glob(".*.part")):
            assert time.monotonic() < deadline, "the recorder did not start"
            message.sequence += 1
            publisher.publish(message)
            time.sleep(0.005)
        process.send_signal(harm)
        worst = 0.0
        for _ in range(600):
            message.sequence += 1
            begin = time.perf_counter()
            publisher.publish(message)
            worst = max(worst, time.perf_counter() - begin)
            time.sleep(0.002)
        assert worst < 0.1, f"publish took {worst:.3f} s"
    finally:
        process.kill()
        process.wait()
        node.destroy_node()
        context.try_shutdown()
        assert rclpy is not None
