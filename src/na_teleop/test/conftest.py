# SPDX-License-Identifier: Apache-2.0
"""An emulated arm on a pseudo-terminal, with a record of every instruction it heard.

Servos, plant and the code under test share one clock that is set by hand; only the bytes travel
in real time.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from na_core.robot_spec import RobotSpec, load_robot_spec
from na_sim.dynamixel.packet import PacketParser
from na_sim.emulated_servos import Config, emulated_bus, kinematic_plant, servo_configs
from na_sim.emulated_servos import with_changes as changed
from na_sim.feetech.packet import PacketParser as FeetechParser
from na_sim.wire.emulated_bus import EmulatedBus
from na_sim.wire.kinematic_plant import KinematicPlant
from na_sim.wire.pty_port import PtyPort
from na_sim.wire.testing import FakeClock
from na_sim.wire.wire_faults import Transmission, WireFaults
from na_teleop.buses.dynamixel import DynamixelBus, DynamixelOptions
from na_teleop.buses.feetech import FeetechBus, FeetechOptions

sys.path.insert(0, str(Path(__file__).parent))  # tests import the rig beside them

TORQUE_ENABLE = 64
FEETECH_TORQUE_ENABLE = 40
WRITE, REG_WRITE, SYNC_WRITE, BULK_WRITE = 0x03, 0x04, 0x83, 0x93


@dataclass
class WireLog(WireFaults):
    """Notes every instruction on the wire, and misbehaves on request.

    `mute`: ids that neither hear nor answer. `mangle`: turns outgoing bytes into others.
    `delays`: seconds by which the next answers come late, one per answer.
    """

    heard: bytearray = field(default_factory=bytearray)
    feetech: bool = False
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
        if self.feetech:
            return self._feetech_writes(address)
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

    def _feetech_writes(self, address: int) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        for packet in FeetechParser().feed(bytes(self.heard)):
            p = packet.parameters
            if packet.code in (WRITE, REG_WRITE) and p[0] <= address < p[0] + len(p) - 1:
                found.append((packet.id, p[1 + address - p[0]]))
            elif packet.code == SYNC_WRITE and p[0] <= address < p[0] + p[1]:
                for at in range(2, len(p), p[1] + 1):
                    found.append((p[at], p[at + 1 + address - p[0]]))
        return found

    def torque_writes(self) -> list[tuple[int, int]]:
        """Return every write to the torque register as (id, value)."""
        return self.writes(FEETECH_TORQUE_ENABLE if self.feetech else TORQUE_ENABLE)


@dataclass
class Arm:
    """An emulated arm: port path, emulator, plant and wire log."""

    spec: RobotSpec
    emulator: EmulatedBus[Any]
    plant: KinematicPlant
    port: PtyPort
    log: WireLog
    clock: FakeClock
    buses: list[DynamixelBus | FeetechBus] = field(default_factory=list)

    @property
    def path(self) -> str:
        """What a controller opens."""
        return self.port.path

    def change(self, **values: object) -> None:
        """Set fields of the plant for all servos, and let the sensors see them."""
        for name, value in values.items():
            getattr(self.plant, name)[:] = value
        self.clock.sleep(0.001)

    def bus(self, **options: Any) -> Any:
        """Return a bus on this arm, not yet open; closed by the fixture."""
        options.setdefault("latency_s", 0.06)  # answers come from a thread of a busy machine
        bus: DynamixelBus | FeetechBus
        if self.log.feetech:
            chosen = FeetechOptions(**options)
            bus = FeetechBus(self.spec, self.path, chosen, clock=self.clock)
        else:
            bus = DynamixelBus(self.spec, self.path, DynamixelOptions(**options), clock=self.clock)
        self.buses.append(bus)
        return bus


@pytest.fixture(scope="session")
def omx() -> RobotSpec:
    """The default robot."""
    return load_robot_spec("omx")


@pytest.fixture(scope="session")
def so101() -> RobotSpec:
    """The Feetech robot."""
    return load_robot_spec("so101")


@pytest.fixture
def make_arm(omx: RobotSpec) -> Iterator[Callable[..., Arm]]:
    """Return a maker of emulated arms; `change` maps an id to fields of its ServoConfig."""
    made: list[Arm] = []

    def make(
        change: dict[int, dict[str, object]] | None = None,
        *,
        extra: tuple[Config, ...] = (),
        spec: RobotSpec | None = None,
        link: Path | None = None,
    ) -> Arm:
        robot = spec or omx
        configs = changed(servo_configs(robot), change or {})  # type: ignore[arg-type]
        plant = kinematic_plant(robot, np.full(robot.n, 2000, dtype=np.int64))
        log = WireLog(feetech=robot.bus is not None and robot.bus.protocol == "feetech")
        clock = FakeClock()
        emulator = emulated_bus((*configs, *extra), plant, faults=log, clock=clock)
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


@pytest.fixture(params=["omx", "so101"])
def each(request: pytest.FixtureRequest, make_arm: Callable[..., Arm]) -> Callable[..., Arm]:
    """A maker of arms, once for each servo family."""
    spec = load_robot_spec(request.param)
    return lambda *args, **kwargs: make_arm(*args, spec=spec, **kwargs)
