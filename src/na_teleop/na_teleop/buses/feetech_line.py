# SPDX-License-Identifier: Apache-2.0
"""Transactions on a Feetech line: ping, read, write, sync read and write, bounded retries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from scservo_sdk import COMM_SUCCESS

from na_core.control_tables import FEETECH_STS, Register
from na_teleop.buses.base import BusCounters
from na_teleop.buses.errors import PortError, PortProblem
from na_teleop.buses.feetech_packets import (
    BROADCAST,
    INST_PING,
    MIN_STATUS,
    Status,
    StatusScanner,
    packet_handler,
)
from na_teleop.buses.port import QUIET_GAP_S, SerialPort

ATTEMPTS = 3  # tries of one register access
RETURN_DELAY_S = 0.0005  # a servo's longest return delay, its factory default


class FeetechLine:
    """One port with STS servos on it, in ids and raw register values.

    scservo_sdk forms and sends the packets; replies are picked out here by id. Unlike a
    Dynamixel, a servo does not refuse a write: it drops what it does not like, so that whoever
    must be sure reads back. No method writes to a servo except `write` and `sync_write`.
    """

    def __init__(self, port: SerialPort, counters: BusCounters) -> None:
        """Use an open or still closed `port`; add to `counters`."""
        self.port = port
        self.counters = counters
        self._packets = packet_handler()

    # -- one servo -----------------------------------------------------------------------

    def ping(self, id: int, attempts: int = ATTEMPTS) -> tuple[int, int] | None:
        """Return (model number, firmware) of servo `id`, or None when it is silent.

        Firmware 3.10 is told as 310.
        """
        address = FEETECH_STS["firmware_major_version"].address
        model = FEETECH_STS["model_number"]
        try:
            data = self.read_bytes(id, address, model.end - address, attempts=attempts)
        except PortError as error:
            if error.port_is_gone:
                raise
            return None
        return model.decode(data[-model.size :]), 100 * data[0] + data[1]

    def set_baud(self, baud: int) -> None:
        """Talk at another rate [bit/s] from now on; PortError when the port cannot."""
        self.port.setBaudRate(baud)

    def overhear(self, id: int, address: int, length: int) -> tuple[list[Status], int]:
        """Read once from `id` and return every intact reply, and how many bytes were heard.

        More than one reply, or bytes without any intact one, means that servos share the id.
        """
        self._send(self._packets.readTx(self.port, id, address, length), id)
        time_s = self.port.wire_time_s(3 * (MIN_STATUS + length)) + self.port.latency_s
        heard = self.port.listen(time_s)
        self.port.is_using = False
        return [s for s in StatusScanner({length}).feed(heard) if s.id == id], len(heard)

    def broadcast_ping(self, longest_s: float = 0.3) -> dict[int, tuple[int, int]]:
        """Ask who is there: id → (model number, firmware)."""
        packet = [0] * 6
        packet[2], packet[3], packet[4] = BROADCAST, 2, INST_PING
        self._send(self._packets.txPacket(self.port, packet), None)
        heard = self.port.listen(longest_s, gap_s=longest_s)
        self.port.is_using = False
        answers = {s.id: self.ping(s.id) for s in StatusScanner({0}).feed(heard)}
        return {id: answer for id, answer in answers.items() if answer is not None}

    def read_bytes(
        self, id: int, address: int, length: int, *, name: str = "", attempts: int = ATTEMPTS
    ) -> bytes:
        """Return `length` bytes of servo `id`; PortError when no intact reply came."""
        corrupt_before = self.counters.corrupt_packets
        for attempt in range(attempts):
            if attempt:
                self.counters.register_retries += 1
            self._send(self._packets.readTx(self.port, id, address, length), id)
            reply = self._collect({id}, length).get(id)
            if reply is not None:
                self._drain(attempt)
                return reply.data
        raise self._silence(id, name, attempts, self.counters.corrupt_packets > corrupt_before)

    def read_once(self, id: int, address: int, length: int) -> dict[int, Status]:
        """Ask servo `id` once; return its reply by id, nothing when there is no intact one."""
        self._send(self._packets.readTx(self.port, id, address, length), id)
        return self._collect({id}, length)

    def read(self, id: int, register: Register, *, attempts: int = ATTEMPTS) -> int:
        """Return the value of one register, signed where the register is."""
        data = self.read_bytes(
            id, register.address, register.size, name=register.name, attempts=attempts
        )
        return register.decode(data)

    def write(self, id: int, register: Register, value: int, *, attempts: int = ATTEMPTS) -> None:
        """Write one register and wait for the acknowledgement, which does not say "accepted".

        ValueError when the value does not fit the register.
        """
        if not register.in_range(value):
            raise ValueError(
                f"{register.name} of servo {id}: {value}, expected {register.minimum} to "
                f"{register.maximum}"
            )
        corrupt_before = self.counters.corrupt_packets
        data = list(register.encode(value))
        for attempt in range(attempts):
            if attempt:
                self.counters.register_retries += 1
            self._send(
                self._packets.writeTxOnly(self.port, id, register.address, register.size, data), id
            )
            if id in self._collect({id}, 0):
                self._drain(attempt)
                return
        raise self._silence(
            id, register.name, attempts, self.counters.corrupt_packets > corrupt_before
        )

    # -- all servos at once --------------------------------------------------------------

    def sync_read(self, ids: Iterable[int], address: int, length: int) -> dict[int, Status]:
        """Ask all `ids` with one packet, once; return the intact replies by id."""
        wanted = list(ids)
        result = self._packets.syncReadTx(self.port, address, length, wanted, len(wanted))
        self._send(result, None)
        return self._collect(set(wanted), length)

    def sync_write(self, register: Register, values: Mapping[int, int]) -> None:
        """Write one register of several servos with one packet; not acknowledged."""
        parameters: list[int] = []
        for id, value in values.items():
            parameters += [id, *register.encode(value)]
        result = self._packets.syncWriteTxOnly(
            self.port, register.address, register.size, parameters, len(parameters)
        )
        self._send(result, None)
        self.port.is_using = False

    # -- bytes ---------------------------------------------------------------------------

    def _send(self, result: int, id: int | None) -> None:
        if result == COMM_SUCCESS:
            return
        self.port.is_using = False
        raise PortError(
            f"port {self.port.path}: the instruction could not be sent "
            f"({self._packets.getTxRxResult(result)})",
            problem=PortProblem.LOST,
            port=self.port.path,
            id=id,
            remedy="The line does not accept bytes: check adapter and cable",
        )

    def _collect(self, wanted: set[int], length: int) -> dict[int, Status]:
        """Gather one reply of `length` data bytes per wanted id until time runs out."""
        port = self.port
        scanner = StatusScanner({length})
        missing = set(wanted)
        replies: dict[int, Status] = {}
        size = (MIN_STATUS + length) * len(wanted)
        wire_s = port.wire_time_s(size)
        gap_s = max(QUIET_GAP_S, port.latency_s / 2.0)
        port.setPacketTimeoutMillis(
            1000.0 * (wire_s + len(wanted) * RETURN_DELAY_S + port.latency_s)
        )
        # Damaged packets still have their length: once as many bytes came as were asked for,
        # there is nothing more to wait for.
        while missing and scanner.received < size:
            chunk = port.readPort(4096)
            if not chunk:
                break
            for status in scanner.feed(chunk):
                if status.id in missing:
                    missing.discard(status.id)
                    replies[status.id] = status
            port.shorten_timeout(gap_s + wire_s)
        self.counters.damaged_packets += scanner.damaged
        self.counters.corrupt_packets += scanner.damaged + scanner.finish()
        port.is_using = False
        return replies

    def _drain(self, attempt: int) -> None:
        """After a retry, let the answer to the first try arrive and be forgotten."""
        if attempt:
            self.port.listen(self.port.latency_s, gap_s=self.port.latency_s)

    def _silence(self, id: int, name: str, attempts: int, garbled: bool) -> PortError:
        heard = "only garbled replies" if garbled else "no reply"
        return PortError(
            f"servo {id} on {self.port.path}: {heard} to {name or 'a read'} "
            f"in {attempts} attempts at {self.port.baudrate} baud",
            problem=PortProblem.CORRUPT if garbled else PortProblem.NO_REPLY,
            port=self.port.path,
            id=id,
            register=name or None,
            attempts=attempts,
            remedy="Check supply, cable and id; run the preflight for a full report",
        )
