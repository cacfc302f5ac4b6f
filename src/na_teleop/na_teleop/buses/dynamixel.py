# SPDX-License-Identifier: Apache-2.0
"""Dynamixel X servos of one arm: one contiguous read and one goal write per tick.

Registers: https://emanual.robotis.com/docs/en/dxl/x/xm430-w350/
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from na_core.control_tables import DYNAMIXEL_BAUD_RATES, DYNAMIXEL_X
from na_core.robot_spec import RobotSpec
from na_teleop.buses.base import BusSample
from na_teleop.buses.dynamixel_line import DynamixelLine
from na_teleop.buses.dynamixel_packets import ALERT_BIT, Status
from na_teleop.buses.dynamixel_reply import FIELDS, READ_ADDRESS, READ_LENGTH, REPLY, ReplyDecoder
from na_teleop.buses.dynamixel_settings import Role, Setting, required_settings
from na_teleop.buses.errors import PortError, PortProblem, ServoError
from na_teleop.buses.noise_guard import NoiseGuard
from na_teleop.buses.patience import Patience
from na_teleop.buses.register_bus import RegisterBus
from na_teleop.buses.servo_clock import ServoClock

# Replies carry no number that ties them to their question. After one went missing, the next
# question asks for a byte more (from further in front), so that a late answer to the old one is
# recognised by its length; the values wanted are always the last READ_LENGTH bytes.
READ_SHAPES = 4
FIRST_FIRMWARE_WITH_WATCHDOG = 38  # e-manual, XM430-W350, Bus Watchdog (98)
HARDWARE_ERROR_BITS = {
    0: "input voltage",
    2: "overheating",
    3: "motor encoder",
    4: "electrical shock",
    5: "overload",
}
WATCHDOG_UNIT_S = 0.020
WATCHDOG_MAX = 127
WATCHDOG_TRIPPED = -1
FAST_FAILURES_BEFORE_FALLBACK = 3
NOISY_ASKS = 4  # most further questions per tick on a line that garbles
NOISY_SHARE = 0.6  # of the control period, after which no further question is asked
ALERT_REFRESH_S = 0.25  # how often Hardware Error Status is asked again while the alert stands


@dataclass(frozen=True, slots=True)
class DynamixelOptions:
    """Choices of the bus.

    Attributes:
        baud: rate [bit/s]; None takes the robot file's.
        role: leader or follower; decides which settings are needed.
        retries: extra reads per tick for servos that did not answer.
        fast_sync_read: try the one-packet reply first; falls back by itself.
        latency_s: reply time allowed beyond the wire [s]; None: from the adapter.
        align_tolerance_counts: largest goal-to-present distance at which torque may go on.
        reset_geometry: also reset drive mode and homing offset in `configure`.

    """

    baud: int | None = None
    role: Role = Role.FOLLOWER
    retries: int = 1
    fast_sync_read: bool = True
    latency_s: float | None = None
    align_tolerance_counts: int = 114  # 10 degrees
    reset_geometry: bool = False


class DynamixelBus(RegisterBus):
    """ServoBus on Dynamixel Protocol 2.0."""

    table = DYNAMIXEL_X
    table_length = DYNAMIXEL_X["present_temperature"].end
    torque_remedy = (
        "Read Hardware Error Status; a latched error keeps torque off until the servo is restarted"
    )
    baud_rates: Mapping[int, int] = DYNAMIXEL_BAUD_RATES
    hardware_error_bits: Mapping[int, str] = HARDWARE_ERROR_BITS
    identity_block = (READ_ADDRESS, READ_LENGTH)
    first_firmware_with_watchdog: int | None = FIRST_FIRMWARE_WITH_WATCHDOG

    def __init__(
        self,
        spec: RobotSpec,
        port: str,
        options: DynamixelOptions | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare for the servos of `spec` on `port`; opens nothing. `clock` in seconds."""
        self.options = options or DynamixelOptions()
        super().__init__(
            spec,
            port,
            protocol="dynamixel2",
            baud=self.options.baud,
            latency_s=self.options.latency_s,
            align_tolerance_counts=self.options.align_tolerance_counts,
            reset_geometry=self.options.reset_geometry,
        )
        self.line = DynamixelLine(self.serial, self.counters)
        self.fast_enabled = self.options.fast_sync_read
        self._decoder = ReplyDecoder(spec, self.conversion)
        self._missing: set[int] = set()
        self._shape = 0
        self._fast_failures = 0
        self._stamp_ns = 0
        self._hardware_error = np.zeros(self.n, dtype=np.uint8)
        self._alert_asked: dict[int, float] = {}
        self._servo_clock = ServoClock(self.n)
        self._guard = NoiseGuard(REPLY, FIELDS)
        self._patience = Patience(self.serial)
        self._budget_s = NOISY_SHARE / spec.control_rate
        self._clock = clock

    # -- port ----------------------------------------------------------------------------

    @property
    def registers(self) -> DynamixelLine:
        """The line."""
        return self.line

    def open(self) -> None:
        """Open and lock the port; writes nothing to servos."""
        self.serial.openPort()
        self._missing.clear()
        self._alert_asked.clear()
        self._servo_clock.forget()
        self._guard.forget()

    # -- the tick ------------------------------------------------------------------------

    def read(self) -> BusSample:
        """Read registers 120 to 146 of every servo; silent servos come back invalid."""
        self.counters.reads += 1
        began = time.monotonic()
        replies, stamp_ns = self._fast_read()
        if not replies:
            replies, stamp_ns = self._plain_read()
        if self._noisy():
            replies = self._believed(replies, began)
        self._missing = {id for id in self.ids if id not in replies}
        failing = self._fast_failures >= FAST_FAILURES_BEFORE_FALLBACK
        if self.fast_enabled and failing and not self._missing:
            self.fast_enabled = False
            self.notes.append(
                f"servos on {self.port} answer sync read but not fast sync read "
                f"({self._fast_failures} tries): using sync read from now on"
            )
        return self._sample(replies, stamp_ns)

    def _fast_read(self) -> tuple[dict[int, Status], int]:
        """One packet from all servos; nothing when one is known to be missing, or in noise."""
        if not self.fast_enabled or self._missing or self._noisy():
            return {}, 0
        self._patience.asking()
        replies = self.line.fast_sync_read(self.ids, *self._question)
        if replies:
            self._patience.answered()
            self.counters.fast_reads += 1
            self._fast_failures = 0
            return replies, self.serial.first_byte_ns or 0
        self.counters.fast_failures += 1
        self._fast_failures += 1
        self._change_question()
        return {}, 0

    @property
    def _question(self) -> tuple[int, int]:
        """Address and length of the present shape of the question."""
        return READ_ADDRESS - self._shape, READ_LENGTH + self._shape

    def _change_question(self) -> None:
        self._shape = (self._shape + 1) % READ_SHAPES

    def _plain_read(self) -> tuple[dict[int, Status], int]:
        """One packet per servo; those that stay silent are asked again, within bounds."""
        replies: dict[int, Status] = {}
        stamp_ns = 0
        wanted = list(self.ids)
        for attempt in range(1 + self.options.retries):
            if attempt:  # a servo that was already silent in the last tick is not asked twice
                wanted = [i for i in wanted if i not in replies and i not in self._missing]
                self.counters.read_retries += bool(wanted)
            if not wanted:
                break
            got = self._sync_read(wanted)
            if got and not stamp_ns:
                stamp_ns = self.serial.first_byte_ns or 0
            replies.update(got)
        return replies, stamp_ns

    def _sync_read(self, wanted: list[int]) -> dict[int, Status]:
        """Ask `wanted` once; replies of the length asked for."""
        address, length = self._question
        self._patience.asking()
        with self._patience.shortened(self._noisy()):
            got = self.line.sync_read(wanted, address, length)
        if got:
            self._patience.answered()
        got = {id: status for id, status in got.items() if len(status.data) == length}
        if len(got) < len(wanted):
            self._change_question()
        return got

    def _noisy(self) -> bool:
        """Whether packets were damaged lately; see NoiseGuard."""
        return self._guard.noisy(self.counters.damaged_packets, self._clock())

    def _believed(self, replies: Mapping[int, Status], began: float) -> dict[int, Status]:
        """Ask again until servos have said the same twice, within NOISY_ASKS and the tick."""
        self._guard.begin()
        believed: dict[int, Status] = {}
        got = dict(replies)
        for asked in range(NOISY_ASKS):
            for id, status in got.items():
                image = self._guard.believe(id, status.data[-READ_LENGTH:])
                if image is not None:
                    believed[id] = replace(status, data=image)
            wanted = [id for id in self.ids if id not in believed]
            if not wanted or (asked and time.monotonic() - began > self._budget_s):
                break
            self.counters.read_retries += 1
            got = self._sync_read(wanted)
        return believed

    def _sample(self, replies: Mapping[int, Status], stamp_ns: int) -> BusSample:
        self.counters.fresh_reads += len(replies) == self.n
        self.counters.failed_reads += not replies
        self.counters.partial_reads += 0 < len(replies) < self.n
        if stamp_ns:
            self._stamp_ns = stamp_ns
        valid = np.array([id in replies for id in self.ids], dtype=bool)
        self.counters.missed += ~valid
        errors = self._hardware_errors()
        measured = self._decoder.decode([replies.get(id) for id in self.ids])
        repeated, rebooted = self._servo_clock.update(measured.tick_ms, valid, self._clock())
        self.counters.repeated_values += int(np.count_nonzero(repeated))
        return BusSample(
            stamp_ns=self._stamp_ns,
            position=measured.position,
            velocity=measured.velocity,
            current=measured.current,
            load=measured.load,
            voltage=measured.voltage,
            temperature=measured.temperature,
            position_trajectory=measured.position_trajectory,
            raw_position=measured.raw_position,
            hardware_error=errors,
            valid=valid,
            fresh=bool(valid.all() and not repeated.any()),
            tick_ms=measured.tick_ms,
            repeated=repeated,
            rebooted=rebooted,
        )

    def _hardware_errors(self) -> np.ndarray:
        """Ask one alerting servo per tick for its error bits; the others as last known."""
        now = self._clock()
        register = DYNAMIXEL_X["hardware_error_status"]
        asked = False
        for i, id in enumerate(self.ids):
            if id not in self.line.alerts:
                self._hardware_error[i] = 0
                self._alert_asked.pop(id, None)
                continue
            due = now - self._alert_asked.get(id, -np.inf) >= ALERT_REFRESH_S
            if due and not asked and id not in self._missing:
                asked = True
                try:
                    # The alert is an error even where its cause is gone or not told.
                    self._hardware_error[i] = self.line.read(id, register, attempts=1) or ALERT_BIT
                    self._alert_asked[id] = now
                except ServoError:
                    pass
                except PortError as error:
                    if error.port_is_gone:
                        raise
        return self._hardware_error.copy()

    # -- settings ------------------------------------------------------------------------

    def settings(self, joint: int) -> tuple[Setting, ...]:
        """Return the settings that joint number `joint` needs."""
        return required_settings(self.spec, joint, self.options.role)

    # -- watchdog, restart ---------------------------------------------------------------

    def arm_watchdog(self, timeout_s: float) -> None:
        """Servos stop after `timeout_s` [s] without any packet; 0 disarms and clears."""
        units = 0 if timeout_s <= 0.0 else int(np.ceil(timeout_s / WATCHDOG_UNIT_S))
        if units > WATCHDOG_MAX:
            raise ValueError(
                f"watchdog time {timeout_s} s, expected at most {WATCHDOG_MAX * WATCHDOG_UNIT_S} s"
            )
        register = DYNAMIXEL_X["bus_watchdog"]
        for id in self.ids:
            self.line.write(id, register, 0)  # also clears a tripped one
        if units:
            for id in self.ids:
                self.line.write(id, register, units)

    def watchdog_tripped(self) -> tuple[int, ...]:
        """Return the ids whose watchdog has stopped them."""
        register = DYNAMIXEL_X["bus_watchdog"]
        return tuple(id for id in self.ids if self.line.read(id, register) == WATCHDOG_TRIPPED)

    def reboot(self, id: int) -> None:
        """Restart one servo (clears latched hardware errors); torque is off afterwards."""
        if id not in self.ids:
            raise PortError(
                f"no servo {id} on {self.port}; its ids are {list(self.ids)}",
                problem=PortProblem.NO_REPLY,
                port=self.port,
                id=id,
            )
        self.line.reboot(id)
