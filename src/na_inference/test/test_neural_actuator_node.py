# SPDX-License-Identifier: Apache-2.0
"""The node in process: topics, silence, services, life cycle, other people's drivers."""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile, qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from na_core.kinematics import Kinematics
from na_core.robot_spec import RobotSpec
from na_inference.client import ForceSubscriber
from na_inference.neural_actuator_node import NeuralActuatorNode, start
from na_inference.ros_helpers import stamp_of, vector
from na_inference.testing import write_tiny_model
from na_msgs.msg import ActuatorTelemetry, ForceLabel, HoldRequest, JointGoal, NeuralActuatorState
from na_msgs.srv import LoadModel, SetGate

TIMEOUT = 20.0
POSE = np.array([0.1, -0.6, 0.5, 0.9, 0.005])
PUSH = [0.2, 0.1, -0.3, 0.0, 0.0]  # A: force 2, 1, −3 N
STEP = 16_666_667


class World:
    """A ROS context, the node, and a peer that plays the arm."""

    def __init__(self, spec: RobotSpec, model: Path) -> None:
        self.context = rclpy.Context()
        rclpy.init(context=self.context)
        self.spec, self.model = spec, model
        self.executor = SingleThreadedExecutor(context=self.context)
        self.peer = Node("peer", context=self.context)
        self.executor.add_node(self.peer)
        self.telemetry = self.peer.create_publisher(ActuatorTelemetry, "follower/telemetry", 100)
        self.node: NeuralActuatorNode | None = None
        self.sequence = 0
        self.stamp_ns = time.time_ns()
        self.current = [0.0] * 5

    def add(self, **parameters: Any) -> NeuralActuatorNode:
        values = {"model": str(self.model), "max_age": 0.0, "silence_after": 5.0, **parameters}
        overrides = [Parameter(name, value=value) for name, value in values.items()]
        self.node = NeuralActuatorNode(parameter_overrides=overrides, context=self.context)
        self.executor.add_node(self.node)
        assert start(self.node)
        return self.node

    def listen(self, kind: Any, topic: str, qos: Any = 100) -> list[Any]:
        heard: list[Any] = []
        self.peer.create_subscription(kind, topic, heard.append, qos)
        return heard

    def tick(self, **changes: Any) -> None:
        """Publish one tick of telemetry."""
        self.stamp_ns += STEP
        self.sequence += 1
        message = ActuatorTelemetry(
            sequence=self.sequence,
            arm="follower",
            name=list(self.spec.names),
            goal_requested=POSE.tolist(),
            goal_sent=POSE.tolist(),
            goal_register=POSE.tolist(),
            position=POSE.tolist(),
            velocity=[0.0] * 5,
            current=[float(value) for value in self.current],
            load=[float("nan")] * 5,
            voltage=[12.0] * 5,
            temperature=[40.0] * 5,
            hardware_error=[0] * 5,
            torque_enabled=True,
        )
        message.header.stamp = stamp_of(self.stamp_ns)
        for name, value in changes.items():
            setattr(message, name, value)
        self.telemetry.publish(message)

    def until(self, condition: Callable[[], Any], also: Callable[[], None] | None = None) -> Any:
        deadline = time.monotonic() + TIMEOUT
        while not (value := condition()):
            assert time.monotonic() < deadline, "condition did not come true in time"
            if also is not None:
                also()
            self.executor.spin_once(timeout_sec=0.01)
        return value

    def run(self, heard: list[NeuralActuatorState], count: int, **changes: Any) -> list[Any]:
        """Publish `count` ticks one by one, each answered; returns the answers."""
        begin = len(heard)
        for number in range(1, count + 1):
            self.tick(**changes)
            self.until(lambda number=number: len(heard) >= begin + number)  # type: ignore[misc]
        return heard[begin:]

    def ready(self) -> list[NeuralActuatorState]:
        """Wait until node and peer have found each other."""
        heard = self.listen(NeuralActuatorState, "neural_actuator/state")
        self.until(lambda: heard, also=self.tick)
        self.until(lambda: heard[-1].sequence == self.sequence)
        self.stamp_ns += 10**9
        return heard

    def call(
        self, kind: Any, service: str, also: Callable[[], None] | None = None, **f: Any
    ) -> Any:
        client = self.peer.create_client(kind, service)
        self.until(client.service_is_ready)
        future = client.call_async(kind.Request(**f))
        self.until(future.done, also)
        return future.result()

    def close(self) -> None:
        if self.node is not None:
            self.node.destroy_node()
        self.peer.destroy_node()
        rclpy.try_shutdown(context=self.context)


@pytest.fixture
def world(omx: RobotSpec, tiny: Path) -> Iterator[World]:
    made = World(omx, tiny)
    yield made
    made.close()


def test_contact_becomes_a_wrench_in_both_frames_with_the_stamp_of_the_tick(world: World) -> None:
    world.add()
    states = world.ready()
    tool = world.listen(WrenchStamped, "neural_actuator/wrench")
    base = world.listen(WrenchStamped, "neural_actuator/wrench_base")
    world.until(lambda: world.peer.count_publishers("neural_actuator/wrench_base"))
    world.current = PUSH
    answers = world.run(states, 12)
    assert [a.validity for a in answers] == [NeuralActuatorState.WARMING_UP] * 8 + [0] * 4
    assert [a.contact.in_contact for a in answers][-2:] == [True, True]
    world.until(lambda: len(tool) >= 4 and len(base) >= 4)
    assert base[-1].header.frame_id == world.spec.base_frame
    assert tool[-1].header.frame_id == world.spec.end_effector_frame
    assert base[-1].header.stamp == answers[-1].header.stamp == stamp_of(world.stamp_ns)
    assert vector(base[-1].wrench.force) == pytest.approx([2.0, 1.0, -3.0], rel=1e-4)
    rotation = Kinematics(world.spec).fk(POSE).rotation
    assert vector(tool[-1].wrench.force) == pytest.approx(rotation.T @ [2.0, 1.0, -3.0], abs=1e-4)
    assert vector(tool[-1].wrench.torque).tolist() == [0.0] * 3
    assert np.isnan(vector(answers[-1].torque)).all()
    assert answers[-1].sequence == world.sequence


def test_while_invalid_the_state_is_nan_and_no_wrench_is_sent(world: World) -> None:
    world.add()
    states = world.ready()
    wrenches = world.listen(WrenchStamped, "neural_actuator/wrench")
    world.run(states, 10)
    world.until(lambda: len(wrenches) >= 2)
    count = len(wrenches)
    answers = world.run(states, 5, current=[float("nan"), 0.0, 0.0, 0.0, 0.0])
    answers += world.run(states, 5, stale=True)
    assert [a.validity for a in answers] == [7] * 5 + [2] * 5
    for answer in answers:
        assert np.isnan(vector(answer.force)).all()
        assert np.isnan(answer.force_covariance).all()
        assert not answer.contact.in_contact
    world.executor.spin_once(timeout_sec=0.05)
    assert len(wrenches) == count


def test_silence_of_the_arm_is_said(world: World) -> None:
    world.add(silence_after=0.1)
    states = world.listen(NeuralActuatorState, "neural_actuator/state")
    world.until(lambda: states and states[-1].validity == NeuralActuatorState.STALE)


def test_permuted_joints_give_the_same_force(world: World) -> None:
    world.add()
    states = world.ready()
    order = [3, 1, 4, 0, 2]
    names = [world.spec.names[k] for k in order]

    def crossed(values: Any) -> list[float]:
        return [float(values[k]) for k in order]

    answer = world.run(
        states,
        12,
        name=names,
        current=crossed(PUSH),
        position=crossed(POSE),
        goal_sent=crossed(POSE),
        goal_register=crossed(POSE),
    )[-1]
    assert vector(answer.force) == pytest.approx([2.0, 1.0, -3.0], rel=1e-4)


def test_tare_is_refused_until_a_second_of_rest_has_passed(world: World) -> None:
    world.add()
    states = world.ready()
    world.current = [0.03, 0.0, 0.0, 0.0, 0.0]
    world.run(states, 9)
    answer = world.call(Trigger, "neural_actuator_node/tare")
    assert not answer.success
    world.run(states, 70)
    answer = world.call(Trigger, "neural_actuator_node/tare")
    assert answer.success, answer.message
    assert vector(world.run(states, 1)[0].force_ungated) == pytest.approx([0.0] * 3, abs=1e-5)


def test_a_model_is_swapped_while_running_and_a_bad_one_is_not(
    world: World, omx: RobotSpec, tmp_path: Path
) -> None:
    world.add()
    states = world.ready()
    world.current = PUSH
    first = world.run(states, 12)[-1]
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(world.model.read_bytes()[:500])
    answer = world.call(LoadModel, "neural_actuator_node/load_model", path=str(broken))
    assert not answer.success
    assert "the model in use stays" in answer.message
    assert answer.model_id == first.model_id
    other = write_tiny_model(tmp_path / "other.onnx", omx, force_per_ampere=20.0)
    answer = world.call(LoadModel, "neural_actuator_node/load_model", world.tick, path=str(other))
    assert answer.success, answer.message
    world.until(lambda: states[-1].model_id == answer.model_id, also=world.tick)
    world.until(lambda: states[-1].sequence == world.sequence)
    world.stamp_ns += 10**9
    last = world.run(states, 12)[-1]
    assert vector(last.force) == pytest.approx([4.0, 2.0, -6.0], rel=1e-4)


def test_the_gate_may_be_changed_and_nonsense_is_refused(world: World) -> None:
    world.add()
    states = world.ready()
    service = "neural_actuator_node/set_gate"
    answer = world.call(SetGate, service, threshold_on=0.4, threshold_off=0.6, dwell=0.0)
    assert not answer.success
    assert "expected 0 < off <= on < 1" in answer.message
    assert world.call(SetGate, service, threshold_on=0.9, threshold_off=0.2, dwell=0.0).success
    assert world.run(states, 1)[0].contact.threshold_on == pytest.approx(0.9)


def test_the_reflex_asks_for_a_hold_and_releases(world: World) -> None:
    world.add(reflex="hold", reflex_force=2.0)
    states = world.ready()
    asked = world.listen(HoldRequest, "follower/hold_request")
    world.until(lambda: world.peer.count_publishers("follower/hold_request"))
    world.run(states, 10)
    world.current = PUSH
    world.until(lambda: asked, also=lambda: world.run(states, 1))
    assert asked[0].action == HoldRequest.HOLD
    assert "exceeds 2 N" in asked[0].reason
    world.current = [0.0] * 5
    world.until(lambda: asked[-1].action == HoldRequest.RELEASE, also=lambda: world.run(states, 1))


def test_an_absurd_live_parameter_is_refused(world: World) -> None:
    node = world.add()
    (result,) = node.set_parameters([Parameter("reflex", value="run away")])
    assert not result.successful
    assert "expected one of none, hold, retreat" in result.reason
    (result,) = node.set_parameters([Parameter("reflex", value="hold")])
    assert result.successful
    (result,) = node.set_parameters([Parameter("model", value="x")])
    assert not result.successful


def test_deactivated_it_is_silent_and_cleaned_up_it_can_start_again(world: World) -> None:
    node = world.add()
    states = world.ready()
    node.trigger_deactivate()
    count = len(states)
    for _ in range(20):
        world.tick()
        world.executor.spin_once(timeout_sec=0.01)
    assert len(states) == count
    node.trigger_cleanup()
    assert start(node)
    world.until(lambda: len(states) > count, also=world.tick)


@pytest.mark.parametrize(
    "parameters",
    [
        {"robot": "so101"},
        {"model": "/nothing/here.onnx"},
        {"calibration_hash": "abc"},
        {"baseline": "guess"},
        {"input": "joint_states"},
    ],
)
def test_what_does_not_fit_keeps_it_from_starting(world: World, parameters: dict[str, Any]) -> None:
    values = {"model": str(world.model), **parameters}
    overrides = [Parameter(name, value=value) for name, value in values.items()]
    node = NeuralActuatorNode(parameter_overrides=overrides, context=world.context)
    world.node = node
    assert not start(node)


def test_diagnostics_carry_latency_and_model_card(world: World) -> None:
    world.add()
    states = world.ready()
    heard = world.listen(DiagnosticArray, "/diagnostics")
    world.run(states, 12)
    world.until(lambda: heard)
    values = {item.key: item.value for item in heard[-1].status[0].values}
    assert float(values["latency p50 [ms]"]) != 0.0
    assert values["model"] == "tiny"
    assert values["model licence"] == "Apache-2.0"
    assert values["model streams"] == "True"


def test_the_classical_observer_runs_beside_it(world: World) -> None:
    world.add(baseline="gmo")
    states = world.ready()
    heard = world.listen(WrenchStamped, "neural_actuator_node/baseline/wrench")
    world.until(lambda: heard, also=lambda: world.run(states, 1))
    assert heard[-1].header.frame_id == world.spec.base_frame
    assert np.isfinite(vector(heard[-1].wrench.force)).all()


def test_another_drivers_joint_states_work_once_their_units_are_declared(world: World) -> None:
    world.add(
        input="joint_states",
        effort_unit="mA",
        assumed_voltage=12.0,
        assumed_temperature=40.0,
        joint_names=["base=joint1"],
    )
    states = world.listen(NeuralActuatorState, "neural_actuator/state")
    joints = world.peer.create_publisher(JointState, "joint_states", qos_profile_sensor_data)
    goals = world.peer.create_publisher(JointGoal, "neural_actuator_node/goal", 1)
    names = ["base", *world.spec.names[1:]]

    def tick() -> None:
        world.stamp_ns += STEP
        goals.publish(JointGoal(name=names, position=POSE.tolist()))
        message = JointState(name=names, position=POSE.tolist(), velocity=[0.0] * 5)
        message.effort = [1000.0 * value for value in PUSH]
        message.header.stamp = stamp_of(world.stamp_ns)
        joints.publish(message)

    world.until(lambda: states, also=tick)
    while not states[-1].contact.in_contact:
        count = len(states)
        tick()
        world.until(lambda count=count: len(states) > count)  # type: ignore[misc]
    assert vector(states[-1].force) == pytest.approx([2.0, 1.0, -3.0], rel=1e-4)


def test_the_client_joins_state_and_force_of_one_tick(world: World) -> None:
    world.add()
    client = ForceSubscriber(world.peer)
    states = world.ready()
    world.stamp_ns = time.time_ns()
    world.current = PUSH
    world.run(states, 12)
    latest = world.until(
        lambda: (
            (found := client.latest(max_age=TIMEOUT)) is not None and found.in_contact and found
        ),
        also=lambda: world.run(states, 1),
    )
    assert latest.valid
    assert latest.position == pytest.approx(POSE)
    assert latest.force == pytest.approx([2.0, 1.0, -3.0], rel=1e-4)
    assert np.diag(latest.covariance) == pytest.approx([0.04] * 3, rel=1e-4)
    world.until(lambda: client.latest(max_age=0.05) is None)


WORKER = """
import pathlib, sys, time
words = sys.argv
out = pathlib.Path(words[words.index("--out") + 1])
assert (pathlib.Path(words[words.index("--data") + 1]) / "recent.npz").is_file()
go = pathlib.Path(sys.argv[1])
while not go.exists():
    time.sleep(0.01)
verdict = go.read_text()
if verdict != "adopt":
    sys.exit(verdict)
out.write_bytes(pathlib.Path(sys.argv[2]).read_bytes())
"""


@pytest.mark.parametrize("verdict", ["adopt", "the gate got worse"])
def test_ticks_go_on_while_adaptation_runs_and_its_end_is_answered_at_once(
    world: World,
    omx: RobotSpec,
    tmp_path: Path,
    verdict: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Spun as the executable spins it: no time-out of a wait set hides a missing wake-up."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    worker, go = tmp_path / "worker.py", tmp_path / "go"
    worker.write_text(WORKER)
    other = write_tiny_model(tmp_path / "other.onnx", omx, force_per_ampere=20.0)
    command = [sys.executable, str(worker), str(go), str(other)]
    node = world.add(adapt_command=command, silence_after=10.0)
    states = world.ready()
    known = world.peer.create_publisher(
        ForceLabel, "/nad/label", QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    )
    known.publish(ForceLabel(source=ForceLabel.PAYLOAD, valid=True))
    world.until(lambda: node.live.recent.labelled >= 600, also=world.tick)
    world.until(lambda: states[-1].sequence == world.sequence)
    world.executor.remove_node(node)
    spinning = SingleThreadedExecutor(context=world.context)
    spinning.add_node(node)
    thread = threading.Thread(target=spinning.spin, daemon=True)
    thread.start()
    try:
        client = world.peer.create_client(Trigger, "neural_actuator_node/adapt")
        world.until(client.service_is_ready)
        future = client.call_async(Trigger.Request())
        world.until(lambda: node._jobs.busy)
        world.stamp_ns += 10**9
        last = world.run(states, 12)[-1]
        assert last.validity == NeuralActuatorState.VALID and not future.done()
        go.write_text(verdict)
        answer = world.until(future.done) and future.result()
        assert answer.success == (verdict == "adopt"), answer.message
        if verdict == "adopt":
            world.until(lambda: states[-1].model_id != last.model_id, also=world.tick)
        else:
            assert "old model kept (exit code 1): the gate got worse" in answer.message
            assert world.run(states, 1)[0].model_id == last.model_id
    finally:
        spinning.shutdown()
        thread.join(TIMEOUT)
