# SPDX-License-Identifier: Apache-2.0
"""Neural Actuation Dataset (NAD): rosbag2 episodes written, read, checked, mended and exchanged."""
