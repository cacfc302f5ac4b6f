# SPDX-License-Identifier: Apache-2.0
"""Dynamixel Protocol 2.0 servos that exist only as bytes on a pseudo-terminal."""
