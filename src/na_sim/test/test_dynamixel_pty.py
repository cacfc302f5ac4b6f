# SPDX-License-Identifier: Apache-2.0
"""The real Dynamixel SDK talks to the emulated servos through a pseudo-terminal."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from na_sim.dynamixel import (
    BusEmulator,
    KinematicPlant,
    PortInUseError,
    PtyPort,
    ServoConfig,
    Transmission,
    WireFaults,
)
from na_sim.dynamixel.instructions import HardwareError, StatusError
from na_sim.dynamixel.packet import instruction_packet
from na_sim.plant_interface import ServoCommands
from na_sim.wire.testing import FakeClock

sdk = pytest.importorskip("dynamixel_sdk")
sdk_port = pytest.importorskip("dynamixel_sdk.port_handler")

IDS = (11, 12, 13, 14, 15)
BAUD = 1_000_000


def wait_for(condition: Callable[[], Any], timeout: float = 5.0) -> Any:
    """Return the first true value of `condition`, failing after `timeout` seconds."""
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.002)
    pytest.fail(f"not true within {timeout} s")


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the SDK wait a second for an answer: this machine may be busy with other things."""
    monkeypatch.setattr(sdk_port, "LATENCY_TIMER", 500.0)


def hears_nothing(monkeypatch: pytest.MonkeyPatch, controller: Controller, servo_id: int) -> bool:
    """Return whether a ping stays without a valid answer, waiting only as long as needed."""
    with monkeypatch.context() as briefly:
        briefly.setattr(sdk_port, "LATENCY_TIMER", 25.0)
        return controller.ping(servo_id)[1] in (sdk.COMM_RX_TIMEOUT, sdk.COMM_RX_CORRUPT)


class Controller:
    """An SDK port and packet handler on a path."""

    def __init__(self, path: str, baud: int = BAUD) -> None:
        self.port = sdk.PortHandler(path)
        assert self.port.openPort() and self.port.setBaudRate(baud)
        self.packets = sdk.PacketHandler(2.0)

    def ping(self, servo_id: int) -> tuple[int, int, int]:
        return self.packets.ping(self.port, servo_id)  # model, result, error

    def write(self, servo_id: int, address: int, size: int, value: int) -> tuple[int, int]:
        data = list((value & (1 << 8 * size) - 1).to_bytes(size, "little"))
        return self.packets.writeTxRx(self.port, servo_id, address, size, data)

    def read(self, servo_id: int, address: int, size: int) -> int:
        data, result, error = self.packets.readTxRx(self.port, servo_id, address, size)
        assert (result, error) == (sdk.COMM_SUCCESS, 0)
        return int.from_bytes(bytes(data), "little", signed=True)


class Setup:
    """A bus, its port and a controller, closed together."""

    def __init__(self, path: Path, **options: Any) -> None:
        self.plant = KinematicPlant(5)
        servos = options.pop("servos", [ServoConfig(i) for i in IDS])
        faults = options.pop("faults", None)
        clock = options.pop("clock", time.monotonic)
        baud = options.pop("baud", BAUD)
        self.bus = BusEmulator(servos, self.plant, faults=faults, clock=clock)
        self.port = PtyPort(self.bus, path, **options)
        self.controller = Controller(self.port.open(), baud)

    def close(self) -> None:
        self.controller.port.closePort()
        self.port.close()


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Setup]]:
    made: list[Setup] = []

    def build(**options: Any) -> Setup:
        made.append(Setup(tmp_path / f"servos{len(made)}", **options))
        return made[-1]

    yield build
    for setup in made:
        setup.close()


@pytest.fixture
def setup(make: Callable[..., Setup]) -> Setup:
    return make(realistic_timing=False)


def sync_read(controller: Controller, address: int, size: int) -> Any:
    group = sdk.GroupSyncRead(controller.port, controller.packets, address, size)
    for servo_id in IDS:
        assert group.addParam(servo_id)
    return group


def test_ping_all(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    for servo_id in IDS:
        assert setup.controller.ping(servo_id) == (1020, sdk.COMM_SUCCESS, 0)
    assert hears_nothing(monkeypatch, setup.controller, 99)


def test_broadcast_ping(setup: Setup) -> None:
    found, result = setup.controller.packets.broadcastPing(setup.controller.port)
    assert result == sdk.COMM_SUCCESS
    assert found == {i: [1020, 48] for i in IDS}


@pytest.mark.parametrize("fast", [False, True])
def test_sync_read_of_five_servos(setup: Setup, fast: bool) -> None:
    for row in range(5):
        setup.plant.place(row, 1000 + row)
    group = sync_read(setup.controller, 124, 23)
    result = group.fastSyncRead() if fast else group.txRxPacket()
    assert result == sdk.COMM_SUCCESS
    assert [group.getData(i, 132, 4) for i in IDS] == [1000, 1001, 1002, 1003, 1004]
    assert [group.getData(i, 144, 2) for i in IDS] == [120] * 5
    assert [group.getData(i, 146, 1) for i in IDS] == [35] * 5


def test_sync_write_moves_five_servos(setup: Setup) -> None:
    for servo_id in IDS:
        assert setup.controller.write(servo_id, 64, 1, 1) == (sdk.COMM_SUCCESS, 0)
    group = sdk.GroupSyncWrite(setup.controller.port, setup.controller.packets, 116, 4)
    for servo_id in IDS:
        assert group.addParam(servo_id, list((2000 + servo_id).to_bytes(4, "little")))
    assert group.txPacket() == sdk.COMM_SUCCESS
    read = sync_read(setup.controller, 132, 4)

    def arrived() -> bool:
        assert read.txRxPacket() == sdk.COMM_SUCCESS
        return [read.getData(i, 132, 4) for i in IDS] == [2000 + i for i in IDS]

    wait_for(arrived)
    assert setup.bus.torque_enabled() == dict.fromkeys(IDS, True)


@pytest.mark.parametrize("fast", [False, True])
def test_bulk_read_and_bulk_write(setup: Setup, fast: bool) -> None:
    port, packets = setup.controller.port, setup.controller.packets
    write = sdk.GroupBulkWrite(port, packets)
    assert write.addParam(11, 65, 1, [1]) and write.addParam(12, 84, 2, [0x90, 0x01])
    assert write.txPacket() == sdk.COMM_SUCCESS
    read = sdk.GroupBulkRead(port, packets)
    assert read.addParam(11, 65, 1) and read.addParam(12, 84, 2) and read.addParam(13, 132, 4)
    assert (read.fastBulkRead() if fast else read.txRxPacket()) == sdk.COMM_SUCCESS
    assert read.getData(11, 65, 1) == 1
    assert read.getData(12, 84, 2) == 400
    assert read.getData(13, 132, 4) == 2048


def test_registered_write_and_action(setup: Setup) -> None:
    port, packets = setup.controller.port, setup.controller.packets
    setup.controller.write(11, 64, 1, 1)
    data = list((2200).to_bytes(4, "little"))
    assert packets.regWriteTxRx(port, 11, 116, 4, data) == (sdk.COMM_SUCCESS, 0)
    assert setup.controller.read(11, 116, 4) == 2048
    assert packets.action(port, 0xFE) == sdk.COMM_SUCCESS
    assert wait_for(lambda: setup.controller.read(11, 132, 4) == 2200)


def test_eeprom_is_locked_while_torque_is_on(setup: Setup) -> None:
    setup.controller.write(11, 64, 1, 1)
    result, error = setup.controller.write(11, 11, 1, 4)
    assert (result, error) == (sdk.COMM_SUCCESS, StatusError.ACCESS)
    assert "not available" in setup.controller.packets.getRxPacketError(error)


def test_watchdog_trips_with_a_fake_clock(make: Callable[..., Setup]) -> None:
    clock = FakeClock()
    setup = make(realistic_timing=False, clock=clock)
    setup.controller.write(11, 64, 1, 1)
    setup.controller.write(11, 98, 1, 10)  # 200 ms
    setup.controller.write(11, 112, 4, 10)
    setup.controller.write(11, 116, 4, 4000)
    clock.sleep(0.1)
    assert setup.controller.read(11, 98, 1) == 10
    clock.sleep(3.0)
    assert setup.controller.read(11, 98, 1) == -1
    assert setup.controller.read(11, 132, 4) < 2048 + 0.31 * 10 * 15.7
    assert setup.controller.write(11, 116, 4, 3000)[1] == StatusError.DATA_RANGE


def test_hardware_error_and_reboot(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    setup.controller.write(12, 64, 1, 1)
    setup.bus.inject_hardware_error(12, HardwareError.OVERLOAD)
    assert setup.controller.ping(12) == (1020, sdk.COMM_SUCCESS, 0x80)
    assert setup.controller.write(12, 64, 1, 1)[1] == 0x80 | StatusError.RESULT_FAIL
    setup.bus.inject_hardware_error(12, 0)
    assert setup.controller.packets.reboot(setup.controller.port, 12)[0] == sdk.COMM_SUCCESS
    wait_for(lambda: not hears_nothing(monkeypatch, setup.controller, 12))
    assert setup.controller.write(12, 64, 1, 1) == (sdk.COMM_SUCCESS, 0)


def test_clear_multi_turn_and_factory_reset(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    port, packets = setup.controller.port, setup.controller.packets
    assert packets.clearMultiTurn(port, 11) == (sdk.COMM_SUCCESS, 0)
    setup.controller.write(11, 20, 4, 77)
    assert packets.factoryReset(port, 11, 0x02) == (sdk.COMM_SUCCESS, 0)
    wait_for(lambda: not hears_nothing(monkeypatch, setup.controller, 11))
    assert setup.controller.read(11, 20, 4) == 0


def test_wrong_baud_meets_silence(
    make: Callable[..., Setup], monkeypatch: pytest.MonkeyPatch
) -> None:
    setup = make(realistic_timing=False, baud=115_200)
    assert hears_nothing(monkeypatch, setup.controller, 11)
    assert setup.controller.port.setBaudRate(BAUD)
    assert setup.controller.ping(11)[1] == sdk.COMM_SUCCESS


@pytest.mark.parametrize("baud", [57_600, 2_000_000, 3_000_000, 4_000_000])
def test_other_speeds_work_when_both_agree(make: Callable[..., Setup], baud: int) -> None:
    setup = make(realistic_timing=False, baud=baud, servos=[ServoConfig(11, baud=baud)])
    assert setup.port.host_baud() == baud
    assert setup.controller.ping(11)[1] == sdk.COMM_SUCCESS


def test_duplicate_id_is_no_valid_answer(
    make: Callable[..., Setup], monkeypatch: pytest.MonkeyPatch
) -> None:
    setup = make(realistic_timing=False, servos=[ServoConfig(11), ServoConfig(12), ServoConfig(12)])
    assert setup.controller.ping(11)[1] == sdk.COMM_SUCCESS
    assert hears_nothing(monkeypatch, setup.controller, 12)


def test_old_firmware_fails_a_fast_read_and_serves_a_plain_one(make: Callable[..., Setup]) -> None:
    setup = make(realistic_timing=False, servos=[ServoConfig(i, firmware=42) for i in IDS])
    group = sync_read(setup.controller, 132, 4)
    assert group.fastSyncRead() != sdk.COMM_SUCCESS
    assert group.txRxPacket() == sdk.COMM_SUCCESS


@pytest.mark.parametrize("baud", [57_600, 1_000_000])
def test_answers_take_their_time_on_the_wire(make: Callable[..., Setup], baud: int) -> None:
    delay_us = 500
    setup = make(
        baud=baud,
        servos=[ServoConfig(i, baud=baud, return_delay_us=delay_us) for i in IDS],
    )
    group = sync_read(setup.controller, 124, 23)
    wire_bytes = (7 + 1 + 4 + 5 + 2) + 5 * (11 + 23)
    expected = wire_bytes * 10 / baud + 5 * delay_us * 1e-6
    for _ in range(5):
        start = time.monotonic()
        assert group.txRxPacket() == sdk.COMM_SUCCESS
        assert time.monotonic() - start >= expected


def test_unanswered_writes_occupy_the_wire_too(make: Callable[..., Setup]) -> None:
    setup = make(baud=57_600, servos=[ServoConfig(11, baud=57_600)])
    group = sdk.GroupSyncWrite(setup.controller.port, setup.controller.packets, 116, 4)
    group.addParam(11, [0, 8, 0, 0])
    start = time.monotonic()
    for _ in range(4):
        assert group.txPacket() == sdk.COMM_SUCCESS
    assert setup.controller.ping(11)[1] == sdk.COMM_SUCCESS
    assert time.monotonic() - start >= (4 * 19 + 10 + 14) * 10 / 57_600


def test_plant_keeps_up_while_the_bus_is_idle(setup: Setup) -> None:
    before = setup.plant.time
    wait_for(lambda: setup.plant.time > before + 0.05)
    lag = time.monotonic() - setup.bus._coupling._t0 - setup.plant.time
    assert lag < 1.0  # loose: other work may hold this machine


def test_second_port_on_the_path_is_refused(setup: Setup) -> None:
    other = PtyPort(setup.bus, setup.port.path)
    with pytest.raises(PortInUseError, match="already serves this path"):
        other.open()
    assert setup.controller.ping(11)[1] == sdk.COMM_SUCCESS
    with pytest.raises(PortInUseError, match="already open"):
        setup.port.open()


def test_file_in_the_way_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "precious"
    path.write_text("keep me")
    with pytest.raises(PortInUseError, match="no link"):
        PtyPort(BusEmulator([ServoConfig(1)], KinematicPlant(1)), path).open()
    assert path.read_text() == "keep me"
    assert list(tmp_path.iterdir()) == [path]


def test_link_left_by_a_killed_emulator_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "port"
    path.symlink_to("/dev/pts/does-not-exist")
    (tmp_path / "port.lock").touch()
    with PtyPort(BusEmulator([ServoConfig(1)], KinematicPlant(1)), path) as port:
        assert os.path.exists(port.path)
    assert list(tmp_path.iterdir()) == []


def test_close_removes_the_link_and_can_reopen_elsewhere(setup: Setup, tmp_path: Path) -> None:
    setup.controller.port.closePort()
    setup.port.close()
    setup.port.close()
    assert not os.path.lexists(setup.port.path)
    setup.port.link = tmp_path / "replugged"
    setup.controller = Controller(setup.port.open())
    assert setup.controller.ping(11)[1] == sdk.COMM_SUCCESS


def test_close_does_not_wait_for_a_slow_answer(make: Callable[..., Setup]) -> None:
    class Late(WireFaults):
        def outgoing(self, servo_id: int, data: bytes, now: float) -> list[Transmission]:
            return [Transmission(data, delay=600.0)]

    setup = make(faults=Late())
    setup.controller.port.writePort(instruction_packet(11, 1))
    wait_for(lambda: setup.bus.counters.replies)
    start = time.monotonic()
    setup.port.close()
    assert time.monotonic() - start < 2.0


def test_controller_that_never_reads_cannot_stop_the_bus(setup: Setup) -> None:
    read_all = instruction_packet(11, 2, b"\x00\x00\x93\x00")
    for _ in range(200):
        setup.controller.port.writePort(read_all)
    wait_for(lambda: setup.port.dropped_bytes)
    setup.controller.port.clearPort()
    wait_for(lambda: setup.controller.ping(11)[1] == sdk.COMM_SUCCESS)


def test_failing_plant_silences_the_port_and_is_kept(
    make: Callable[..., Setup], caplog: pytest.LogCaptureFixture
) -> None:
    setup = make(realistic_timing=False)

    def explode(until: float, commands: ServoCommands) -> None:
        raise FloatingPointError("the plant diverged")

    setup.plant.advance = explode  # type: ignore[method-assign]
    failure = wait_for(lambda: setup.port.failure)
    assert "diverged" in str(failure)


def test_noise_through_the_terminal(setup: Setup) -> None:
    for size in (1, 7, 64, 1000):
        setup.controller.port.writePort(os.urandom(size))
    wait_for(lambda: setup.controller.ping(11)[1] == sdk.COMM_SUCCESS)


def test_killed_emulator_frees_its_path(tmp_path: Path) -> None:
    path = tmp_path / "port"
    code = (
        "import sys, time\n"
        "from na_sim.dynamixel import *\n"
        "PtyPort(BusEmulator([ServoConfig(1)], KinematicPlant(1)), sys.argv[1]).open()\n"
        "print('open', flush=True)\n"
        "time.sleep(60)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, env=environment
    )
    try:
        assert process.stdout is not None and process.stdout.readline() == b"open\n"
        process.kill()
        process.wait(10)
        assert os.path.lexists(path)
        with PtyPort(BusEmulator([ServoConfig(1)], KinematicPlant(1)), path) as port:
            controller = Controller(port.path)
            assert controller.ping(1)[1] == sdk.COMM_SUCCESS
            controller.port.closePort()
    finally:
        process.kill()
        process.wait(10)
        assert process.stdout is not None
        process.stdout.close()


def test_threads_may_ask_while_the_bus_serves(setup: Setup) -> None:
    stop = threading.Event()

    def ask() -> None:
        while not stop.is_set():
            setup.bus.torque_enabled()
            setup.bus.tick()

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        for _ in range(50):
            wait_for(lambda: setup.controller.ping(13)[1] == sdk.COMM_SUCCESS)
    finally:
        stop.set()
        thread.join()


def test_serve_offers_a_robots_servos_until_terminated(tmp_path: Path) -> None:
    path = tmp_path / "port"
    command = [sys.executable, "-m", "na_sim.serve", "--robot", "omx", "--link"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        [*command, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline().decode().strip() == str(path)
        controller = Controller(str(path))
        assert [controller.ping(i)[1] for i in IDS] == [sdk.COMM_SUCCESS] * 5
        controller.port.closePort()
        process.terminate()
        assert process.wait(20) == 0
        assert list(tmp_path.iterdir()) == []
    finally:
        process.kill()
        process.communicate()


def test_serve_refuses_a_robot_without_servos() -> None:
    from na_sim.serve import main

    with pytest.raises(ValueError, match="panda"):
        main(["--robot", "panda"])
