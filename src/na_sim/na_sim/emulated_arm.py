# SPDX-License-Identifier: Apache-2.0
"""One emulated arm: wire protocol, servo physics and, for a leader, the operator who moves it."""

from __future__ import annotations

import time
from pathlib import Path

from na_core.robot_spec import RobotSpec
from na_sim.arm_plant import ArmPlant
from na_sim.dynamixel.bus_emulator import BusEmulator
from na_sim.dynamixel.servo_config import ServoConfig
from na_sim.operator import ScriptedOperator
from na_sim.wire.pty_port import PtyPort

#: Longest time that the physics makes up for at once [s]; a process that slept longer slips.
MAX_CATCH_UP = 0.2


class EmulatedArm:
    """Servos of one arm on a pseudo-terminal, as a driver would find them on a serial port."""

    def __init__(
        self,
        spec: RobotSpec,
        path: str | Path,
        *,
        seed: int = 0,
        unit: int = 0,
        operator: bool = False,
        realistic_timing: bool = True,
    ) -> None:
        """Prepare the arm; `open` makes `path` appear.

        Args:
            spec: robot with Dynamixel servos; ValueError otherwise.
            path: where to put the port.
            seed: seed of sensor noise and of the operator's motion.
            unit: physical unit whose hidden parameters are used; 0 is the training arm.
            operator: a scripted operator holds the arm and moves it (a leader).
            realistic_timing: replies take as long as on the wire.

        """
        if spec.bus is None or spec.bus.protocol != "dynamixel2":
            protocol = "no bus" if spec.bus is None else spec.bus.protocol
            raise ValueError(
                f"robot {spec.robot!r} has {protocol}, expected dynamixel2: only Dynamixel arms "
                "can be emulated live in this version, for example omx"
            )
        self.path = str(path)
        self.plant = ArmPlant(
            spec, seed, unit, hand=ScriptedOperator(spec, seed) if operator else None
        )
        servos = [
            ServoConfig(id=joint.servo.id, model=joint.servo.model, baud=spec.bus.baud)
            for joint in spec.joints
            if joint.servo is not None
        ]
        self._ready_at = time.monotonic() + max(servo.boot_time for servo in servos)
        self._bus = BusEmulator(servos, self.plant, max_catch_up=MAX_CATCH_UP)
        self._port = PtyPort(self._bus, path, realistic_timing=realistic_timing)

    def open(self) -> None:
        """Boot the servos, then make the port appear; PortInUseError when it is taken."""
        time.sleep(max(0.0, self._ready_at - time.monotonic()))
        self._bus.tick()  # compiles the physics, which a driver would take for silence
        self._port.open()

    def close(self) -> None:
        """Make the port vanish."""
        self._port.close()

    def torque_enabled(self) -> dict[int, bool]:
        """Whether torque is on, by servo id."""
        return self._bus.torque_enabled()

    @property
    def slips(self) -> int:
        """How often the physics lost time against the clock."""
        return self._bus.slips
