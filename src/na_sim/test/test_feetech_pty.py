# SPDX-License-Identifier: Apache-2.0
"""The vendor's SDK, its port handler included, talks to emulated STS servos on a terminal."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import scservo_sdk as sdk

from na_sim.feetech import FeetechBusEmulator, FeetechServoConfig
from na_sim.wire.kinematic_plant import KinematicPlant
from na_sim.wire.pty_port import PtyPort

IDS = (1, 2, 3)
GOAL, POSITION, MODEL = 42, 56, 777


class Setup:
    """Emulated servos on a port, opened by the SDK."""

    def __init__(self) -> None:
        plant = KinematicPlant(3, velocity_unit=1.0, acceleration_unit=100.0)
        configs = [FeetechServoConfig(id=i, registers={"max_voltage_limit": 140}) for i in IDS]
        self.bus = FeetechBusEmulator(configs, plant)
        self.served = PtyPort(self.bus)
        self.served.open()
        self.port = sdk.PortHandler(self.served.path)
        self.port.setBaudRate(1_000_000)
        self.packets = sdk.PacketHandler(0)

    def close(self) -> None:
        """Close both ends."""
        self.port.closePort()
        self.served.close()


@pytest.fixture
def setup() -> Iterator[Setup]:
    made = Setup()
    yield made
    made.close()


def patiently(ask):  # type: ignore[no-untyped-def]
    """Ask until the answer comes in time: the SDK waits 34 ms, a busy machine may take longer."""
    for _ in range(20):
        *answer, result, error = ask()
        if result == sdk.COMM_SUCCESS:
            return (*answer, error)
    pytest.fail(f"no answer: {result}")


def test_ping_read_and_write(setup: Setup) -> None:
    handler, port = setup.packets, setup.port
    assert patiently(lambda: handler.ping(port, 2)) == (MODEL, 0)
    assert patiently(lambda: handler.read2ByteTxRx(port, 2, POSITION)) == (2048, 0)
    assert patiently(lambda: handler.write2ByteTxRx(port, 2, GOAL, 2100)) == (0,)
    assert setup.bus.servo(2).registers.get("goal_position") == 2100


def test_group_sync_read_and_write(setup: Setup) -> None:
    writer = sdk.GroupSyncWrite(setup.port, setup.packets, GOAL, 2)
    reader = sdk.GroupSyncRead(setup.port, setup.packets, GOAL, 2)
    for i in IDS:
        assert writer.addParam(i, [0x10 + i, 0x08])
        assert reader.addParam(i)
    assert writer.txPacket() == sdk.COMM_SUCCESS
    patiently(lambda: (reader.txRxPacket(), 0))
    assert [reader.getData(i, GOAL, 2) for i in IDS] == [0x0811, 0x0812, 0x0813]


def test_an_absent_servo_is_a_timeout_and_another_speed_is_silence(setup: Setup) -> None:
    _, result, _ = setup.packets.ping(setup.port, 9)
    assert result == sdk.COMM_RX_TIMEOUT
    setup.port.setBaudRate(115_200)
    _, result, _ = setup.packets.ping(setup.port, 1)
    assert result == sdk.COMM_RX_TIMEOUT
