# SPDX-License-Identifier: Apache-2.0
"""Transactions on a Dynamixel line: ping, read, write, sync read and write, bounded retries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from dynamixel_sdk import COMM_SUCCESS

from na_core.control_tables import Register
from na_teleop.buses.base import BusCounters
from na_teleop.buses.dynamixel_packets import (
    ALERT_BIT,
    BROADCAST,
    ERROR_TEXT,
    MIN_STATUS,
    PacketHandler,
    Status,
    StatusScanner,
    split_fast_reply,
)
from na_teleop.buses.errors import PortError, PortProblem, ServoError
from na_teleop.buses.port import QUIET_GAP_S, SerialPort

ATTEMPTS = 3  # tries of one register access
RETURN_DELAY_S = 0.0005  # a servo's longest return delay, its factory default
STUFFED_S = 0.001  # wait for bytes that stuffing may have added
PING_DATA = 3  # model number (2), firmware version (1)


class DynamixelLine:
    """One port with Protocol 2.0 servos on it, in ids and raw register values.

    dynamixel_sdk forms and sends the packets; replies are picked out here by id, so that one
    silent or damaged servo costs only itself. No method writes to a servo except `write`,
    `sync_write` and `reboot`.
    """

    def __init__(self, port: SerialPort, counters: BusCounters) -> None:
        """Use an open or still closed `port`; add to `counters`."""
        self.port = port
        self.counters = counters
        self._packets = PacketHandler()
        self.alerts: set[int] = set()  # ids whose last reply carried the alert bit

    # -- one servo -----------------------------------------------------------------------

    def ping(self, id: int, attempts: int = ATTEMPTS) -> tuple[int, int] | None:
        """Return (model number, firmware version) of servo `id`, or None when it is silent."""
        for _ in range(attempts):
            packet = [0] * 10
            packet[4], packet[5], packet[7] = id, 3, 0x01
            self._send(self._packets.txPacket(self.port, packet), id)
            replies = self._collect({id}, PING_DATA)
            if id in replies:
                data = replies[id].data
                return data[0] | data[1] << 8, data[2]
        return None

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
        scanner = StatusScanner(max_data=length)
        return [s for s in scanner.feed(heard) if s.id == id], len(heard)

    def broadcast_ping(self, longest_s: float = 0.8) -> dict[int, tuple[int, int]]:
        """Ask who is there: id → (model number, firmware version)."""
        packet = [0] * 10
        packet[4], packet[5], packet[7] = BROADCAST, 3, 0x01
        self._send(self._packets.txPacket(self.port, packet), None)
        # Servos answer in the order of their ids, each leaving room for the silent ones.
        heard = self.port.listen(longest_s, gap_s=longest_s)
        self.port.is_using = False
        replies = StatusScanner(max_data=PING_DATA).feed(heard)
        return {
            s.id: (s.data[0] | s.data[1] << 8, s.data[2])
            for s in replies
            if len(s.data) == PING_DATA
        }

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
                self._complain(reply, name, attempt + 1)
                return reply.data
        raise self._silence(id, name, attempts, self.counters.corrupt_packets > corrupt_before)

    def read(self, id: int, register: Register, *, attempts: int = ATTEMPTS) -> int:
        """Return the value of one register, signed where the register is."""
        data = self.read_bytes(
            id, register.address, register.size, name=register.name, attempts=attempts
        )
        return register.decode(data)

    def write(self, id: int, register: Register, value: int, *, attempts: int = ATTEMPTS) -> None:
        """Write one register and wait for the servo's acknowledgement."""
        corrupt_before = self.counters.corrupt_packets
        data = list(register.encode(value))
        for attempt in range(attempts):
            if attempt:
                self.counters.register_retries += 1
            self._send(
                self._packets.writeTxOnly(self.port, id, register.address, register.size, data), id
            )
            reply = self._collect({id}, 0).get(id)
            if reply is not None:
                self._drain(attempt)
                self._complain(reply, register.name, attempt + 1, value)
                return
        raise self._silence(
            id, register.name, attempts, self.counters.corrupt_packets > corrupt_before
        )

    def reboot(self, id: int) -> None:
        """Restart servo `id`; its reply, if any, is not waited for beyond the usual time."""
        packet = [0] * 10
        packet[4], packet[5], packet[7] = id, 3, 0x08
        self._send(self._packets.txPacket(self.port, packet), id)
        self._collect({id}, 0)

    # -- all servos at once --------------------------------------------------------------

    def sync_read(self, ids: Iterable[int], address: int, length: int) -> dict[int, Status]:
        """Ask all `ids` with one packet, once; return the intact replies by id."""
        wanted = list(ids)
        result = self._packets.syncReadTx(self.port, address, length, wanted, len(wanted), False)
        self._send(result, None)
        return self._collect(set(wanted), length)

    def fast_sync_read(self, ids: Iterable[int], address: int, length: int) -> dict[int, Status]:
        """Like `sync_read`, but the servos share one reply packet: all answer, or none."""
        wanted = list(ids)
        result = self._packets.syncReadTx(self.port, address, length, wanted, len(wanted), True)
        self._send(result, None)
        total = len(wanted) * (length + 4) - 3
        scanner = StatusScanner(max_data=total, stuffed=False)
        size = MIN_STATUS + total
        found = self._receive(scanner, size, len(wanted), lambda s: True, size)
        for status in found:
            if status.id == BROADCAST and len(status.data) == total:
                parts = {part.id: part for part in split_fast_reply(status, length)}
                if set(parts) == set(wanted):
                    self._note_alerts(parts.values())
                    return parts
        return {}

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
        scanner = StatusScanner(max_data=length)
        missing = set(wanted)
        replies: dict[int, Status] = {}

        def done(status: Status) -> bool:
            # The length tells a late reply to an earlier question from the one awaited.
            fits = len(status.data) == length or bool(status.error & ~ALERT_BIT)
            if status.id in missing and fits:
                missing.discard(status.id)
                replies[status.id] = status
            return not missing

        size = (MIN_STATUS + length + length // 3) * len(wanted)
        plain = (MIN_STATUS + length) * len(wanted)
        self._receive(scanner, size, len(wanted), done, plain)
        self._note_alerts(replies.values())
        return replies

    def _receive(
        self,
        scanner: StatusScanner,
        size: int,
        servos: int,
        done: Callable[[Status], bool],
        plain: int,
    ) -> list[Status]:
        """Feed the scanner until `done(status)` is true for one, silence, or time-out.

        `plain` bytes are all there is unless some are stuffed: once they are there the wait is
        short, damaged packets among them or not.
        """
        port = self.port
        gap_s = max(QUIET_GAP_S, port.latency_s / 2.0)
        port.setPacketTimeoutMillis(
            1000.0 * (port.wire_time_s(size) + servos * RETURN_DELAY_S + port.latency_s)
        )
        found: list[Status] = []
        finished = False
        while not finished:
            chunk = port.readPort(4096)
            if not chunk:
                break
            for status in scanner.feed(chunk):
                found.append(status)
                finished = done(status) or finished
            # After the first bytes the rest follows closely.
            enough = scanner.received >= plain
            port.shorten_timeout(STUFFED_S if enough else gap_s + port.wire_time_s(size))
        self.counters.corrupt_packets += scanner.finish()
        self.counters.damaged_packets += scanner.damaged
        port.is_using = False
        return found

    def _drain(self, attempt: int) -> None:
        """After a retry, let the answer to the first try arrive and be forgotten.

        It would otherwise pass for the answer to the next question of the same size.
        """
        if attempt:
            self.port.listen(self.port.latency_s, gap_s=self.port.latency_s)

    def _note_alerts(self, replies: Iterable[Status]) -> None:
        for status in replies:
            if status.error & ALERT_BIT:
                self.alerts.add(status.id)
            else:
                self.alerts.discard(status.id)

    # -- errors --------------------------------------------------------------------------

    def _complain(self, reply: Status, name: str, attempts: int, value: int | None = None) -> None:
        code = reply.error & ~ALERT_BIT
        if not code:
            return
        self.counters.servo_errors += 1
        doing = f"writing {value} to" if value is not None else "reading"
        raise ServoError(
            f"servo {reply.id} on {self.port.path} refused {doing} {name or 'its table'}: "
            f"{ERROR_TEXT.get(code, f'unknown error {code}')}",
            port=self.port.path,
            id=reply.id,
            register=name or None,
            attempts=attempts,
            remedy="Compare the register with the e-manual of the model"
            + ("; settings in EEPROM can only change while torque is off" if code == 7 else ""),
            code=code,
        )

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
