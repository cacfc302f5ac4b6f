# SPDX-License-Identifier: Apache-2.0
"""Faults of servos and supply: restarts, latched errors, encoders that lie, odd firmware."""

from __future__ import annotations

from dataclasses import dataclass, field

from na_sim.faults.effect import Effect, FaultTarget
from na_sim.plant_interface import ServoReadings

COUNTS_PER_TURN = 4096
OVERHEATING, OVERLOAD = 0x04, 0x20  # the same bits in both families


@dataclass
class StatusError(Effect):
    """Every status packet carries error `code`: a Dynamixel error number, or Feetech's bits."""

    code: int = 1

    def __post_init__(self) -> None:
        if not 0 < self.code <= 0xFF:
            raise ValueError(f"code {self.code}: expected 1 to 255")

    def status_error(self, servo_id: int, error: int, now: float) -> int:
        """Report the error."""
        return error | self.code if self.concerns(servo_id) else error


@dataclass
class BrownOut(Effect):
    """The supply fails for a moment: every servo restarts, torque off, RAM lost."""

    def begin(self, target: FaultTarget) -> None:
        """Restart all servos, whatever `ids` says: they share the supply."""
        target.bus.brown_out()


@dataclass
class ErrorBits(Effect):
    """Hardware error `bits` are present; those that switch a servo off stay until it restarts."""

    bits: int = OVERLOAD

    def __post_init__(self) -> None:
        if not 0 < self.bits <= 0xFF:
            raise ValueError(f"bits {self.bits}: expected 1 to 255")

    def begin(self, target: FaultTarget) -> None:
        """Make the cause present."""
        for id in self.chosen(target):
            target.bus.inject_hardware_error(id, self.bits)

    def end(self, target: FaultTarget) -> None:
        """Take the cause away."""
        for id in self.chosen(target):
            target.bus.inject_hardware_error(id, 0)


@dataclass
class OverloadLatch(ErrorBits):
    """A servo has given up under load and stays off until it restarts."""

    bits: int = OVERLOAD


@dataclass
class OverheatLatch(ErrorBits):
    """A servo has given up hot and stays off until it restarts."""

    bits: int = OVERHEATING


@dataclass
class EncoderWrap(Effect):
    """The reported position jumps by `turns` while the shaft stays where it is."""

    turns: int = 1

    def begin(self, target: FaultTarget) -> None:
        """Add the turns."""
        for id in self.chosen(target):
            target.bus.set_report_offset(id, COUNTS_PER_TURN * self.turns)

    def end(self, target: FaultTarget) -> None:
        """Report the true position again."""
        for id in self.chosen(target):
            target.bus.set_report_offset(id, 0)


@dataclass
class MultiTurn(EncoderWrap):
    """The servo counts turns, and is some turns away from where it should be."""

    turns: int = -3


@dataclass
class PowerOnTurn(EncoderWrap):
    """After a restart of all servos the position comes back in another turn (2π ambiguity)."""

    def begin(self, target: FaultTarget) -> None:
        """Restart, then add the turns."""
        target.bus.brown_out()
        super().begin(target)


@dataclass
class ReturnDelay(Effect):
    """The servos wait `microseconds` before they answer (factory value 500)."""

    microseconds: int = 500

    def begin(self, target: FaultTarget) -> None:
        """Set the register, as another program would have."""
        for id in self.chosen(target):
            target.bus.servo(id).registers.put("return_delay_time", self.microseconds // 2)


@dataclass
class StuckEncoder(Effect):
    """The position sensor shows one value for ever; clock, current and voltage go on."""

    _held: dict[int, int] = field(default_factory=dict, init=False, repr=False)
    _rows: dict[int, int] = field(default_factory=dict, init=False, repr=False)

    def begin(self, target: FaultTarget) -> None:
        """Learn which rows of the plant are concerned."""
        self._held.clear()
        self._rows = {
            id: target.bus.servo(id).index
            for id in self.chosen(target)
            if target.bus.servo(id).index is not None
        }

    def readings(self, readings: ServoReadings, now: float) -> ServoReadings:
        """Hold the positions of the first call."""
        held = readings.copy()
        for row in self._rows.values():
            position = int(readings.present_position[row])
            held.present_position[row] = self._held.setdefault(row, position)
            held.present_velocity[row] = 0
        return held


@dataclass
class RepeatedValues(Effect):
    """The servos answer every read with what they answered first, their own clock included."""

    _answers: dict[tuple[int, int, int], bytes] = field(
        default_factory=dict, init=False, repr=False
    )

    def begin(self, target: FaultTarget) -> None:
        """Forget earlier answers."""
        self._answers.clear()

    def served(self, servo_id: int, address: int, data: bytes, now: float) -> bytes:
        """Answer as the first time."""
        if not self.concerns(servo_id) or len(data) < 8:  # single registers are looked up anew
            return data
        return self._answers.setdefault((servo_id, address, len(data)), data)


@dataclass
class EepromLocked(Effect):
    """Settings in EEPROM cannot be changed: refused (Dynamixel) or dropped silently (Feetech)."""

    def eeprom_locked(self, servo_id: int, now: float) -> bool:
        """Lock the servos concerned."""
        return self.concerns(servo_id)


@dataclass
class NoFastReads(Effect):
    """Old firmware: no fast sync read (Dynamixel), no sync read (Feetech)."""

    def knows_fast_reads(self, servo_id: int, now: float) -> bool:
        """Deny it."""
        return not self.concerns(servo_id)
