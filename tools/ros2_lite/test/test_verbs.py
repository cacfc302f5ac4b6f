# SPDX-License-Identifier: Apache-2.0
"""The verbs that look at a live graph, against a node in a domain of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="needs rclpy")

Ask = Callable[..., tuple[int, str]]


@pytest.fixture(scope="module")
def graph_environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The domain of this test session, on this machine only."""
    source = str(Path(__file__).resolve().parent.parent)
    path = os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH")]))
    return {
        **os.environ,
        "PYTHONPATH": path,
        "ROS_DOMAIN_ID": os.environ.get("ROS_DOMAIN_ID") or str(1 + os.getpid() % 100),
        "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
        "ROS_LOG_DIR": str(tmp_path_factory.mktemp("ros_log")),
    }


@pytest.fixture(scope="module")
def demo(graph_environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """The node of demo_node.py."""
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("demo_node.py"))],
        env=graph_environment, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    yield process
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0


@pytest.fixture
def ask(graph_environment: dict[str, str], demo: subprocess.Popen[str]) -> Ask:
    """Run `ros2 ARGS...`; return exit code and everything it printed."""

    def run(*args: str) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, "-m", "ros2_lite", *args], env=graph_environment, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60,
        )  # fmt: skip
        return done.returncode, done.stdout

    return run


def test_topic_list(ask: Ask) -> None:
    code, text = ask("topic", "list", "-t")
    assert code == 0
    lines = text.splitlines()
    assert "/joint_states [sensor_msgs/msg/JointState]" in lines
    assert "/label [std_msgs/msg/String]" in lines
    assert lines == sorted(lines)


def test_node_list_leaves_out_ourselves(ask: Ask) -> None:
    assert ask("node", "list") == (0, "/arm/demo\n")
    assert ask("node", "list", "-c") == (0, "1\n")


def test_topic_info_and_type(ask: Ask) -> None:
    assert ask("topic", "type", "/label") == (0, "std_msgs/msg/String\n")
    code, text = ask("topic", "info", "joint_states", "-v")
    assert code == 0
    assert text.startswith("Type: sensor_msgs/msg/JointState\n\nPublisher count: 1\n\n")
    assert "Reliability: BEST_EFFORT" in text


def test_echo_meets_the_publisher_s_qos(ask: Ask) -> None:
    code, text = ask("topic", "echo", "--once", "/label")
    assert (code, text) == (0, "data: latched\n---\n")
    code, text = ask("topic", "echo", "--once", "/joint_states", "--field", "position")
    assert (code, text) == (0, "- 0.25\n- -1.0\n---\n")


def test_hz(graph_environment: dict[str, str], demo: subprocess.Popen[str]) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "ros2_lite", "topic", "hz", "/joint_states"],
        env=graph_environment, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    first, second = process.stdout.readline(), process.stdout.readline()
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 2
    match = re.fullmatch(r"average rate: (\d+\.\d{3})\n", first)
    assert match
    assert 30.0 < float(match.group(1)) < 60.0
    assert re.fullmatch(
        r"\tmin: \d+\.\d{3}s max: \d+\.\d{3}s std dev: \d+\.\d{5}s window: \d+\n", second
    )


def test_an_unknown_topic(ask: Ask) -> None:
    code, text = ask("topic", "echo", "--spin-time", "1.5", "/nowhere")
    assert code == 1
    assert "Could not determine the type for the passed topic '/nowhere' within 1.5 s" in text
    assert ask("topic", "echo", "/label", "--field", "dat", "--once")[1] == (
        "Invalid field 'dat': no 'dat', there is: data\n"
    )


def test_pub_waits_for_a_subscription(ask: Ask, demo: subprocess.Popen[str]) -> None:
    code, text = ask("topic", "pub", "--once", "/said", "std_msgs/msg/String", "{data: hello}")
    assert code == 0
    assert "publishing #1: std_msgs.msg.String(data='hello')" in text
    assert demo.stdout is not None
    assert demo.stdout.readline() == "heard hello\n"


def test_service_call(ask: Ask) -> None:
    code, text = ask("service", "call", "/arm/demo/flip", "std_srvs/srv/SetBool", "{data: true}")
    assert code == 0
    assert "requester: making request: std_srvs.srv.SetBool_Request(data=True)\n\n" in text
    assert "response:\nstd_srvs.srv.SetBool_Response(success=True, message='flipped')\n" in text
    assert "/arm/demo/flip [std_srvs/srv/SetBool]" in ask("service", "list", "-t")[1]
    assert ask("service", "type", "/arm/demo/flip") == (0, "std_srvs/srv/SetBool\n")


def test_service_call_that_cannot_succeed(ask: Ask) -> None:
    code, text = ask("service", "call", "/arm/demo/flip", "std_srvs/srv/SetBool", "{dat: 1}")
    assert code == 1
    assert "SetBool_Request has no 'dat', it has: data" in text
    code, text = ask("service", "call", "--spin-time", "0.5", "/no", "std_srvs/srv/SetBool")
    assert code == 1
    assert "'/no' of type 'std_srvs/srv/SetBool' did not become available within 0.5 s" in text


def test_parameters(ask: Ask) -> None:
    code, text = ask("param", "list", "/arm/demo")
    assert code == 0
    assert text.splitlines()[:2] == ["  gain", "  names"]
    assert ask("param", "get", "/arm/demo", "names") == (0, "String values are: ['a', 'b']\n")
    assert ask("param", "set", "/arm/demo", "gain", "2.5")[0] == 0
    assert ask("param", "get", "arm/demo", "gain") == (0, "Double value is: 2.5\n")
    assert ask("param", "get", "arm/demo", "gain", "--hide-type") == (0, "2.5\n")


def test_parameters_that_are_refused_or_absent(ask: Ask) -> None:
    assert ask("param", "set", "/arm/demo", "gain", "25.0") == (
        1, "Setting parameter failed: gain must be below 10\n"
    )  # fmt: skip
    assert ask("param", "get", "/arm/demo", "none")[0] == 1
    code, text = ask("param", "get", "--spin-time", "2", "/none", "x")
    assert code == 1
    assert text.startswith("Node not found: '/none'; nodes: ")
