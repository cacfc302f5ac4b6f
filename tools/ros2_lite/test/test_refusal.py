# SPDX-License-Identifier: Apache-2.0
"""Everything this subset lacks is refused by its full name."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pytest
from launch.actions import (
    DeclareLaunchArgument,
    ExecuteProcess,
    GroupAction,
    IncludeLaunchDescription,
    LogInfo,
    TimerAction,
)
from launch.event_handlers import OnProcessExit
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterFile
from ros2_lite import cli
from ros2_lite.refusal import FeatureRefusedError, NameRefusedError


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("launch", "LaunchIntrospector"),
        ("launch.actions", "AppendEnvironmentVariable"),
        ("launch.actions", "ResetLaunchConfigurations"),
        ("launch.conditions", "LaunchConfigurationEquals"),
        ("launch.event_handlers", "OnExecutionComplete"),
        ("launch.events", "TimerEvent"),
        ("launch.substitutions", "AnonName"),
        ("launch.launch_description_sources", "FrontendLaunchDescriptionSource"),
        ("launch_ros.actions", "LifecycleNode"),
        ("launch_ros.actions", "ComposableNodeContainer"),
        ("launch_ros.descriptions", "ComposableNode"),
        ("launch_ros.parameter_descriptions", "Parameter"),
        ("launch_pytest.tools", "expect_output"),
    ],
)
def test_names_of_the_real_packages(module: str, name: str) -> None:
    words = rf"ros2_lite does not implement {module}.{name}; install ROS 2 Jazzy"
    with pytest.raises(ImportError, match=words):
        getattr(importlib.import_module(module), name)
    with pytest.raises(NameRefusedError, match=words):
        exec(f"from {module} import {name}")


@pytest.mark.parametrize(
    "module",
    ["launch.frontend", "launch.launch_introspector", "launch_ros.events", "launch_ros.utilities"],
)
def test_modules_of_the_real_packages(module: str) -> None:
    with pytest.raises(ImportError, match=f"does not implement {module}"):
        importlib.import_module(module)


def test_private_names_are_denied_as_python_expects() -> None:
    import launch

    assert not hasattr(launch, "__wrapped__")
    with pytest.raises(ModuleNotFoundError, match="No module named 'no_such_package_xyz'"):
        importlib.import_module("no_such_package_xyz")


@pytest.mark.parametrize(
    ("construct", "words"),
    [
        (lambda: Node(executable="x", lifecycle=True, autostart=1),
         r"launch_ros.actions.Node\(lifecycle=..., autostart=...\)"),
        (lambda: ExecuteProcess(cmd=["x"], log_cmd=True),
         r"launch.actions.ExecuteProcess\(log_cmd=...\)"),
        (lambda: ExecuteProcess(cmd=["x"], output_format="{line}"), r"output_format=..."),
        (lambda: GroupAction([], forwarding=False), r"launch.actions.GroupAction\(forwarding="),
        (lambda: TimerAction(period=1.0, actions=[], foo=1), r"launch.actions.TimerAction\(foo="),
        (lambda: LogInfo(msg="x", level="info"), r"launch.actions.LogInfo\(level="),
        (lambda: DeclareLaunchArgument("x", default="1"), r"DeclareLaunchArgument\(default="),
        (lambda: OnProcessExit(on_exit=[], handle_once=True), r"OnProcessExit\(handle_once="),
        (lambda: ParameterFile("x", allow_substs=True), r"ParameterFile\(allow_substs=True\)"),
    ],
)  # fmt: skip
def test_keywords(construct: Callable[[], Any], words: str) -> None:
    with pytest.raises(FeatureRefusedError, match=f"ros2_lite does not implement .*{words}"):
        construct()


def test_values_that_are_known_only_while_launching() -> None:
    from launch import LaunchContext

    include = IncludeLaunchDescription("/somewhere/x.launch.xml")
    with pytest.raises(FeatureRefusedError, match=r"launch files in XML or YAML .*x.launch.xml"):
        include.execute(LaunchContext())
    from launch.logging import output_writers

    with pytest.raises(FeatureRefusedError, match=r"output='own_log' of a process"):
        output_writers("own_log")


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["doctor"], "`ros2 doctor` (it has: bag, interface, launch,"),
        (["topic", "bw", "/x"], "`ros2 topic bw` (it has: list,"),
        (["bag", "record"], "`ros2 bag record` (it has: info)"),
        (["topic", "hz", "/x", "--filter", "m"], "`ros2 topic ... --filter m`"),
        (["launch", "x.launch.py", "--print"], "`ros2 launch ... --print`"),
    ],
)
def test_command_lines(argv: list[str], words: str) -> None:
    if argv[0] == "topic":
        pytest.importorskip("rclpy", reason="needs rclpy")
    answer = cli.run(argv)
    assert isinstance(answer, str)
    assert f"ros2_lite does not implement {words}" in answer


def test_star_imports_bring_only_what_the_module_is_for() -> None:
    names: dict[str, Any] = {}
    for module in ("launch.actions", "launch.event_handlers", "launch_ros.actions"):
        exec(f"from {module} import *", names)
    assert names["Shutdown"].__module__ == "launch.actions.basic"
    assert "annotations" not in names
