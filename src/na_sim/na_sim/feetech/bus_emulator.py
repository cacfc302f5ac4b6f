# SPDX-License-Identifier: Apache-2.0
"""Feetech STS servos on one half-duplex wire: instructions in, status packets out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence

from na_sim.feetech.emulated_servo import EmulatedFeetechServo
from na_sim.feetech.packet import BROADCAST_ID, Instruction, Packet, PacketParser, frame
from na_sim.feetech.servo_config import FeetechServoConfig
from na_sim.plant_interface import ArmPlant
from na_sim.wire.emulated_bus import EmulatedBus
from na_sim.wire.exchange import Reply
from na_sim.wire.plant_coupling import plant_row
from na_sim.wire.wire_faults import WireFaults

# Instructions that are answered whatever status_return_level says.
_ALWAYS_ANSWERED = (Instruction.PING, Instruction.READ, Instruction.SYNC_READ)


class FeetechBusEmulator(EmulatedBus[EmulatedFeetechServo]):
    """STS servos in front of a plant; see EmulatedBus.

    Servo i drives row i of the plant unless its configuration says otherwise; a servo past the
    last row has no shaft.
    """

    def __init__(
        self,
        servos: Sequence[FeetechServoConfig],
        plant: ArmPlant,
        *,
        clock: Callable[[], float] = time.monotonic,
        faults: WireFaults | None = None,
        max_catch_up: float | None = None,
    ) -> None:
        self._packets = PacketParser()
        super().__init__(
            [
                EmulatedFeetechServo(config, plant_row(config.plant_index, place, plant))
                for place, config in enumerate(servos)
            ],
            self._packets,
            plant,
            clock=clock,
            faults=faults,
            max_catch_up=max_catch_up,
        )

    def _execute(
        self, packet: Packet, listeners: list[EmulatedFeetechServo], now: float
    ) -> Iterable[Reply]:
        self.counters.crc_errors = self._packets.errors
        self.counters.packets += 1
        self._coupling.advance(now)
        self._coupling.refresh(now)
        for servo in listeners:
            servo.last_heard = now
        if packet.code == Instruction.SYNC_READ:
            replies = self._sync_read(packet.parameters, listeners, now)
        elif packet.code == Instruction.SYNC_WRITE:
            self._sync_write(packet.parameters, listeners, now)
            return ()
        elif packet.id == BROADCAST_ID:
            replies = self._broadcast(packet, listeners, now)
        else:
            replies = self._unicast(packet, listeners, now)
        self.counters.replies += len(replies)
        return replies

    def _unicast(
        self, packet: Packet, listeners: list[EmulatedFeetechServo], now: float
    ) -> list[Reply]:
        frames = []
        for servo in listeners:
            if servo.id != packet.id:
                continue
            level = servo.registers.get("status_return_level")
            data = self._run(servo, packet, now)
            if data is not None and (level or packet.code in _ALWAYS_ANSWERED):
                frames.append((servo, self._status(servo, packet.id, data, now)))
        return self._slot(packet.id, frames)

    def _broadcast(
        self, packet: Packet, listeners: list[EmulatedFeetechServo], now: float
    ) -> list[Reply]:
        """Carry out for all; only a ping is answered, one id after the other."""
        replies: list[Reply] = []
        for servo_id in sorted({servo.id for servo in listeners}):
            frames = []
            for servo in listeners:
                if servo.id == servo_id:
                    data = self._run(servo, packet, now)
                    if packet.code == Instruction.PING and data is not None:
                        frames.append((servo, self._status(servo, servo_id, data, now)))
            replies += self._slot(servo_id, frames)
        return replies

    def _run(self, servo: EmulatedFeetechServo, packet: Packet, now: float) -> bytes | None:
        """Carry out an instruction; return the data of its status, None for no answer."""
        parameters = packet.parameters
        match packet.code:
            case Instruction.PING:
                return b""
            case Instruction.READ if len(parameters) == 2:
                data = servo.registers.read(parameters[0], parameters[1])
                return self.faults.served(servo.id, parameters[0], data, now)
            case Instruction.WRITE if len(parameters) >= 2:
                servo.write(parameters[0], parameters[1:], eeprom_locked=self._locked(servo, now))
            case Instruction.REG_WRITE if len(parameters) >= 2:
                servo.register_write(parameters[0], parameters[1:])
            case Instruction.ACTION:
                servo.action()
            case _:
                return None
        return b""

    def _sync_read(
        self, parameters: bytes, listeners: list[EmulatedFeetechServo], now: float
    ) -> list[Reply]:
        if len(parameters) < 3:
            return []
        address, length, ids = parameters[0], parameters[1], parameters[2:]
        replies: list[Reply] = []
        for wanted in ids:
            frames = []
            for servo in listeners:
                if servo.id != wanted or not self._knows_sync_read(servo, now):
                    continue
                data = servo.registers.read(address, length)
                data = self.faults.served(servo.id, address, data, now)
                frames.append((servo, self._status(servo, servo.id, data, now)))
            replies += self._slot(wanted, frames)
        return replies

    def _sync_write(
        self, parameters: bytes, listeners: list[EmulatedFeetechServo], now: float
    ) -> None:
        if len(parameters) < 3:
            return
        address, step = parameters[0], parameters[1] + 1
        rest = parameters[2:]
        if step < 2 or len(rest) % step:
            return
        for at in range(0, len(rest), step):
            for servo in listeners:
                if servo.id == rest[at]:
                    servo.write(
                        address,
                        rest[at + 1 : at + step],
                        eeprom_locked=self._locked(servo, now),
                    )

    def _locked(self, servo: EmulatedFeetechServo, now: float) -> bool:
        return self.faults.eeprom_locked(servo.id, now)

    def _knows_sync_read(self, servo: EmulatedFeetechServo, now: float) -> bool:
        return servo.config.knows_sync_read and self.faults.knows_fast_reads(servo.id, now)

    def _status(
        self, servo: EmulatedFeetechServo, packet_id: int, data: bytes, now: float
    ) -> bytes:
        """Return a status packet; the error bits do not keep the data back."""
        return frame(packet_id, self.faults.status_error(servo.id, servo.error, now), data)
