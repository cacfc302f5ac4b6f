# SPDX-License-Identifier: Apache-2.0
"""Servos on one half-duplex wire: bytes in, status packets out, physics advanced on demand."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from na_sim.plant_interface import ArmPlant
from na_sim.wire.exchange import Exchange, Reply, collide
from na_sim.wire.plant_coupling import PlantCoupling
from na_sim.wire.servo_interface import WireServo
from na_sim.wire.wire_faults import WireFaults

BYTE_GAP = 0.010  # s of silence that end an unfinished packet (see docs/emulator.md)
_BAUD_TOLERANCE = 0.03

ServoT = TypeVar("ServoT", bound=WireServo)


class Parser(Protocol):
    """Turns a byte stream into packets that have an attribute `consumed` (bytes on the wire)."""

    @property
    def pending(self) -> int:
        """Number of bytes kept back, waiting for the rest of a packet."""
        ...

    def reset(self) -> None:
        """Forget an unfinished packet."""
        ...

    def feed(self, data: bytes) -> Iterator[Any]:
        """Append `data` and yield every packet that is complete."""
        ...


@dataclass(slots=True)
class BusCounters:
    """What the servos have seen and said since the start."""

    packets: int = 0
    crc_errors: int = 0  # packets whose checksum did not match
    replies: int = 0
    collisions: int = 0
    resets: int = 0  # unfinished packets dropped after a gap


class EmulatedBus(ABC, Generic[ServoT]):
    """Servos in front of a plant; a protocol family adds its parser and `_execute`.

    `clock` gives seconds and only differences matter; it may be a fake. `max_catch_up` bounds how
    far [s] the plant is integrated at once: beyond it plant time slips (None: never). All methods
    may be called from any thread.
    """

    def __init__(
        self,
        servos: Sequence[ServoT],
        parser: Parser,
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
        self.servos = tuple(servos)
        self._lock = threading.RLock()
        self._parser = parser
        self._last_byte = float("-inf")
        now = clock()
        self._coupling = PlantCoupling(plant, self.servos, self.faults, now, max_catch_up)
        self._coupling.refresh(now)
        for servo in self.servos:
            servo.power_on(now)

    # ---- what tests, faults and the emulator node ask for

    def torque_enabled(self) -> dict[int, bool]:
        """Return whether torque is on, by servo id (any of them where an id is shared)."""
        with self._lock:
            answer: dict[int, bool] = {}
            for servo in self.servos:
                answer[servo.id] = answer.get(servo.id, False) or servo.torque_on
            return answer

    def servo(self, servo_id: int) -> ServoT:
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

    def set_report_offset(self, servo_id: int, counts: int) -> None:
        """Make a servo report its position `counts` away from where it is; 0 ends that."""
        with self._lock:
            self.servo(servo_id).report_offset = counts
            self._coupling.forget_readings()

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

    def _hears(self, servo: ServoT, host_baud: int | None, now: float) -> bool:
        if not servo.connected or now < servo.ready_at or self.faults.silent(servo.id, now):
            return False
        return host_baud is None or abs(host_baud - servo.baud) <= _BAUD_TOLERANCE * servo.baud

    @abstractmethod
    def _execute(self, packet: Any, listeners: list[ServoT], now: float) -> Iterable[Reply]:
        """Carry out one packet as the servos that hear it; return their answers in wire order."""

    def _slot(self, servo_id: int, frames: list[tuple[ServoT, bytes]]) -> list[Reply]:
        """Return the reply of every servo that answers in one time slot (none, one, collision)."""
        if not frames:
            return []
        self.counters.collisions += len(frames) > 1
        delay = max(servo.return_delay for servo, _ in frames)
        return [Reply(servo_id, collide([frame for _, frame in frames]), delay)]
