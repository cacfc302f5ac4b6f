# SPDX-License-Identifier: Apache-2.0
"""An emulated Dynamixel bus in-process, with a clock that is set by hand."""

from __future__ import annotations

from na_sim.dynamixel import BusEmulator, KinematicPlant, ServoConfig, WireFaults
from na_sim.dynamixel.testing import InProcessController
from na_sim.wire.testing import FakeClock

IDS = (11, 12, 13, 14, 15)


class Bench:
    """A bus of five servos on a kinematic plant, a controller and the clock."""

    def __init__(self, servos: list[ServoConfig] | None = None, faults: WireFaults | None = None):
        self.clock = FakeClock()
        self.plant = KinematicPlant(5)
        configs = servos or [ServoConfig(i) for i in IDS]
        self.bus = BusEmulator(configs, self.plant, clock=self.clock, faults=faults)
        self.controller = InProcessController(self.bus)
        self.read = self.controller.read
        self.write = self.controller.write


def word(value: int) -> bytes:
    return value.to_bytes(2, "little")


def goal(value: int) -> bytes:
    return value.to_bytes(4, "little", signed=True)
