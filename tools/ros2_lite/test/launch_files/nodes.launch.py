# SPDX-License-Identifier: Apache-2.0
"""Nodes with all kinds of parameters, namespaces and remappings."""

from pathlib import Path

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, GroupAction
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node, PushRosNamespace, SetParameter
from launch_ros.parameter_descriptions import ParameterFile, ParameterValue
from launch_ros.substitutions import FindPackagePrefix, FindPackageShare

YAML = Path(__file__).with_name("parameters.yaml")


def generate_launch_description():
    rate = LaunchConfiguration("rate")
    flags_of = LaunchConfiguration("flags_of")
    port = LaunchConfiguration("port")
    talker = {"package": "rl_demo", "executable": "talker"}
    return LaunchDescription(
        [
            DeclareLaunchArgument("rate", default_value="60.0"),
            DeclareLaunchArgument("port", default_value="/dev/ttyUSB0"),
            DeclareLaunchArgument("flags", default_value="[true, false]"),
            DeclareLaunchArgument("flags_of", default_value="port"),
            DeclareLaunchArgument("namespace", default_value=""),
            Node(**talker),
            Node(**talker, name="plain", output="screen"),
            Node(**talker, namespace="arm", arguments=["--fast", rate], exec_name="label"),
            Node(
                **talker,
                name=["lea", "der"],
                namespace=["/", "left"],
                remappings=[("joint_states", "/leader/joint_states"), (["a", "b"], port)],
                ros_arguments=["--log-level", "debug"],
                additional_env={"RL_NODE": "1"},
                parameters=[
                    str(YAML),
                    YAML,
                    ParameterFile(YAML),
                    ParameterFile([str(YAML)]),
                    PathJoinSubstitution([FindPackageShare("rl_demo"), "config", "demo.yaml"]),
                    {
                        "rate": rate,
                        "port": port,
                        "forced_string": ParameterValue(rate, value_type=str),
                        "forced_float": ParameterValue("1", value_type=str),
                        "typed": ParameterValue(rate, value_type=float),
                        "typed_list": ParameterValue(
                            LaunchConfiguration("flags"), value_type=list[bool]
                        ),
                        "yaml_list": LaunchConfiguration("flags"),
                        "joined": [port, "_x"],
                        "text": "12",
                        "empty": "",
                        "unicode": "grün: ja",
                        "multiline": "a\nb",
                        "yes": True,
                        "int": 7,
                        "float": 1.5e-6,
                        "ints": [1, 2, 3],
                        "mixed_numbers": [1, 2.5],
                        "bools": [True, False],
                        "words": ["a", "b c"],
                        "listed": [[rate], ["61.0"]],
                        "nested": {"p": {"gain": 800, flags_of: "x"}, "i": 100},
                        ("na", "me"): "composed",
                    },
                    {"second": 1},
                ],
            ),
            Node(package="rl_demo", executable="talker", name="missing_file",
                 parameters=["/nowhere/at_all.yaml", {"a": 1}]),
            Node(executable="/usr/bin/env", name="no_package"),
            Node(executable=[FindPackagePrefix("rl_demo"), "/lib/rl_demo/talker"]),
            SetParameter("use_sim_time", True),
            GroupAction(
                [
                    PushRosNamespace("bench"),
                    Node(**talker, name="in_bench", parameters=[{"a": 1}]),
                    Node(**talker, name="relative", namespace="inner/deep"),
                    Node(**talker, name="absolute", namespace="/elsewhere"),
                    GroupAction([PushRosNamespace("deeper"), Node(**talker, name="deep")]),
                    GroupAction([PushRosNamespace("/root"), Node(**talker, name="root")]),
                    SetParameter(name="rate", value=rate),
                    Node(**talker, name="with_global"),
                ]
            ),
            GroupAction(
                [
                    PushRosNamespace(LaunchConfiguration("namespace")),
                    Node(**talker, name="maybe", remappings=[("x", "y")]),
                ]
            ),
            Node(**talker, name="after", namespace=""),
        ]
    )  # fmt: skip
