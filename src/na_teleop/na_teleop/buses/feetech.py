# SPDX-License-Identifier: Apache-2.0
"""Feetech STS servos of one arm: a heartbeat, one contiguous read and one goal write per tick.

Registers: FEETECH memory table of the STS3215 (na_core.control_tables.feetech_sts).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from na_core.control_tables import FEETECH_BAUD_RATES, FEETECH_STS
from na_core.robot_spec import RobotSpec
from na_teleop.buses.base import BoolArray, BusSample, TorqueOffReport
from na_teleop.buses.dynamixel_settings import Role, Setting
from na_teleop.buses.errors import ServoError
from na_teleop.buses.feetech_line import FeetechLine
from na_teleop.buses.feetech_packets import HARDWARE_ERROR_BITS, Status
from na_teleop.buses.feetech_reply import (
    FIELDS,
    READ_ADDRESS,
    READ_LENGTH,
    REPLY,
    Measured,
    decode,
    plausible,
)
from na_teleop.buses.feetech_settings import FULL_TORQUE, required_settings
from na_teleop.buses.noise_guard import NoiseGuard
from na_teleop.buses.patience import Patience
from na_teleop.buses.register_bus import RegisterBus

MULTI_TURN = (1 << 15) - 1  # largest position of a servo without limits [counts]
BEATS = 8  # heartbeat values: torque limit 1000, 999, … 993 (0.1 % of stall each)
SILENT_BEFORE_SINGLE = 3  # ticks without any answer before plain reads are tried
NOISY_ASKS = 5  # most questions per tick on a line that garbles
NOISY_SHARE = 0.6  # of the control period, after which no further question is asked


@dataclass(frozen=True, slots=True)
class FeetechOptions:
    """Choices of the bus.

    Attributes:
        baud: rate [bit/s]; None takes the robot file's.
        role: leader or follower; decides which settings are needed.
        retries: extra reads per tick for servos that did not answer.
        latency_s: reply time allowed beyond the wire [s]; None: from the adapter.
        align_tolerance_counts: largest goal-to-present distance at which torque may go on.
        reset_geometry: also write the homing offset in `configure`.

    """

    baud: int | None = None
    role: Role = Role.FOLLOWER
    retries: int = 1
    latency_s: float | None = None
    align_tolerance_counts: int = 114  # 10 degrees
    reset_geometry: bool = False


class FeetechBus(RegisterBus):
    """ServoBus on the STS protocol.

    STS servos have no clock of their own. Each tick therefore begins with a heartbeat, a torque
    limit that differs by a few thousandths from tick to tick and is read back with the values: a
    servo that repeats old values repeats its old heartbeat too.
    """

    table = FEETECH_STS
    table_length = FEETECH_STS["present_current"].end
    torque_remedy = (
        "A latched error (register 65) keeps torque off until the supply is switched off and on"
    )
    baud_rates: Mapping[int, int] = FEETECH_BAUD_RATES
    hardware_error_bits: Mapping[int, str] = HARDWARE_ERROR_BITS
    identity_block = (READ_ADDRESS, READ_LENGTH)
    first_firmware_with_watchdog: int | None = None  # there is none

    def __init__(
        self,
        spec: RobotSpec,
        port: str,
        options: FeetechOptions | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare for the servos of `spec` on `port`; opens nothing. `clock` in seconds."""
        self.options = options or FeetechOptions()
        super().__init__(
            spec,
            port,
            protocol="feetech",
            baud=self.options.baud,
            latency_s=self.options.latency_s,
            align_tolerance_counts=self.options.align_tolerance_counts,
            reset_geometry=self.options.reset_geometry,
        )
        self.line = FeetechLine(self.serial, self.counters)
        self._missing: set[int] = set()
        self._beat = 0
        self._off_beat = np.zeros(self.n, dtype=bool)
        self._torque_seen = np.zeros(self.n, dtype=bool)
        self._single = False  # firmware without sync read: servos are asked one by one
        self._silent_ticks = 0
        self._hardware_error = np.zeros(self.n, dtype=np.uint8)
        self._stamp_ns = 0
        self._guard = NoiseGuard(REPLY, FIELDS)
        self._patience = Patience(self.serial)
        self._budget_s = NOISY_SHARE / spec.control_rate
        self._clock = clock

    # -- port ----------------------------------------------------------------------------

    @property
    def registers(self) -> FeetechLine:
        """The line."""
        return self.line

    def open(self) -> None:
        """Open and lock the port; writes nothing to servos."""
        self.serial.openPort()
        self._missing.clear()
        self._guard.forget()
        self._off_beat[:] = False

    # -- the tick ------------------------------------------------------------------------

    def read(self) -> BusSample:
        """Send the heartbeat and read registers 40 to 70 of every servo.

        Servos that stay silent, or whose values could not be confirmed on a line that garbles,
        come back invalid.
        """
        self.counters.reads += 1
        self._beat = (self._beat + 1) % BEATS
        self._guard.begin()
        images: dict[int, bytes] = {}
        stamp_ns = 0
        began = time.monotonic()
        noisy = self._guard.noisy(self.counters.damaged_packets, self._clock())
        asked = 0
        while True:
            wanted = [id for id in self.ids if id not in images]
            if asked and not noisy:  # a servo already silent in the last tick is not asked twice
                wanted = [id for id in wanted if id not in self._missing]
            if not wanted or asked >= (NOISY_ASKS if noisy else 1 + self.options.retries):
                break
            if asked > 1 and noisy and time.monotonic() - began > self._budget_s:
                break
            self.counters.read_retries += bool(asked)
            if not asked or noisy:
                self._send_beat()
            self._patience.asking()
            with self._patience.shortened(noisy):
                got = self._ask(wanted)
            asked += 1
            if got:
                self._patience.answered()
                stamp_ns = stamp_ns or self.serial.first_byte_ns or 0
            heard = {id: bytes((status.error,)) + status.data for id, status in got.items()}
            whole = {id: image for id, image in heard.items() if plausible(image)}
            self.counters.damaged_packets += len(got) - len(whole)
            noisy = self._guard.noisy(self.counters.damaged_packets, self._clock())
            for id, image in whole.items():
                believed = self._guard.believe(id, image) if noisy else image
                if believed is not None:
                    images[id] = believed
        self._missing = {id for id in self.ids if id not in images}
        self._silent_ticks = 0 if images or noisy else self._silent_ticks + 1
        if not images and self._silent_ticks == SILENT_BEFORE_SINGLE and not self._single:
            self._try_single()
        return self._sample(images, stamp_ns)

    def _ask(self, wanted: list[int]) -> dict[int, Status]:
        if not self._single:
            return self.line.sync_read(wanted, READ_ADDRESS, READ_LENGTH)
        got: dict[int, Status] = {}
        for id in wanted:
            got.update(self.line.read_once(id, READ_ADDRESS, READ_LENGTH))
        return got

    def _try_single(self) -> None:
        """Find out whether servos that ignore a sync read answer a plain one."""
        answer = any(self.line.read_once(id, READ_ADDRESS, READ_LENGTH) for id in self.ids)
        # They may have come back this moment, after a restart: then they hear a sync read too.
        if answer and not self.line.sync_read(self.ids, READ_ADDRESS, READ_LENGTH):
            self._single = True
            self.notes.append(
                f"servos on {self.port} answer single reads but not sync read: asking them one by "
                "one from now on, which takes longer"
            )

    @property
    def _limit(self) -> int:
        return FULL_TORQUE - self._beat

    def _send_beat(self) -> None:
        self.line.sync_write(FEETECH_STS["torque_limit"], {id: self._limit for id in self.ids})

    def _sample(self, images: Mapping[int, bytes], stamp_ns: int) -> BusSample:
        self.counters.fresh_reads += len(images) == self.n
        self.counters.failed_reads += not images
        self.counters.partial_reads += 0 < len(images) < self.n
        if stamp_ns and images:
            self._stamp_ns = stamp_ns
        valid = np.array([id in images for id in self.ids], dtype=bool)
        self.counters.missed += ~valid
        measured = decode([images.get(id) for id in self.ids], self.conversion)
        repeated = self._repeated(measured, valid)
        self.counters.repeated_values += int(np.count_nonzero(repeated))
        rebooted = valid & ~measured.torque & self._torque_seen  # torque went off by itself
        self._torque_seen = np.where(valid, measured.torque, self._torque_seen)
        self._hardware_error = np.where(valid, measured.error, self._hardware_error).astype(
            np.uint8
        )
        return BusSample(
            stamp_ns=self._stamp_ns,
            position=measured.position,
            velocity=measured.velocity,
            current=measured.current,
            load=measured.load,
            voltage=measured.voltage,
            temperature=measured.temperature,
            position_trajectory=np.full(self.n, np.nan),
            raw_position=measured.raw_position,
            hardware_error=self._hardware_error.copy(),
            valid=valid,
            fresh=bool(valid.all() and not repeated.any()),
            tick_ms=np.full(self.n, -1, dtype=np.int64),
            repeated=repeated,
            rebooted=rebooted,
        )

    def _repeated(self, measured: Measured, valid: BoolArray) -> BoolArray:
        """Return which servos did not answer with this tick's heartbeat, now or last time.

        A frozen heartbeat comes true by chance once in BEATS ticks, but never twice in a row.
        """
        off_beat = valid & (measured.torque_limit != self._limit)
        repeated = off_beat | (valid & self._off_beat)
        self._off_beat = np.where(valid, off_beat, self._off_beat)
        return np.asarray(repeated, dtype=bool)

    # -- torque --------------------------------------------------------------------------

    def _switch_on(self, id: int) -> None:
        """Lock EEPROM, then switch torque on."""
        self._write_confirmed(id, "lock", 1)
        super()._switch_on(id)

    def _switch_off(self, id: int) -> None:
        """Switch torque off and read back: an acknowledgement does not mean "done" here."""
        self._write_confirmed(id, "torque_enable", 0)

    def disable_torque(self) -> TorqueOffReport:
        """Switch torque off: all at once, then each by itself, whatever fails on the way."""
        self._torque_seen[:] = False
        return super().disable_torque()

    # -- settings ------------------------------------------------------------------------

    def settings(self, joint: int) -> tuple[Setting, ...]:
        """Return the settings that joint number `joint` needs."""
        return required_settings(self.spec, joint, self.options.role)

    def _limits_in(self, table: Mapping[str, int]) -> tuple[int, int]:
        low, high = super()._limits_in(table)
        return (low, high) if low or high else (-MULTI_TURN, MULTI_TURN)

    def write_setting(self, id: int, name: str, value: int) -> None:
        """Write a register so that it stays: EEPROM is unlocked for the moment of writing.

        ServoError when torque is on there (EEPROM only) or the value does not stick; ValueError
        when the register cannot hold `value`.
        """
        register = FEETECH_STS[name]
        if not register.eeprom:
            self._write_confirmed(id, name, value)
            return
        if self.line.read(id, FEETECH_STS["torque_enable"]):
            raise ServoError(
                f"servo {id} on {self.port}: {name} lies in EEPROM and is not written while "
                "torque is on",
                port=self.port,
                id=id,
                register=name,
                remedy="Settings in EEPROM can only change while torque is off",
            )
        self._write_confirmed(id, "lock", 0)
        try:
            self._write_confirmed(id, name, value)
        finally:
            self._write_confirmed(id, "lock", 1)

    def reboot(self, id: int) -> None:
        """Refuse: the vendor's SDK knows no restart; see ServoBus."""
        raise ServoError(
            f"id {id}: an STS servo cannot be restarted over the bus",
            port=self.port,
            id=id,
            remedy="Remove the cause, then switch the servo supply off and on",
        )
