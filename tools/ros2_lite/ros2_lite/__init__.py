# SPDX-License-Identifier: Apache-2.0
"""What stands behind the small `launch`, `launch_ros`, `launch_pytest` and `ros2`."""
