# SPDX-License-Identifier: Apache-2.0
"""Feetech STS servos that exist only as bytes on a pseudo-terminal."""

from na_sim.feetech.bus_emulator import FeetechBusEmulator
from na_sim.feetech.servo_config import FeetechServoConfig

__all__ = ["FeetechBusEmulator", "FeetechServoConfig"]
