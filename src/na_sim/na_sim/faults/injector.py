# SPDX-License-Identifier: Apache-2.0
"""The faults that are active now, one after the other on every path of the wire."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from na_sim.faults.effect import Effect
from na_sim.plant_interface import ServoReadings
from na_sim.wire.wire_faults import Transmission, WireFaults


class FaultInjector(WireFaults):
    """Passes everything through the active faults; without any it changes nothing.

    Faults may be added and removed from any thread: the list is replaced, never altered.
    """

    def __init__(self) -> None:
        self.active: tuple[Effect, ...] = ()

    def add(self, effect: Effect) -> None:
        """Let a fault have its way from now on."""
        self.active = (*self.active, effect)

    def remove(self, effect: Effect) -> None:
        """Take a fault out; nothing happens when it is not active."""
        self.active = tuple(e for e in self.active if e is not effect)

    def incoming(self, data: bytes, now: float) -> bytes:
        """Return what the servos hear."""
        for effect in self.active:
            data = effect.incoming(data, now)
        return data

    def silent(self, servo_id: int, now: float) -> bool:
        """Return whether any fault mutes the servo."""
        return any(effect.silent(servo_id, now) for effect in self.active)

    def readings(self, readings: ServoReadings, now: float) -> ServoReadings:
        """Return what the sensors report."""
        for effect in self.active:
            readings = effect.readings(readings, now)
        return readings

    def served(self, servo_id: int, address: int, data: bytes, now: float) -> bytes:
        """Return what a read is answered with."""
        for effect in self.active:
            data = effect.served(servo_id, address, data, now)
        return data

    def status_error(self, servo_id: int, error: int, now: float) -> int:
        """Return the error field of a status."""
        for effect in self.active:
            error = effect.status_error(servo_id, error, now)
        return error

    def eeprom_locked(self, servo_id: int, now: float) -> bool:
        """Return whether any fault locks the servo's EEPROM."""
        return any(effect.eeprom_locked(servo_id, now) for effect in self.active)

    def knows_fast_reads(self, servo_id: int, now: float) -> bool:
        """Return whether no fault denies fast reads."""
        return all(effect.knows_fast_reads(servo_id, now) for effect in self.active)

    def outgoing(self, servo_id: int, data: bytes, now: float) -> Sequence[Transmission]:
        """Return what reaches the wire, delays added up."""
        sent: Sequence[Transmission] = (Transmission(data),)
        for effect in self.active:
            sent = [
                replace(later, delay=earlier.delay + later.delay)
                for earlier in sent
                for later in effect.outgoing(servo_id, earlier.data, now)
            ]
        return sent
