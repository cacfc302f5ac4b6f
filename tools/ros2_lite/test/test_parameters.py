# SPDX-License-Identifier: Apache-2.0
"""What Node makes of names, namespaces and parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from launch import LaunchContext
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node, PushRosNamespace, SetParameter, join_namespace
from launch_ros.parameter_descriptions import ParameterValue, evaluate_parameters

X = LaunchConfiguration("x")


def evaluate(value: Any, x: str = "") -> Any:
    """Return what parameter `p` becomes, where the launch configuration x has that text."""
    context = LaunchContext()
    context.launch_configurations["x"] = x
    return evaluate_parameters(context, {"p": value})["p"]


@pytest.mark.parametrize(
    ("value", "x", "expected"),
    [
        (5, "", 5),
        (1.5, "", 1.5),
        (True, "", True),
        ("12", "", "12"),
        ("", "", ""),
        (X, "12", 12),
        (X, "1.5", 1.5),
        (X, "true", True),
        (X, "/dev/ttyUSB0", "/dev/ttyUSB0"),
        (X, "", ""),
        (X, "[1, 2]", (1, 2)),
        ([X, "0"], "1", 10),
        ([1, 2], "", (1, 2)),
        ([1, 2.0], "", (1.0, 2.0)),
        (["a", "1"], "", ("a", "1")),
        ([[X], [X, "1"]], "2", (2, 21)),
        (ParameterValue(X, value_type=str), "12", "12"),
        (ParameterValue(X, value_type=float), "12", 12.0),
        (ParameterValue(X, value_type=int), "12", 12),
        (ParameterValue(X, value_type=bool), "1", True),
        (ParameterValue(X, value_type=list[float]), "[1.0, 2.0]", [1.0, 2.0]),
        (ParameterValue([1, 2], value_type=list[int]), "", [1, 2]),
        (ParameterValue([1, 2.5], value_type=list[float]), "", [1.0, 2.5]),
        (ParameterValue("12"), "", "12"),
        (ParameterValue(X), "12", 12),
    ],
)
def test_values(value: Any, x: str, expected: Any) -> None:
    found = evaluate(value, x)
    assert found == expected
    assert type(found) is type(expected)
    if isinstance(expected, tuple | list):
        assert [type(item) for item in found] == [type(item) for item in expected]


@pytest.mark.parametrize(
    ("value", "x", "error", "words"),
    [
        (X, "[1, a]", TypeError, "parameter p: .* uniform list; if it is meant to be a string"),
        (X, "{a: 1}", TypeError, "parameter p"),
        (X, "a: b: c", TypeError, "is not YAML"),
        ([], "", TypeError, "must be a list, not empty"),
        ([1, "a"], "", TypeError, "must be a list"),
        (None, "", TypeError, "parameter p: None is of type NoneType"),
        (ParameterValue(X, value_type=int), "1.5", ValueError, "invalid literal"),
        (ParameterValue(X, value_type=bool), "maybe", ValueError, "cannot convert 'maybe'"),
        (ParameterValue(5, value_type=str), "", TypeError, "5 is not of type"),
        (ParameterValue(["a"], value_type=list[int]), "", ValueError, "not a list of int"),
    ],
)
def test_bad_values_name_the_parameter_or_the_value(
    value: Any, x: str, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        evaluate(value, x)


def test_types_that_are_no_parameter_types() -> None:
    with pytest.raises(ValueError, match="is none of bool, int, float, str"):
        ParameterValue(X, value_type=dict)


def test_nested_names_are_joined_by_dots() -> None:
    context = LaunchContext()
    context.launch_configurations["x"] = "key"
    found = evaluate_parameters(context, {"a": {"b": {"c": 1}, X: 2}, ("d", "e"): 3})
    assert found == {"a.b.c": 1, "a.key": 2, "de": 3}


@pytest.mark.parametrize(
    ("base", "namespace", "joined"),
    [
        (None, None, None), (None, "arm", "/arm"), (None, "/arm/", "/arm"),
        ("/left", None, "/left"),
        ("/left", "arm", "/left/arm"), ("/left", "/arm", "/arm"), ("/", "arm", "/arm"),
        (None, "", "/"), ("/", None, "/"),
    ],
)  # fmt: skip
def test_namespaces(base: str | None, namespace: str | None, joined: str | None) -> None:
    assert join_namespace(base, namespace) == joined


def command(node: Node, context: LaunchContext | None = None) -> list[str]:
    """Return the command of a node."""
    return node.command(context or LaunchContext())


def test_the_order_of_arguments() -> None:
    node = Node(
        executable="/bin/x", name="n", namespace="ns", arguments=["a"], ros_arguments=["--b"],
        remappings=[("c", "d")],
    )  # fmt: skip
    assert command(node) == [
        "/bin/x", "a", "--ros-args", "--b", "--ros-args", "-r", "__node:=n", "-r", "__ns:=/ns",
        "-r", "c:=d",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("keywords", "key"),
    [({"name": "n", "namespace": "ns"}, "/ns/n"), ({"name": "n"}, "/**"), ({}, "/**"),
     ({"name": "n", "namespace": "/"}, "/n")],
)  # fmt: skip
def test_parameters_are_written_for_the_node_or_for_all(keywords: dict[str, str], key: str) -> None:
    cmd = command(Node(executable="/bin/x", parameters=[{"a": 1}], **keywords))
    path = cmd[cmd.index("--params-file") + 1]
    assert yaml.safe_load(Path(path).read_text()) == {key: {"ros__parameters": {"a": 1}}}


def test_a_missing_parameter_file_is_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--params-file" not in command(Node(executable="/bin/x", parameters=["/no/such.yaml"]))
    assert (
        "[WARNING] [launch_ros.actions.node]: Parameter file path is not a file: /no/such.yaml"
        in (capsys.readouterr().out)
    )


def test_pushed_namespaces_and_parameters_reach_the_nodes_behind_them() -> None:
    context = LaunchContext()
    PushRosNamespace("left").execute(context)
    PushRosNamespace("arm").execute(context)
    SetParameter("use_sim_time", True).execute(context)
    node = Node(executable="/bin/x", name="n")
    assert command(node, context)[2:] == [
        "-r", "__node:=n", "-r", "__ns:=/left/arm", "-p", "use_sim_time:=True",
    ]  # fmt: skip
    assert node.node_name == "/left/arm/n"


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"name": "a/b"}, "node name 'a/b' is not valid"),
        ({"namespace": "a-b"}, "namespace '/a-b' is not valid"),
        ({"namespace": "a//b"}, "namespace '/a//b' is not valid"),
    ],
)
def test_invalid_names(keywords: dict[str, str], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        command(Node(executable="/bin/x", **keywords))


def test_wrong_arguments_of_node() -> None:
    with pytest.raises(TypeError, match="parameters must be a list"):
        Node(executable="x", parameters={"a": 1})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="not `cmd`"):
        Node(executable="x", cmd=["y"])
    with pytest.raises(RuntimeError, match="before executing"):
        _ = Node(executable="x").node_name
