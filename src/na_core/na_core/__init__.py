# SPDX-License-Identifier: Apache-2.0
"""Robot descriptions, units and data layouts shared by every package; imports no ROS."""
