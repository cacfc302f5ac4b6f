# SPDX-License-Identifier: Apache-2.0
"""An emulated arm on a pseudo-terminal, with a record of every instruction it heard.

Servos, plant and the code under test share one clock that is set by hand; only the bytes travel
in real time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest

from na_core.robot_spec import RobotSpec, load_robot_spec
from na_sim.dynamixel.bus_emulator import BusEmulator
from na_sim.dynamixel.kinematic_plant import KinematicPlant
from na_sim.dynamixel.packet import PacketParser
from na_sim.dynamixel.pty_port import PtyPort
from na_sim.dynamixel.servo_config import ServoConfig
from na_sim.dynamixel.testing import FakeClock
from na_sim.dynamixel.wire_faults import Transmission, WireFaults
from na_teleop.buses.dynamixel import DynamixelBus, DynamixelOptions

TORQUE_ENABLE = 64
WRITE, REG_WRITE, SYNC_WRITE, BULK_WRITE = 0x03, 0x04, 0x83, 0x93


@dataclass
class WireLog(WireFaults):
    """Notes every instruction on the wire, and misbehaves on request.

    `mute`: ids that neither hear nor answer. `mangle`: turns outgoing bytes into others.
    `delays`: seconds by which the next answers come late, one per answer.
    """

    heard: bytearray = field(default_factory=bytearray)
    mute: set[int] = field(default_factory=set)
    mangle: Callable[[int, bytes], bytes] | None = None
    delays: list[float] = field(default_factory=list)

    def incoming(self, data: bytes, now: float) -> bytes:
        """Keep what the servos hear."""
        self.heard += data
        return data

    def silent(self, servo_id: int, now: float) -> bool:
        """Mute the servos asked for."""
        return servo_id in self.mute

    def outgoing(self, servo_id: int, data: bytes, now: float) -> list[Transmission]:
        """Let `mangle` and `delays` have their way."""
        delay = self.delays.pop(0) if self.delays else 0.0
        return [Transmission(self.mangle(servo_id, data) if self.mangle else data, delay)]

    def writes(self, address: int) -> list[tuple[int, int]]:
        """Return (id, first byte written) of every write that covers `address`."""
        found: list[tuple[int, int]] = []
        for packet in PacketParser().feed(bytes(self.heard)):
            p = packet.parameters
            if packet.instruction in (WRITE, REG_WRITE):
                start = p[0] | p[1] << 8
                if start <= address < start + len(p) - 2:
                    found.append((packet.id, p[2 + address - start]))
            elif packet.instruction == SYNC_WRITE:
                start, size = p[0] | p[1] << 8, p[2] | p[3] << 8
                if start <= address < start + size:
                    for at in range(4, len(p), size + 1):
                        found.append((p[at], p[at + 1 + address - start]))
            elif packet.instruction == BULK_WRITE:
                found.append((packet.id, -1))
        return found

    def torque_writes(self) -> list[tuple[int, int]]:
        """Return every write to the torque register as (id, value)."""
        return self.writes(TORQUE_ENABLE)


@dataclass
class Arm:
    """An emulated arm: port path, emulator, plant and wire log."""

    spec: RobotSpec
    emulator: BusEmulator
    plant: KinematicPlant
    port: PtyPort
    log: WireLog
    clock: FakeClock
    buses: list[DynamixelBus] = field(default_factory=list)

    @property
    def path(self) -> str:
        """What a controller opens."""
        return self.port.path

    def change(self, **values: object) -> None:
        """Set fields of the plant for all servos, and let the sensors see them."""
        for name, value in values.items():
            getattr(self.plant, name)[:] = value
        self.clock.sleep(0.001)

    def bus(self, **options: object) -> DynamixelBus:
        """Return a bus on this arm, not yet open; closed by the fixture."""
        options.setdefault("latency_s", 0.06)  # answers come from a thread of a busy machine
        chosen = DynamixelOptions(**options)  # type: ignore[arg-type]
        bus = DynamixelBus(self.spec, self.path, chosen, clock=self.clock)
        self.buses.append(bus)
        return bus


@pytest.fixture(scope="session")
def omx() -> RobotSpec:
    """The default robot."""
    return load_robot_spec("omx")


@pytest.fixture
def make_arm(omx: RobotSpec) -> Iterator[Callable[..., Arm]]:
    """Return a maker of emulated arms; `change` maps an id to fields of its ServoConfig."""
    made: list[Arm] = []

    def make(
        change: dict[int, dict[str, object]] | None = None,
        *,
        extra: tuple[ServoConfig, ...] = (),
        spec: RobotSpec | None = None,
        link: Path | None = None,
    ) -> Arm:
        robot = spec or omx
        configs = []
        for joint in robot.joints:
            assert joint.servo is not None
            config = ServoConfig(id=joint.servo.id, model=joint.servo.model)
            configs.append(replace(config, **(change or {}).get(config.id, {})))  # type: ignore[arg-type]
        plant = KinematicPlant(robot.n, np.full(robot.n, 2000, dtype=np.int64))
        log, clock = WireLog(), FakeClock()
        emulator = BusEmulator([*configs, *extra], plant, faults=log, clock=clock)
        port = PtyPort(emulator, link, realistic_timing=False)
        arm = Arm(robot, emulator, plant, port, log, clock)
        arm.port.open()
        made.append(arm)
        return arm

    yield make
    for arm in made:
        for bus in arm.buses:
            bus.close()
        arm.port.close()


@pytest.fixture
def arm(make_arm: Callable[..., Arm]) -> Arm:
    """A healthy emulated arm."""
    return make_arm()
