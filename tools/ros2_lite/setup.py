# SPDX-License-Identifier: Apache-2.0
"""Refuses to build where a ROS 2 installation is in sight; all else is in pyproject.toml."""

import glob
import os
import sys

from setuptools import setup

installed = glob.glob("/opt/ros/*/lib/python3*/site-packages/launch")
if installed and os.environ.get("ROS2_LITE_BESIDE_ROS") != "1":
    sys.exit(
        f"ros2_lite is not installed: the real launch is at {installed[0]}. "
        "Source that ROS 2 and use its `ros2`."
    )
setup()
