# SPDX-License-Identifier: Apache-2.0
"""Robot files and xacro are installed as data; na_core.robot_spec reads them."""
