# SPDX-License-Identifier: Apache-2.0
"""Included by others: has a required argument and a default of its own."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, ExecuteProcess
from launch.substitutions import LaunchConfiguration


def generate_launch_description():
    return LaunchDescription(
        [
            DeclareLaunchArgument("needed", description="has no default"),
            DeclareLaunchArgument("own", default_value="5"),
            ExecuteProcess(
                cmd=["/bin/inside", LaunchConfiguration("needed"), LaunchConfiguration("own")]
            ),
        ]
    )
