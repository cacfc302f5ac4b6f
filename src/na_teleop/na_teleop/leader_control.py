# SPDX-License-Identifier: Apache-2.0
"""One tick of the leader: read with torque off; only a fresh read becomes a joint state."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from na_teleop.arm_health import ArmHealth
from na_teleop.buses.base import BusSample, PortError, PortProblem, ServoBus
from na_teleop.plausibility import PositionCheck
from na_teleop.telemetry import Telemetry, TelemetryBuilder

REOPEN_FIRST_S = 0.5
REOPEN_LAST_S = 5.0


@dataclass(frozen=True, slots=True)
class LeaderTick:
    """What one tick produced.

    Attributes:
        telemetry: to publish (torque off, no goals).
        sample: the read behind it.
        publish: the sample is complete and fresh: it may become a JointState.
        changes: texts for the log since the last tick.

    """

    telemetry: Telemetry
    sample: BusSample
    publish: bool
    changes: tuple[str, ...]


class LeaderControl:
    """Reads the leader arm, which a person moves; its torque is switched off and stays off.

    An AssistedLeader (assisted_leader.py) also drives it.
    """

    def __init__(
        self,
        bus: ServoBus,
        *,
        max_failed_reads: int = 6,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`max_failed_reads`: incomplete reads in a row after which the trouble is reported."""
        self.bus = bus
        self.health = ArmHealth(bus.spec)
        self._positions = PositionCheck(bus.spec)
        self.failed_reads = 0
        self.trouble = ""
        self.torque_on = False  # only an AssistedLeader ever changes this
        self._max_failed_reads = max_failed_reads
        self._clock = clock
        self._builder = TelemetryBuilder("leader", bus.spec.names)
        self._changes: list[str] = []
        self._stamp_ns = 0
        self._reopen_at = 0.0
        self._reopen_wait = REOPEN_FIRST_S

    def start(self) -> list[str]:
        """Switch torque off and write the leader's settings; the port is open and checked.

        Returns what was changed; raises BusError when a servo keeps its torque.
        """
        if not self.bus.is_open:
            self.bus.open()
        report = self.bus.release_at_start()
        if not report.ok:
            raise PortError(
                f"leader on {self.bus.port}: {report.text()}",
                problem=PortProblem.NO_REPLY,
                port=self.bus.port,
                remedy="A leader must move freely: run the preflight",
            )
        return self.bus.configure()

    def tick(self) -> LeaderTick:
        """Read once; never raises for trouble on the line, never publishes an old position."""
        now = self._clock()
        sample = self._read(now)
        self.health.update(sample, now)
        sample = self._positions.judge(sample, now)
        if self._positions.trouble and not self.trouble:
            self._say(self._positions.trouble)
        self.failed_reads = 0 if sample.fresh else self.failed_reads + 1
        if self.failed_reads == self._max_failed_reads and not self.trouble:
            silent = [i for i, ok in zip(self.bus.ids, sample.valid, strict=True) if not ok]
            self._say(
                f"leader servos {silent} on {self.bus.port} did not answer "
                f"{self.failed_reads} reads in a row: no joint states until they do"
            )
        if sample.fresh and self.trouble:
            self.trouble = ""
            self._changes.append(f"leader on {self.bus.port} answers again")
        telemetry = self._builder.build(sample, now, torque_enabled=self.torque_on)
        self._changes += self.bus.take_notes()
        changes, self._changes = tuple(self._changes), []
        return LeaderTick(telemetry, sample, sample.fresh, changes)

    def close(self) -> None:
        """Close the port."""
        self.bus.close()

    def _say(self, text: str) -> None:
        self.trouble = text
        self._changes.append(text)

    def _read(self, now: float) -> BusSample:
        if not self.bus.is_open and now >= self._reopen_at:
            self._reopen(now)
        if self.bus.is_open:
            try:
                sample = self.bus.read()
            except PortError as error:
                self.bus.close()
                self._reopen_wait = REOPEN_FIRST_S
                self._reopen_at = now + self._reopen_wait
                self._say(str(error))
            else:
                self._stamp_ns = sample.stamp_ns
                return sample
        return BusSample.nothing(self.bus.n, self._stamp_ns)

    def _reopen(self, now: float) -> None:
        try:
            self.bus.open()
        except PortError:
            self._reopen_wait = min(2.0 * self._reopen_wait, REOPEN_LAST_S)
            self._reopen_at = now + self._reopen_wait
        else:
            self.bus.counters.reopened += 1
            self._positions.forget()
