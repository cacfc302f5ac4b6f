# SPDX-License-Identifier: Apache-2.0
"""The live force estimate: runtime core without ROS, lifecycle node, observers, clients."""
