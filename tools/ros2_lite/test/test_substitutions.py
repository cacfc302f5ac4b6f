# SPDX-License-Identifier: Apache-2.0
"""Substitutions and conditions, each performed in a context of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from launch import LaunchContext
from launch.conditions import IfCondition, InvalidConditionExpressionError, UnlessCondition
from launch.substitutions import (
    AndSubstitution,
    Command,
    EnvironmentVariable,
    EqualsSubstitution,
    FindExecutable,
    LaunchConfiguration,
    NotEqualsSubstitution,
    NotSubstitution,
    OrSubstitution,
    PathJoinSubstitution,
    PythonExpression,
    SubstitutionFailure,
    TextSubstitution,
    ThisLaunchFileDir,
)
from launch.utilities import normalize_to_list_of_substitutions
from launch_ros.substitutions import ExecutableInPackage, FindPackagePrefix, FindPackageShare


@pytest.fixture
def context(monkeypatch: pytest.MonkeyPatch) -> LaunchContext:
    """A context in which robot is omx and sim is true."""
    monkeypatch.setenv("RL_SET", "set")
    monkeypatch.delenv("RL_UNSET", raising=False)
    context = LaunchContext()
    context.launch_configurations.update({"robot": "omx", "sim": "true", "which": "robot"})
    context.extend_locals({"current_launch_file_directory": "/here"})
    return context


ROBOT, SIM = LaunchConfiguration("robot"), LaunchConfiguration("sim")


@pytest.mark.parametrize(
    ("substitution", "expected"),
    [
        (TextSubstitution(text="x"), "x"),
        (ROBOT, "omx"),
        (LaunchConfiguration(["wh", "ich"]), "robot"),
        (LaunchConfiguration(LaunchConfiguration("which")), "omx"),
        (LaunchConfiguration("absent", default="d"), "d"),
        (LaunchConfiguration("absent", default=3), "3"),
        (LaunchConfiguration("absent", default=["a", 1, ROBOT]), "a1omx"),
        (EnvironmentVariable("RL_SET"), "set"),
        (EnvironmentVariable("RL_UNSET", default_value=["no", "ne"]), "none"),
        (PathJoinSubstitution(["/a", ROBOT, "b.yaml"]), "/a/omx/b.yaml"),
        (PythonExpression(["'", ROBOT, "' == 'omx'"]), "True"),
        (PythonExpression("floor(pi)"), "3"),
        (PythonExpression("json.dumps([1])", ["json"]), "[1]"),
        (Command("printf 'a b'"), "a b"),
        (Command(["sh -c 'echo warn >&2; printf ", ROBOT, "'"], on_stderr="ignore"), "omx"),
        (FindExecutable(name="sh"), "/bin/sh"),
        (ThisLaunchFileDir(), "/here"),
        (EqualsSubstitution(ROBOT, "omx"), "true"),
        (EqualsSubstitution(SIM, True), "true"),
        (EqualsSubstitution(SIM, "1"), "true"),
        (EqualsSubstitution("0.30000000000000004", 0.3), "true"),
        (EqualsSubstitution(ROBOT, None), "false"),
        (NotEqualsSubstitution(ROBOT, "omx"), "false"),
        (NotSubstitution(SIM), "false"),
        (AndSubstitution(SIM, "1"), "true"),
        (OrSubstitution("false", "0"), "false"),
    ],
)  # fmt: skip
def test_values(context: LaunchContext, substitution: Any, expected: str) -> None:
    found = substitution.perform(context)
    assert found == expected or found.endswith(expected)  # /usr/bin/sh


@pytest.mark.parametrize(
    ("substitution", "words"),
    [
        (LaunchConfiguration("absent"), "'absent' does not exist; declare it"),
        (EnvironmentVariable("RL_UNSET"), "'RL_UNSET' does not exist; export it"),
        (Command("false"), "'false' ended with code 1"),
        (Command("sh -c 'echo oops >&2'"), "oops"),
        (Command("/no/such/program"), "file not found"),
        (FindExecutable(name="no_such_program"), "'no_such_program' not found on the PATH"),
    ],
)
def test_what_has_no_value(context: LaunchContext, substitution: Any, words: str) -> None:
    with pytest.raises(SubstitutionFailure, match=words):
        substitution.perform(context)


def test_outside_of_a_launch_file_there_is_no_folder() -> None:
    with pytest.raises(SubstitutionFailure, match="outside of a launch file"):
        ThisLaunchFileDir().perform(LaunchContext())


def test_numbers_are_not_text() -> None:
    with pytest.raises(TypeError, match=r"got 5 of type int.*str\(\.\.\.\)"):
        normalize_to_list_of_substitutions(["a", 5])  # type: ignore[list-item]


@pytest.mark.parametrize(("text", "truth"), [("true", True), (" TRUE ", True), ("1", True),
                                             ("False", False), ("0", False)])  # fmt: skip
def test_conditions(context: LaunchContext, text: str, truth: bool) -> None:
    assert IfCondition(text).evaluate(context) is truth
    assert UnlessCondition([text[:1], text[1:]]).evaluate(context) is not truth


def test_a_condition_is_performed_each_time(context: LaunchContext) -> None:
    condition = IfCondition(SIM)
    assert condition.evaluate(context)
    context.launch_configurations["sim"] = "false"
    assert not condition.evaluate(context)


@pytest.mark.parametrize("text", ["", "yes", "2", "omx"])
def test_a_condition_must_be_a_boolean(context: LaunchContext, text: str) -> None:
    with pytest.raises(InvalidConditionExpressionError, match=f"{text!r} is neither of true"):
        IfCondition(text).evaluate(context)


def test_packages(context: LaunchContext, prefix: Path) -> None:
    assert FindPackagePrefix("rl_demo").perform(context) == str(prefix)
    assert FindPackageShare(["rl_", "demo"]).perform(context) == f"{prefix}/share/rl_demo"
    found = ExecutableInPackage("talker", "rl_demo").perform(context)
    assert found == f"{prefix}/lib/rl_demo/talker"


@pytest.mark.parametrize(
    ("package", "executable", "words"),
    [
        ("no_package", "talker", "package 'no_package' not found; searched AMENT_PREFIX_PATH="),
        ("rl_demo", "listener", r"'listener' not found on .*, which holds \['talker'\]"),
    ],
)
def test_missing_executables(
    context: LaunchContext, prefix: Path, package: str, executable: str, words: str
) -> None:
    with pytest.raises(SubstitutionFailure, match=words):
        ExecutableInPackage(executable, package).perform(context)
