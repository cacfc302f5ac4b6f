# SPDX-License-Identifier: Apache-2.0
"""Plays a recorded episode into the live force estimate.

ros2 launch na_bringup replay.launch.py bag:=bags/EPISODE
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, Shutdown
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

ARGUMENTS = [
    ("bag", "", "folder of the episode"),
    ("robot", "omx", "robot YAML in na_description"),
    ("model", "", "an .onnx file; empty: the robot's committed model"),
    ("calibration_hash", "none", "hash of the recorded arm's calibration (./na bag info)"),
    ("accept_other_calibration", "false", "use a model of another calibration, with a warning"),
    ("baseline", "none", "classical observer beside the model"),
    ("rate", "1.0", "speed, 1 = as recorded"),
]


def text(name: str) -> ParameterValue:
    """An argument that stays a string even where it looks like a number."""
    return ParameterValue(LaunchConfiguration(name), value_type=str)


def generate_launch_description() -> LaunchDescription:
    estimate = Node(
        package="na_inference",
        executable="neural_actuator_node",
        name="neural_actuator_node",
        parameters=[
            PathJoinSubstitution(
                [FindPackageShare("na_bringup"), "config", "neural_actuator.yaml"]
            ),
            {
                "robot": text("robot"),
                "model": text("model"),
                "calibration_hash": text("calibration_hash"),
                "accept_other_calibration": ParameterValue(
                    LaunchConfiguration("accept_other_calibration"), value_type=bool
                ),
                "baseline": text("baseline"),
                # Stamps stay as recorded, so their age says nothing.
                "max_age": 0.0,
                "silence_after": 2.0,
            },
        ],
        output="screen",
    )
    player = Node(
        package="na_inference",
        executable="bag_replay_node",
        name="bag_replay_node",
        parameters=[
            {
                "bag": text("bag"),
                "rate": ParameterValue(LaunchConfiguration("rate"), value_type=float),
            }
        ],
        output="screen",
        on_exit=Shutdown(reason="the episode has been played"),
    )
    return LaunchDescription(
        [
            *(
                DeclareLaunchArgument(name, default_value=default, description=meaning)
                for name, default, meaning in ARGUMENTS
            ),
            estimate,
            player,
        ]
    )
