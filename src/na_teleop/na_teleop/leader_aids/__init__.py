# SPDX-License-Identifier: Apache-2.0
"""Torque on the leader: gravity compensation, friction assist, gripper spring, force feedback."""
