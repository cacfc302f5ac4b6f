# SPDX-License-Identifier: Apache-2.0
"""Decisions of the recorder, free of rclpy."""
