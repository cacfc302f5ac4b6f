# SPDX-License-Identifier: Apache-2.0
"""Where faults are injected between controller and servos; this base class injects none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from na_sim.plant_interface import ServoReadings


@dataclass(frozen=True, slots=True)
class Transmission:
    """Bytes that a servo puts on the wire `delay` seconds after it otherwise would."""

    data: bytes
    delay: float = 0.0


class WireFaults:
    """Hooks on every path of the emulator, in the order they are called; override to misbehave.

    Times are the emulator's clock in seconds. Hooks run under the emulator's lock: they must be
    quick and must not call back into it. State changes (brown-out, latched errors, a servo gone
    silent, an unplugged cable) have methods of their own on the emulator and on the port.
    """

    def incoming(self, data: bytes, now: float) -> bytes:
        """Return what the servos hear of `data` sent by the controller."""
        return data

    def silent(self, servo_id: int, now: float) -> bool:
        """Return whether the servo neither hears nor answers at `now`."""
        return False

    def readings(self, readings: ServoReadings, now: float) -> ServoReadings:
        """Return what the sensors report of the plant's `readings`, one entry per servo."""
        return readings

    def served(self, servo_id: int, address: int, data: bytes, now: float) -> bytes:
        """Return what the servo answers to a read of `data` at `address`, the same length."""
        return data

    def status_error(self, servo_id: int, error: int, now: float) -> int:
        """Return the error field that the servo puts into its status instead of `error`."""
        return error

    def eeprom_locked(self, servo_id: int, now: float) -> bool:
        """Return whether the servo's EEPROM cannot be written at `now`."""
        return False

    def knows_fast_reads(self, servo_id: int, now: float) -> bool:
        """Return whether its firmware knows reads with a shared status, if the model has them."""
        return True

    def outgoing(self, servo_id: int, data: bytes, now: float) -> Sequence[Transmission]:
        """Return what reaches the wire of the status `data` (0xFE for a fast read)."""
        return (Transmission(data),)
