# SPDX-License-Identifier: Apache-2.0
"""Every node module can be imported; markers and example say what the estimate says."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from visualization_msgs.msg import Marker, MarkerArray

import na_inference
from na_core.robot_spec import RobotSpec
from na_inference.force_markers_node import ForceMarkersNode
from na_inference.ros_helpers import stamp_of
from na_msgs.msg import ActuatorTelemetry, NeuralActuatorState

TIMEOUT = 20.0
MODULES = sorted(p.stem for p in Path(na_inference.__file__).parent.glob("*_node.py"))


@pytest.mark.parametrize("name", MODULES)
def test_node_modules_can_be_imported(name: str) -> None:
    assert callable(importlib.import_module(f"na_inference.{name}").main)


@pytest.fixture
def nodes() -> Iterator[tuple[Node, ForceMarkersNode, Callable[..., Any]]]:
    context = rclpy.Context()
    rclpy.init(context=context)
    peer, markers = Node("peer", context=context), ForceMarkersNode(context=context)
    executor = SingleThreadedExecutor(context=context)
    for node in (peer, markers):
        executor.add_node(node)

    def until(condition: Callable[[], Any], also: Callable[[], None]) -> None:
        deadline = time.monotonic() + TIMEOUT
        while not condition():
            assert time.monotonic() < deadline, "condition did not come true in time"
            also()
            for _ in range(8):  # everything that one round of messages leads to
                executor.spin_once(timeout_sec=0.01)

    yield peer, markers, until
    for node in (peer, markers):
        node.destroy_node()
    rclpy.try_shutdown(context=context)


def test_markers_follow_the_estimate(nodes: Any, omx: RobotSpec) -> None:
    peer, _, until = nodes
    heard: list[MarkerArray] = []
    peer.create_subscription(MarkerArray, "neural_actuator/markers", heard.append, 10)
    telemetry = peer.create_publisher(ActuatorTelemetry, "follower/telemetry", 10)
    states = peer.create_publisher(NeuralActuatorState, "neural_actuator/state", 10)
    stamp = [10**18]

    def say(force_z: float, contact: bool) -> Callable[[], None]:
        def publish() -> None:
            stamp[0] += 10**7
            tick = ActuatorTelemetry(name=list(omx.names), position=[float(q) for q in omx.home])
            tick.velocity = tick.goal_sent = [0.0] * omx.n
            state = NeuralActuatorState()
            state.force.z = force_z
            state.contact.in_contact = contact
            for message, publisher in ((tick, telemetry), (state, states)):
                message.header.stamp = stamp_of(stamp[0])
                publisher.publish(message)

        return publish

    until(lambda: heard and heard[-1].markers[2].action == Marker.ADD, say(-2.0, True))
    start, tip = heard[-1].markers[2].points
    assert (tip.x, tip.y) == pytest.approx((start.x, start.y))
    assert tip.z == pytest.approx(start.z - 0.06)
    assert heard[-1].markers[0].header.frame_id == omx.base_frame
    until(lambda: heard[-1].markers[2].action == Marker.DELETE, say(0.0, False))
