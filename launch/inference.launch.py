# SPDX-License-Identifier: Apache-2.0
"""The live force estimate beside another driver; units are declared, never guessed.

ros2 launch na_bringup inference.launch.py robot:=omx model:=FILE.onnx \\
    joint_states:=/joint_states goal:=/arm_controller/goal goal_type:=JointState \\
    effort_unit:=mA voltage:=12.0 temperature:=35.0
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

ARGUMENTS = [
    ("robot", "omx", "robot YAML in na_description"),
    ("model", "", "an .onnx file; empty: the robot's committed model"),
    ("calibration", "", "calibration file of the arm, where its driver applies one of ours"),
    ("calibration_hash", "none", "hash of the calibration in force, of any other driver's"),
    ("accept_other_calibration", "false", "use a model of another calibration, with a warning"),
    ("input", "joint_states", "joint_states, or telemetry of our own driver"),
    ("joint_states", "joint_states", "topic of the joint states"),
    ("goal", "goal", "topic of the goals"),
    ("goal_type", "JointGoal", "JointGoal, JointState or Float64MultiArray"),
    ("joint_names", "['']", "names that differ from ours, as a list of 'theirs=ours'"),
    ("effort_unit", "", "unit of effort: A, mA, fraction, percent or factor"),
    ("effort_factor", "[0.0]", "with factor: A per unit of effort, one per joint"),
    ("voltage", "nan", "supply of the arm [V]"),
    ("temperature", "nan", "servo temperature [degC]"),
    ("max_age", "0.1", "age of a tick that makes it stale [s]"),
    ("baseline", "none", "classical observer beside the model"),
]


def text(name: str) -> ParameterValue:
    """An argument that stays a string even where it looks like a number."""
    return ParameterValue(LaunchConfiguration(name), value_type=str)


def number(name: str) -> ParameterValue:
    return ParameterValue(LaunchConfiguration(name), value_type=float)


def generate_launch_description() -> LaunchDescription:
    node = Node(
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
                "calibration": text("calibration"),
                "calibration_hash": text("calibration_hash"),
                "accept_other_calibration": ParameterValue(
                    LaunchConfiguration("accept_other_calibration"), value_type=bool
                ),
                "input": text("input"),
                "goal_type": text("goal_type"),
                "joint_names": ParameterValue(
                    LaunchConfiguration("joint_names"), value_type=list[str]
                ),
                "effort_unit": text("effort_unit"),
                "effort_factor": ParameterValue(
                    LaunchConfiguration("effort_factor"), value_type=list[float]
                ),
                "assumed_voltage": number("voltage"),
                "assumed_temperature": number("temperature"),
                "max_age": number("max_age"),
                "baseline": text("baseline"),
            },
        ],
        remappings=[
            ("joint_states", LaunchConfiguration("joint_states")),
            ("~/goal", LaunchConfiguration("goal")),
        ],
        output="screen",
    )
    return LaunchDescription(
        [
            *(
                DeclareLaunchArgument(name, default_value=default, description=meaning)
                for name, default, meaning in ARGUMENTS
            ),
            node,
        ]
    )
