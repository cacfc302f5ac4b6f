# SPDX-License-Identifier: Apache-2.0
"""Live teleoperation: buses, preflight, goal shaping and the follower's state machine."""
