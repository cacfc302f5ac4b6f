# SPDX-License-Identifier: Apache-2.0
"""Uses every action and substitution once; the processes need not exist to be described."""

from pathlib import Path

from launch import LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    ExecuteProcess,
    GroupAction,
    IncludeLaunchDescription,
    LogInfo,
    OpaqueFunction,
    SetEnvironmentVariable,
    SetLaunchConfiguration,
    TimerAction,
)
from launch.conditions import IfCondition, UnlessCondition
from launch.launch_description_sources import PythonLaunchDescriptionSource
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
    TextSubstitution,
    ThisLaunchFileDir,
)

HERE = str(Path(__file__).parent)


def _per_arm(context, prefix):
    count = int(LaunchConfiguration("arms").perform(context))
    return [ExecuteProcess(cmd=[f"/bin/{prefix}", str(i)], name="arm") for i in range(count)]


def generate_launch_description():
    robot = LaunchConfiguration("robot")
    sim = LaunchConfiguration("sim")
    return LaunchDescription(
        [
            DeclareLaunchArgument("robot", default_value="omx", choices=["omx", "so101"],
                                  description="which arm"),
            DeclareLaunchArgument("sim", default_value="true", description="emulated servos."),
            DeclareLaunchArgument("arms", default_value=["1", "2"][1]),
            DeclareLaunchArgument("config", default_value=[HERE, "/", robot, ".yaml"]),
            DeclareLaunchArgument("real_only", default_value="x",
                                  condition=UnlessCondition(sim)),
            LogInfo(msg=["robot ", robot]),
            ExecuteProcess(cmd=["/bin/emulate", robot], condition=IfCondition(sim)),
            ExecuteProcess(cmd=["/bin/hardware", robot], condition=UnlessCondition(sim)),
            ExecuteProcess(
                cmd=[
                    [TextSubstitution(text="/bin/"), "joined"],
                    PathJoinSubstitution([ThisLaunchFileDir(), "config", robot]),
                    PythonExpression(["'", robot, "' == 'omx' and floor(2.7)"]),
                    EnvironmentVariable("RL_MISSING", default_value="fallback"),
                    LaunchConfiguration("absent", default=["a", robot]),
                    LaunchConfiguration("number", default=3),
                    Command("printf '%s' out"),
                    FindExecutable(name="sh"),
                    EqualsSubstitution(robot, "omx"),
                    EqualsSubstitution("1.0", 1),
                    NotEqualsSubstitution(sim, True),
                    NotSubstitution(sim),
                    AndSubstitution(sim, "false"),
                    OrSubstitution("0", sim),
                ],
                name=["joined_", robot],
                cwd=HERE,
                additional_env={"RL_EXTRA": robot, ("RL_", robot): "yes"},
            ),
            ExecuteProcess(cmd=["/bin/clean"], env={"ONLY": "this"}),
            ExecuteProcess(cmd=["echo", robot, "|", "cat"], shell=True, name="shell"),
            ExecuteProcess(cmd=["/bin/prefixed"], prefix="nice -n 5"),
            OpaqueFunction(function=_per_arm, args=["arm"]),
            SetEnvironmentVariable("RL_OUTER", ["outer_", robot]),
            GroupAction(
                [
                    SetEnvironmentVariable("RL_INNER", "inner"),
                    SetLaunchConfiguration("robot", "so101"),
                    ExecuteProcess(cmd=["/bin/in_group", robot, LaunchConfiguration("extra")]),
                ],
                launch_configurations={"extra": "given"},
            ),
            ExecuteProcess(cmd=["/bin/after_group", robot]),
            GroupAction([SetLaunchConfiguration("leaks", "yes")], scoped=False),
            ExecuteProcess(cmd=["/bin/after_open_group", LaunchConfiguration("leaks")]),
            IncludeLaunchDescription(
                PythonLaunchDescriptionSource([ThisLaunchFileDir(), "/included.launch.py"]),
                launch_arguments={"needed": robot, "sim": "false"}.items(),
            ),
            ExecuteProcess(cmd=["/bin/after_include", sim, LaunchConfiguration("needed")]),
            ExecuteProcess(cmd=["/bin/dir", ThisLaunchFileDir()]),
            TimerAction(
                period=0.2, actions=[ExecuteProcess(cmd=["/bin/later", robot])]
            ),
        ]
    )  # fmt: skip
