# SPDX-License-Identifier: Apache-2.0
"""For tests: a controller that talks to the bus in-process."""

from __future__ import annotations

from dataclasses import dataclass

from na_sim.dynamixel.bus_emulator import BusEmulator
from na_sim.dynamixel.packet import BROADCAST_ID, PacketParser, instruction_packet


@dataclass(frozen=True)
class Status:
    """A status packet taken apart; `error` includes the alert bit."""

    id: int
    error: int
    data: bytes


class InProcessController:
    """Sends instructions to a bus without a port and takes the answers apart."""

    def __init__(self, bus: BusEmulator, baud: int | None = None) -> None:
        self.bus = bus
        self.baud = baud

    def raw(self, data: bytes) -> bytes:
        """Send `data`; return every byte that comes back."""
        exchanges = self.bus.receive(data, self.baud)
        return b"".join(reply.data for exchange in exchanges for reply in exchange.replies)

    def send(self, servo_id: int, instruction: int, parameters: bytes = b"") -> list[Status]:
        """Send an instruction; return the status packets (fast reads: see `raw`)."""
        answer = self.raw(instruction_packet(servo_id, instruction, parameters))
        return [
            Status(p.id, p.parameters[0], p.parameters[1:])
            for p in PacketParser().feed(answer)
            if p.crc_ok
        ]

    def broadcast(self, instruction: int, parameters: bytes = b"") -> list[Status]:
        """Send an instruction to every servo."""
        return self.send(BROADCAST_ID, instruction, parameters)

    def one(self, servo_id: int, instruction: int, parameters: bytes = b"") -> Status:
        """Send an instruction that one servo answers; LookupError when it does not."""
        answers = self.send(servo_id, instruction, parameters)
        if len(answers) != 1:
            raise LookupError(f"servo {servo_id}: expected one status packet, got {answers}")
        return answers[0]

    def write(self, servo_id: int, name: str, value: int) -> int:
        """Write a register by name; return the error byte of the status packet."""
        register = self.bus.servo(servo_id).registers.table[name]
        address = register.address.to_bytes(2, "little")
        return self.one(servo_id, 0x03, address + register.encode(value)).error

    def read(self, servo_id: int, name: str) -> int:
        """Read a register by name; LookupError when the servo refuses."""
        register = self.bus.servo(servo_id).registers.table[name]
        where = register.address.to_bytes(2, "little") + register.size.to_bytes(2, "little")
        status = self.one(servo_id, 0x02, where)
        if len(status.data) != register.size:
            raise LookupError(f"servo {servo_id}: {name} answered with error {status.error}")
        return register.decode(status.data)
