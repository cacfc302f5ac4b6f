# SPDX-License-Identifier: Apache-2.0
"""A subset of the ROS 2 package `launch_pytest`; see docs/ros2_lite.md."""
