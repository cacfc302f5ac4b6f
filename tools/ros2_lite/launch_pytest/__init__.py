# SPDX-License-Identifier: Apache-2.0
"""A subset of the ROS 2 package `launch_pytest`; see docs/ros2_lite.md."""

from ros2_lite.refusal import install_finder, refusing_getattr

install_finder()

from . import actions, tools  # noqa: E402
from .fixture import fixture  # noqa: E402

__all__ = ["actions", "fixture", "tools"]
__getattr__ = refusing_getattr(__name__)
