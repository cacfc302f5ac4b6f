# SPDX-License-Identifier: Apache-2.0
"""Messages as YAML and YAML as messages, on real message classes."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

messages = pytest.importorskip("ros2_lite.messages")
pytest.importorskip("sensor_msgs.msg", reason="needs the ROS message packages")


def make(kind: str, text: str = "{}") -> Any:
    """Return a message of that type filled from YAML."""
    message = messages.interface_class(kind, "msg")()
    messages.fill(message, yaml.safe_load(text))
    return message


def test_yaml_and_back() -> None:
    text = (
        "header:\n  stamp:\n    sec: 1\n    nanosec: 2\n  frame_id: base\nname:\n- a\n- b\n"
        "position:\n- 0.5\n- .nan\nvelocity: []\neffort: []\n"
    )
    message = make("sensor_msgs/msg/JointState", text)
    assert messages.to_yaml(message) == text
    assert list(message.name) == ["a", "b"]


def test_integers_become_floats_where_floats_are_due() -> None:
    message = make("geometry_msgs/msg/Point", "{x: 1, y: 2.5}")
    assert (message.x, message.y, message.z) == (1.0, 2.5, 0.0)
    assert list(make("std_msgs/msg/Float64MultiArray", "{data: [1, 2]}").data) == [1.0, 2.0]


def test_lists_of_messages() -> None:
    text = "{status: [{name: arm, level: 2, values: [{key: a, value: b}]}]}"
    message = make("diagnostic_msgs/msg/DiagnosticArray", text)
    assert message.status[0].level == b"\x02"
    assert message.status[0].values[0].key == "a"


def test_long_arrays_and_strings_are_cut() -> None:
    message = make("std_msgs/msg/Float64MultiArray", f"{{data: {list(range(200))}}}")
    assert messages.plain(message)["data"][128:] == ["..."]
    assert len(messages.plain(message, None)["data"]) == 200
    text = make("std_msgs/msg/String", "{data: " + "x" * 200 + "}")
    assert messages.plain(text)["data"] == "x" * 128 + "..."


def test_one_field() -> None:
    message = make("sensor_msgs/msg/JointState", "{header: {stamp: {sec: 5}}}")
    assert messages.to_yaml(messages.select(message, "header.stamp.sec")) == "5\n"
    with pytest.raises(RuntimeError, match=r"no 'foo', there is: stamp, frame_id"):
        messages.select(message, "header.foo")


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [
        ("std_msgs/msg/String", "{date: x}", "String has no 'date', it has: data"),
        ("std_msgs/msg/String", "{data: 5}", "'data' takes string, got 5"),
        ("std_msgs/msg/String", "x", "expected a mapping"),
        ("std_msgs/msg/UInt8", "{data: 300}", "'data' takes uint8, got 300"),
    ],
)
def test_bad_values(kind: str, text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make(kind, text)


@pytest.mark.parametrize(
    ("name", "error", "words"),
    [
        ("std_msgs", ValueError, "is no interface name, expected e.g. 'std_msgs/msg/Name'"),
        ("std_msgs/srv/String", ValueError, "is no interface name"),
        ("std_msgs/msg/Strin", RuntimeError, "'std_msgs/msg/Strin' is invalid"),
        ("no_msgs/msg/X", RuntimeError, "is its package built and sourced"),
    ],
)
def test_bad_types(name: str, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        messages.interface_class(name, "msg")
