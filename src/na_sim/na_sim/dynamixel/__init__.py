# SPDX-License-Identifier: Apache-2.0
"""Dynamixel Protocol 2.0 servos that exist only as bytes on a pseudo-terminal."""

from na_sim.dynamixel.bus_emulator import BusEmulator
from na_sim.dynamixel.servo_config import ServoConfig
from na_sim.wire.kinematic_plant import KinematicPlant
from na_sim.wire.pty_port import PortInUseError, PtyPort
from na_sim.wire.wire_faults import Transmission, WireFaults

__all__ = [
    "BusEmulator",
    "KinematicPlant",
    "PortInUseError",
    "PtyPort",
    "ServoConfig",
    "Transmission",
    "WireFaults",
]
