# SPDX-License-Identifier: Apache-2.0
"""Dynamixel Protocol 2.0 servos on one half-duplex wire: instructions in, status packets out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence

from na_sim.dynamixel import instructions as ins
from na_sim.dynamixel.emulated_servo import EmulatedServo
from na_sim.dynamixel.instructions import ALERT, Instruction, ReadRequest, StatusError, WriteRequest
from na_sim.dynamixel.packet import (
    BROADCAST_ID,
    MAX_LENGTH,
    Packet,
    PacketParser,
    crc16,
    fast_status_header,
    status_packet,
)
from na_sim.dynamixel.servo_config import ServoConfig
from na_sim.dynamixel.servo_registers import RegisterError
from na_sim.plant_interface import ArmPlant
from na_sim.wire.emulated_bus import EmulatedBus
from na_sim.wire.exchange import Reply, collide
from na_sim.wire.plant_coupling import plant_row
from na_sim.wire.wire_faults import WireFaults

RAM_BEGINS = 64  # registers before it are EEPROM
_GOAL_BLOCK = 100  # goals begin here; writes above it need no fresh readings

# Smallest status_return_level that lets an instruction be answered.
_LEVEL = {Instruction.PING: 0, Instruction.READ: 1}


class BusEmulator(EmulatedBus[EmulatedServo]):
    """Protocol 2.0 servos in front of a plant; see EmulatedBus.

    Servo i drives row i of the plant unless its configuration says otherwise; a servo past the
    last row has no shaft.
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
        super().__init__(
            [
                EmulatedServo(config, plant_row(config.plant_index, place, plant))
                for place, config in enumerate(servos)
            ],
            PacketParser(),
            plant,
            clock=clock,
            faults=faults,
            max_catch_up=max_catch_up,
        )

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
                frames.append((servo, self._status(servo, packet.id, error, parameters, now)))
        if packet.instruction == Instruction.WRITE:
            self._write_secondary(packet, listeners, now)
        return self._slot(packet.id, frames)

    def _write_secondary(self, packet: Packet, listeners: list[EmulatedServo], now: float) -> None:
        """Apply a write addressed to a secondary id: RAM only, never answered."""
        request = ins.parse_write(packet.id, packet.parameters)
        for servo in listeners:
            secondary = servo.registers.get("secondary_id")
            if servo.id != packet.id == secondary and request.address >= RAM_BEGINS:
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
                data = servo.registers.read(read.address, read.length)
                return self.faults.served(servo.id, read.address, data, now)
            case Instruction.WRITE:
                write = ins.parse_write(packet.id, parameters)
                if write.address < RAM_BEGINS and self.faults.eeprom_locked(servo.id, now):
                    raise RegisterError(StatusError.ACCESS, f"servo {servo.id}: EEPROM is locked")
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
                return self._read_each(ins.parse_sync_read(packet.parameters), listeners, now)
            case Instruction.BULK_READ:
                return self._read_each(ins.parse_bulk_read(packet.parameters), listeners, now)
            case Instruction.FAST_SYNC_READ:
                return self._read_fast(ins.parse_sync_read(packet.parameters), listeners, now)
            case Instruction.FAST_BULK_READ:
                return self._read_fast(ins.parse_bulk_read(packet.parameters), listeners, now)
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
                (s, self._status(s, servo_id, 0, self._run(s, packet, now)[1], now))
                for s in listeners
                if s.id == servo_id
            ]
            replies += self._slot(servo_id, frames)
        return replies

    def _read_each(
        self, requests: list[ReadRequest], listeners: list[EmulatedServo], now: float
    ) -> list[Reply]:
        replies: list[Reply] = []
        for request in requests:
            frames = []
            for servo in listeners:
                if servo.id != request.id or servo.registers.get("status_return_level") < 1:
                    continue
                error, data = self._read(servo, request, now)
                frames.append((servo, self._status(servo, servo.id, error, data, now)))
            replies += self._slot(request.id, frames)
        return replies

    def _read_fast(
        self, requests: list[ReadRequest], listeners: list[EmulatedServo], now: float
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
                if servo.id == request.id and self._knows_fast_reads(servo, now):
                    error, data = self._read(servo, request, now)
                    error = self.faults.status_error(servo.id, error, now)
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

    def _status(
        self, servo: EmulatedServo, packet_id: int, error: int, data: bytes, now: float
    ) -> bytes:
        """Return a status packet; one that reports an error carries no data."""
        error = self.faults.status_error(servo.id, error, now)
        return status_packet(packet_id, error | servo.alert, b"" if error & ~ALERT else data)

    def _read(self, servo: EmulatedServo, request: ReadRequest, now: float) -> tuple[int, bytes]:
        try:
            data = servo.registers.read(request.address, request.length)
        except RegisterError as problem:
            return int(problem.error), b""
        return 0, self.faults.served(servo.id, request.address, data, now)

    def _knows_fast_reads(self, servo: EmulatedServo, now: float) -> bool:
        return servo.supports_fast_read and self.faults.knows_fast_reads(servo.id, now)


def _writes_goals(packet: Packet) -> bool:
    """Whether the packet only sets goals, so that nobody looks at readings because of it."""
    if packet.instruction != Instruction.SYNC_WRITE or len(packet.parameters) < 2:
        return False
    return packet.parameters[0] | packet.parameters[1] << 8 >= _GOAL_BLOCK
