# SPDX-License-Identifier: Apache-2.0
"""Servos on one half-duplex wire: bytes in, status packets out, physics advanced on demand."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from na_sim.dynamixel import instructions as ins
from na_sim.dynamixel.emulated_servo import EmulatedServo
from na_sim.dynamixel.instructions import Instruction, ReadRequest, StatusError, WriteRequest
from na_sim.dynamixel.packet import (
    BROADCAST_ID,
    MAX_LENGTH,
    Packet,
    PacketParser,
    crc16,
    fast_status_header,
    status_packet,
)
from na_sim.dynamixel.plant_coupling import PlantCoupling
from na_sim.dynamixel.servo_config import ServoConfig
from na_sim.dynamixel.servo_registers import RegisterError
from na_sim.dynamixel.wire import Exchange, Reply, collide
from na_sim.dynamixel.wire_faults import WireFaults
from na_sim.plant_interface import ArmPlant

BYTE_GAP = 0.010  # s of silence that end an unfinished packet (manual: 1.5 ms; see docs)
_BAUD_TOLERANCE = 0.03
_GOAL_BLOCK = 100  # goals begin here; writes above it need no fresh readings

# Smallest status_return_level that lets an instruction be answered.
_LEVEL = {Instruction.PING: 0, Instruction.READ: 1}


@dataclass(slots=True)
class BusCounters:
    """What the servos have seen and said since the start."""

    packets: int = 0
    crc_errors: int = 0
    replies: int = 0
    collisions: int = 0
    resets: int = 0  # unfinished packets dropped after a gap


class BusEmulator:
    """Protocol 2.0 servos in front of a plant.

    `clock` gives seconds and only differences matter; it may be a fake. Servo i drives row i of
    the plant unless its configuration says otherwise; a servo past the last row has no shaft.
    `max_catch_up` bounds how far [s] the plant is integrated at once: beyond it plant time slips
    (None: never). All methods may be called from any thread.
    """

    def __init__(
        self,
        servos: Sequence[ServoConfig],
        plant: ArmPlant,
        *,
        clock: Callable[[], float] = time.monotonic,
        faults: WireFaults | None = None,
        max_catch_up: float | None = None,
    ) -> None:
        self.plant = plant
        self.clock = clock
        self.faults = faults or WireFaults()
        self.counters = BusCounters()
        self.servos = tuple(
            EmulatedServo(config, self._row(config, place)) for place, config in enumerate(servos)
        )
        self._lock = threading.RLock()
        self._parser = PacketParser()
        self._last_byte = float("-inf")
        now = clock()
        self._coupling = PlantCoupling(plant, self.servos, self.faults, now, max_catch_up)
        self._coupling.refresh(now)
        for servo in self.servos:
            servo.power_on(now)

    def _row(self, config: ServoConfig, place: int) -> int | None:
        index = place if config.plant_index is None else config.plant_index
        return index if 0 <= index < self.plant.n else None

    # ---- what tests, faults and the emulator node ask for

    def torque_enabled(self) -> dict[int, bool]:
        """Return whether torque is on, by servo id (any of them where an id is shared)."""
        with self._lock:
            answer: dict[int, bool] = {}
            for servo in self.servos:
                answer[servo.id] = answer.get(servo.id, False) or servo.torque_on
            return answer

    def servo(self, servo_id: int) -> EmulatedServo:
        """Return the first servo with `servo_id`; KeyError naming the ids there are."""
        for servo in self.servos:
            if servo.id == servo_id:
                return servo
        raise KeyError(f"no servo {servo_id} on this bus, ids: {[s.id for s in self.servos]}")

    def inject_hardware_error(self, servo_id: int, bits: int) -> None:
        """Make hardware error `bits` present on a servo (see HardwareError); 0 clears."""
        with self._lock:
            self.servo(servo_id).inject_hardware_error(bits)

    def set_connected(self, servo_id: int, connected: bool) -> None:
        """Plug a servo's cable in or out; it keeps power."""
        with self._lock:
            self.servo(servo_id).connected = connected

    def brown_out(self) -> None:
        """Reboot every servo at once: torque off, RAM lost."""
        with self._lock:
            now = self.clock()
            self._coupling.advance(now)
            self._coupling.refresh(now)
            for servo in self.servos:
                servo.reboot(now)

    def tick(self) -> None:
        """Bring plant, watchdogs and protection up to the clock while the bus is idle."""
        with self._lock:
            now = self.clock()
            self._coupling.advance(now)
            self._coupling.refresh(now)

    @property
    def slips(self) -> int:
        """How often the plant was too slow and lost time (see `max_catch_up`)."""
        return self._coupling.slips

    # ---- bytes

    def receive(self, data: bytes, host_baud: int | None = None) -> list[Exchange]:
        """Hear `data` sent at `host_baud` [bit/s] (None: whatever each servo expects).

        Returns the exchanges of the packets completed by it. Servos set to another speed hear
        nothing, so neither do they answer.
        """
        with self._lock:
            now = self.clock()
            if self._parser.pending and now - self._last_byte > BYTE_GAP:
                self._parser.reset()
                self.counters.resets += 1
            self._last_byte = now
            listeners = [s for s in self.servos if self._hears(s, host_baud, now)]
            if not listeners:
                self._parser.reset()
                return []
            heard = self.faults.incoming(data, now)
            return [
                Exchange(packet.consumed, tuple(self._execute(packet, listeners, now)))
                for packet in self._parser.feed(heard)
            ]

    def _hears(self, servo: EmulatedServo, host_baud: int | None, now: float) -> bool:
        if not servo.connected or now < servo.ready_at or self.faults.silent(servo.id, now):
            return False
        return host_baud is None or abs(host_baud - servo.baud) <= _BAUD_TOLERANCE * servo.baud

    def _execute(
        self, packet: Packet, listeners: list[EmulatedServo], now: float
    ) -> Iterable[Reply]:
        if not packet.crc_ok:
            self.counters.crc_errors += 1
            return self._crc_error(packet, listeners)
        if packet.instruction == Instruction.STATUS:
            return ()
        self.counters.packets += 1
        self._coupling.advance(now)
        if not _writes_goals(packet):
            self._coupling.refresh(now)
        for servo in listeners:
            servo.last_heard = now
        try:
            if packet.id == BROADCAST_ID:
                replies = self._broadcast(packet, listeners, now)
            else:
                replies = self._unicast(packet, listeners, now)
        except ins.ParameterLayoutError:
            return ()
        self.counters.replies += len(replies)
        return replies

    def _crc_error(self, packet: Packet, listeners: list[EmulatedServo]) -> list[Reply]:
        frames = [
            (s, status_packet(packet.id, StatusError.CRC | s.alert))
            for s in listeners
            if s.id == packet.id and s.registers.get("status_return_level") == 2
        ]
        return self._slot(packet.id, frames)

    # ---- one servo

    def _unicast(self, packet: Packet, listeners: list[EmulatedServo], now: float) -> list[Reply]:
        frames = []
        addressed = [s for s in listeners if s.id == packet.id]
        for servo in addressed:
            level = servo.registers.get("status_return_level")
            error, parameters = self._run(servo, packet, now)
            if level >= _LEVEL.get(packet.instruction, 2):  # type: ignore[call-overload]
                frames.append((servo, status_packet(packet.id, error | servo.alert, parameters)))
        if packet.instruction == Instruction.WRITE:
            self._write_secondary(packet, listeners, now)
        return self._slot(packet.id, frames)

    def _write_secondary(self, packet: Packet, listeners: list[EmulatedServo], now: float) -> None:
        """Apply a write addressed to a secondary id: RAM only, never answered."""
        request = ins.parse_write(packet.id, packet.parameters)
        for servo in listeners:
            secondary = servo.registers.get("secondary_id")
            if servo.id != packet.id == secondary and request.address >= 64:
                self._write(servo, request, now)

    def _run(self, servo: EmulatedServo, packet: Packet, now: float) -> tuple[int, bytes]:
        """Execute a unicast instruction; return error number and parameters of its status."""
        try:
            return 0, self._run_checked(servo, packet, now)
        except RegisterError as problem:
            return int(problem.error), b""
        except ins.ParameterLayoutError:
            return int(StatusError.DATA_LENGTH), b""

    def _run_checked(self, servo: EmulatedServo, packet: Packet, now: float) -> bytes:
        parameters = packet.parameters
        match packet.instruction:
            case Instruction.PING:
                return bytes(servo.registers.data[0:2] + servo.registers.data[6:7])
            case Instruction.READ:
                read = ins.parse_read(packet.id, parameters)
                return servo.registers.read(read.address, read.length)
            case Instruction.WRITE:
                write = ins.parse_write(packet.id, parameters)
                servo.write(write.address, write.data, now)
            case Instruction.REG_WRITE:
                write = ins.parse_write(packet.id, parameters)
                servo.register_write(write.address, write.data)
            case Instruction.ACTION:
                servo.action(now)
            case Instruction.REBOOT:
                servo.reboot(now)
            case Instruction.CLEAR:
                servo.clear_turns(parameters)
            case Instruction.FACTORY_RESET:
                servo.factory_reset(parameters, now)
            case _:
                raise RegisterError(
                    StatusError.INSTRUCTION, f"instruction 0x{packet.instruction:02x}"
                )
        return b""

    # ---- many servos

    def _broadcast(self, packet: Packet, listeners: list[EmulatedServo], now: float) -> list[Reply]:
        match packet.instruction:
            case Instruction.PING:
                return self._ping_all(packet, listeners, now)
            case Instruction.SYNC_READ:
                return self._read_each(ins.parse_sync_read(packet.parameters), listeners)
            case Instruction.BULK_READ:
                return self._read_each(ins.parse_bulk_read(packet.parameters), listeners)
            case Instruction.FAST_SYNC_READ:
                return self._read_fast(ins.parse_sync_read(packet.parameters), listeners)
            case Instruction.FAST_BULK_READ:
                return self._read_fast(ins.parse_bulk_read(packet.parameters), listeners)
            case Instruction.SYNC_WRITE:
                self._write_each(ins.parse_sync_write(packet.parameters), listeners, now)
            case Instruction.BULK_WRITE:
                self._write_each(ins.parse_bulk_write(packet.parameters), listeners, now)
            case Instruction.READ:
                pass  # e-manual: not executed when broadcast
            case Instruction.FACTORY_RESET if packet.parameters == bytes((ins.RESET_ALL,)):
                pass  # e-manual: would give every servo the same id
            case _:
                for servo in listeners:
                    self._run(servo, packet, now)
        return []

    def _ping_all(self, packet: Packet, listeners: list[EmulatedServo], now: float) -> list[Reply]:
        replies: list[Reply] = []
        for servo_id in sorted({s.id for s in listeners}):
            frames = [
                (s, status_packet(servo_id, s.alert, self._run(s, packet, now)[1]))
                for s in listeners
                if s.id == servo_id
            ]
            replies += self._slot(servo_id, frames)
        return replies

    def _read_each(
        self, requests: list[ReadRequest], listeners: list[EmulatedServo]
    ) -> list[Reply]:
        replies: list[Reply] = []
        for request in requests:
            frames = []
            for servo in listeners:
                if servo.id != request.id or servo.registers.get("status_return_level") < 1:
                    continue
                error, data = _read(servo, request)
                frames.append((servo, status_packet(servo.id, error | servo.alert, data)))
            replies += self._slot(request.id, frames)
        return replies

    def _read_fast(
        self, requests: list[ReadRequest], listeners: list[EmulatedServo]
    ) -> list[Reply]:
        """Build the shared status: each servo adds its block after the one before it has spoken.

        A servo that is missing or too old breaks the chain: those after it wait in vain.
        """
        body = bytearray()
        blocks_length = sum(4 + r.length for r in requests)
        if blocks_length >= MAX_LENGTH:
            return []  # no packet could carry it
        head = fast_status_header(blocks_length)
        crc = crc16(head)
        delay: float | None = None
        for request in requests:
            blocks = []
            for servo in listeners:
                if servo.id == request.id and servo.supports_fast_read:
                    error, data = _read(servo, request)
                    data = data or bytes(request.length)
                    blocks.append(bytes((error | servo.alert, servo.id)) + data)
                    delay = servo.return_delay if delay is None else delay
            if not blocks:
                break
            block = collide(blocks)
            self.counters.collisions += len(blocks) > 1
            crc = crc16(block, crc)
            block += crc.to_bytes(2, "little")
            crc = crc16(block[-2:], crc)
            body += block
        if body:
            return [Reply(BROADCAST_ID, head + bytes(body), delay or 0.0)]
        replies: list[Reply] = []
        for request in requests:
            frames = [
                (s, status_packet(s.id, StatusError.INSTRUCTION | s.alert))
                for s in listeners
                if s.id == request.id and s.config.refuses_unknown_broadcast
            ]
            replies += self._slot(request.id, frames)
        return replies

    def _write_each(
        self, requests: list[WriteRequest], listeners: list[EmulatedServo], now: float
    ) -> None:
        for request in requests:
            for servo in listeners:
                if servo.id == request.id:
                    self._write(servo, request, now)

    @staticmethod
    def _write(servo: EmulatedServo, request: WriteRequest, now: float) -> None:
        """Write without an answer: what the servo refuses is lost silently."""
        try:
            servo.write(request.address, request.data, now)
        except RegisterError:
            return

    def _slot(self, servo_id: int, frames: list[tuple[EmulatedServo, bytes]]) -> list[Reply]:
        """Return the reply of every servo that answers in one time slot (none, one, collision)."""
        if not frames:
            return []
        self.counters.collisions += len(frames) > 1
        delay = max(servo.return_delay for servo, _ in frames)
        return [Reply(servo_id, collide([frame for _, frame in frames]), delay)]


def _read(servo: EmulatedServo, request: ReadRequest) -> tuple[int, bytes]:
    try:
        return 0, servo.registers.read(request.address, request.length)
    except RegisterError as problem:
        return int(problem.error), b""


def _writes_goals(packet: Packet) -> bool:
    """Whether the packet only sets goals, so that nobody looks at readings because of it."""
    if packet.instruction != Instruction.SYNC_WRITE or len(packet.parameters) < 2:
        return False
    return packet.parameters[0] | packet.parameters[1] << 8 >= _GOAL_BLOCK
