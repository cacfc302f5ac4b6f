# SPDX-License-Identifier: Apache-2.0
"""Leader arm drives follower arm; by default both are emulated.

ros2 launch na_bringup teleop.launch.py
ros2 launch na_bringup teleop.launch.py sim:=false \\
    leader_port:=/dev/ttyUSB0 follower_port:=/dev/ttyUSB1
"""

import getpass
import os
import tempfile

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, GroupAction, LogInfo, Shutdown
from launch.conditions import IfCondition
from launch.substitutions import (
    LaunchConfiguration,
    PathJoinSubstitution,
    PythonExpression,
)
from launch_ros.actions import Node, PushRosNamespace
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

from na_inference.model_paths import robots_with_models

# A follower told to stop parks before it lets go, and emulated servos must outlive it: these are
# the seconds between SIGINT, SIGTERM and SIGKILL.
PARK_SECONDS = "12"
KILL_SECONDS = "5"

ARGUMENTS = [
    DeclareLaunchArgument("robot", default_value="omx", description="robot YAML in na_description"),
    DeclareLaunchArgument(
        "sim", default_value="true", choices=["true", "false"], description="emulate both arms"
    ),
    DeclareLaunchArgument(
        "leader_port",
        default_value="",
        description="serial port of the leader; with sim, where to put the emulated one",
    ),
    DeclareLaunchArgument(
        "follower_port",
        default_value="",
        description="serial port of the follower; with sim, where to put the emulated one",
    ),
    DeclareLaunchArgument(
        "leader_calibration",
        default_value="",
        description="calibration file of the leader (./na calibrate)",
    ),
    DeclareLaunchArgument(
        "follower_calibration",
        default_value="",
        description="calibration file of the follower; its hash goes into every recording, and a "
        "model of another calibration is refused",
    ),
    DeclareLaunchArgument(
        "aids",
        default_value="false",
        choices=["true", "false"],
        description="push the leader: gravity compensation, friction assist, gripper spring",
    ),
    DeclareLaunchArgument(
        "feedback_gain",
        default_value="0.0",
        description="force on the hand per estimated force on the follower; 0: none; needs aids",
    ),
    DeclareLaunchArgument(
        "teleop_mode",
        default_value="joint",
        choices=["joint", "scaled", "mirrored"],
        description="how the follower follows",
    ),
    DeclareLaunchArgument(
        "teleop_scale", default_value="1.0", description="size of the motion in other modes"
    ),
    DeclareLaunchArgument(
        "goal_source",
        default_value="leader",
        choices=["leader", "topic"],
        description="what drives the follower: a leader arm, or follower/goal (no leader then)",
    ),
    DeclareLaunchArgument(
        "record", default_value="false", choices=["true", "false"], description="record NAD bags"
    ),
    DeclareLaunchArgument(
        "bag_dir", default_value="bags", description="folder for the recorded episodes"
    ),
    DeclareLaunchArgument(
        "inference",
        default_value="true",
        choices=["true", "false"],
        description="estimate forces live, with the robot's committed model or the one given",
    ),
    DeclareLaunchArgument(
        "model", default_value="", description="model of the live estimate, an .onnx file"
    ),
    DeclareLaunchArgument(
        "accept_other_calibration",
        default_value="false",
        choices=["true", "false"],
        description="use a model of another calibration than the follower's, with a warning",
    ),
    DeclareLaunchArgument(
        "baseline",
        default_value="none",
        description="classical observer beside the model, for example gmo",
    ),
    DeclareLaunchArgument(
        "baseline_settings",
        default_value="",
        description="its settings, as ./na bench accuracy --settings writes them",
    ),
    DeclareLaunchArgument(
        "scene",
        default_value="",
        description="with sim, weights and pushes on the follower and rests of the operator: demo, "
        "live or a YAML file",
    ),
    DeclareLaunchArgument(
        "namespace", default_value="", description="prefix of all nodes and topics of this pair"
    ),
    DeclareLaunchArgument(
        "faults", default_value="", description="YAML script of faults of the emulated follower"
    ),
    DeclareLaunchArgument(
        "seed", default_value="0", description="seed of the emulated arms and of the operator"
    ),
]


def emulated_port(arm: str) -> PathJoinSubstitution:
    """Where an emulated arm appears: one folder per user, ROS domain and namespace."""
    folder = f"neural_actuator-{getpass.getuser()}-{os.environ.get('ROS_DOMAIN_ID', '0')}"
    return PathJoinSubstitution(
        [tempfile.gettempdir(), folder, LaunchConfiguration("namespace"), arm]
    )


def port(arm: str) -> PythonExpression:
    """The port asked for, or the emulated one when none was asked for."""
    asked = LaunchConfiguration(f"{arm}_port")
    return PythonExpression(["'", asked, "' or '", emulated_port(arm), "'"])


def config(name: str) -> PathJoinSubstitution:
    return PathJoinSubstitution([FindPackageShare("na_bringup"), "config", name])


def text(value) -> ParameterValue:
    """A parameter that stays a string even where it looks like a number."""
    return ParameterValue(value, value_type=str)


def estimate_wanted(negation: str) -> PythonExpression:
    """True when a force estimate is wanted and there is a model for it (or `negation`: none)."""
    model, robot = LaunchConfiguration("model"), LaunchConfiguration("robot")
    there = ["'", model, "' != '' or '", robot, f"' in {robots_with_models()}"]
    return PythonExpression(
        ["'", LaunchConfiguration("inference"), f"' == 'true' and {negation}(", *there, ")"]
    )


def wanted(arm: str, emulated: bool) -> IfCondition:
    """Whether an arm is there: a leader only where it drives, an emulated one only with sim."""
    sim, source = LaunchConfiguration("sim"), LaunchConfiguration("goal_source")
    drives = ["'", source, "' == 'leader'"] if arm == "leader" else ["True"]
    emulates = ["'", sim, "' == 'true'"] if emulated else ["True"]
    return IfCondition(PythonExpression([*drives, " and ", *emulates]))


def emulated_arm(arm: str) -> Node:
    return Node(
        package="na_sim",
        executable="emulated_arm_node",
        name=f"emulated_{arm}",
        parameters=[
            config("emulated_arm.yaml"),
            {
                "robot": text(LaunchConfiguration("robot")),
                "arm": arm,
                "port": text(port(arm)),
                "seed": ParameterValue(LaunchConfiguration("seed"), value_type=int),
                "faults": text(LaunchConfiguration("faults") if arm == "follower" else ""),
                "scene": text(LaunchConfiguration("scene")),
            },
        ],
        output="screen",
        condition=wanted(arm, emulated=True),
        sigterm_timeout=PARK_SECONDS,
        sigkill_timeout=KILL_SECONDS,
        on_exit=Shutdown(reason=f"the emulated {arm} ended"),
    )


def number(name: str) -> ParameterValue:
    """A launch argument as a floating-point parameter, also where it was written as 1."""
    return ParameterValue(
        PythonExpression(["float('", LaunchConfiguration(name), "')"]), value_type=float
    )


def own_parameters(arm: str) -> dict:
    """What only the leader or only the follower is told."""
    if arm == "leader":
        return {
            "aids": ParameterValue(LaunchConfiguration("aids"), value_type=bool),
            "aid_feedback_gain": number("feedback_gain"),
        }
    return {
        "goal_source": text(LaunchConfiguration("goal_source")),
        "teleop_mode": text(LaunchConfiguration("teleop_mode")),
        "teleop_scale": number("teleop_scale"),
    }


def arm_node(arm: str) -> Node:
    return Node(
        package="na_teleop",
        executable=f"{arm}_node",
        name=f"{arm}_node",
        parameters=[
            config(f"{arm}.yaml"),
            {
                "robot": text(LaunchConfiguration("robot")),
                "port": text(port(arm)),
                "calibration": text(LaunchConfiguration(f"{arm}_calibration")),
                **own_parameters(arm),
                # Emulated ports appear while the nodes start; a real one is there or is missing.
                "port_wait": ParameterValue(
                    PythonExpression(
                        ["60.0 if '", LaunchConfiguration("sim"), "' == 'true' else 0.0"]
                    ),
                    value_type=float,
                ),
            },
        ],
        output="screen",
        condition=wanted(arm, emulated=False),
        sigterm_timeout=PARK_SECONDS,
        sigkill_timeout=KILL_SECONDS,
        on_exit=Shutdown(reason=f"the {arm} ended"),
    )


def generate_launch_description() -> LaunchDescription:
    recorder = Node(
        package="na_teleop",
        executable="recorder_node",
        name="recorder_node",
        parameters=[
            config("recorder.yaml"),
            {
                "robot": text(LaunchConfiguration("robot")),
                "out_dir": text(LaunchConfiguration("bag_dir")),
                "calibration": text(LaunchConfiguration("follower_calibration")),
                "leader_calibration": text(LaunchConfiguration("leader_calibration")),
                "source": ParameterValue(
                    PythonExpression(
                        [
                            "'emulated' if '",
                            LaunchConfiguration("sim"),
                            "' == 'true' else 'hardware'",
                        ]
                    ),
                    value_type=str,
                ),
            },
        ],
        output="screen",
        condition=IfCondition(LaunchConfiguration("record")),
        sigterm_timeout=PARK_SECONDS,
        sigkill_timeout=KILL_SECONDS,
    )
    estimate = Node(
        package="na_inference",
        executable="neural_actuator_node",
        name="neural_actuator_node",
        parameters=[
            config("neural_actuator.yaml"),
            {
                "robot": text(LaunchConfiguration("robot")),
                "model": text(LaunchConfiguration("model")),
                "calibration": text(LaunchConfiguration("follower_calibration")),
                "accept_other_calibration": ParameterValue(
                    LaunchConfiguration("accept_other_calibration"), value_type=bool
                ),
                "baseline": text(LaunchConfiguration("baseline")),
                "baseline_settings": text(LaunchConfiguration("baseline_settings")),
            },
        ],
        output="screen",
        condition=IfCondition(estimate_wanted("")),
    )
    return LaunchDescription(
        [
            *ARGUMENTS,
            LogInfo(
                msg=[
                    "no live force estimate: no model of robot ",
                    LaunchConfiguration("robot"),
                    " is here; train one, or give model:=FILE.onnx",
                ],
                condition=IfCondition(estimate_wanted("not ")),
            ),
            GroupAction(
                [
                    PushRosNamespace(LaunchConfiguration("namespace")),
                    emulated_arm("leader"),
                    emulated_arm("follower"),
                    arm_node("leader"),
                    arm_node("follower"),
                    recorder,
                    estimate,
                ]
            ),
        ]
    )
