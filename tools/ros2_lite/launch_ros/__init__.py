# SPDX-License-Identifier: Apache-2.0
"""A subset of the ROS 2 package `launch_ros`; see docs/ros2_lite.md."""

from ros2_lite.refusal import install_finder, refusing_getattr

install_finder()

from . import actions, descriptions, parameter_descriptions, substitutions  # noqa: E402

__all__ = ["actions", "descriptions", "parameter_descriptions", "substitutions"]
__getattr__ = refusing_getattr(__name__)
