# SPDX-License-Identifier: Apache-2.0
"""One tick of the follower: read, decide, write; the one place where torque goes on or off."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from na_teleop.arm_health import ArmHealth
from na_teleop.buses.base import BusError, BusSample, PortError, PortProblem, ServoBus
from na_teleop.follower_config import FollowerConfig
from na_teleop.follower_control import Actions, FollowerControl, State, Torque
from na_teleop.goal_intake import GoalIntake
from na_teleop.plausibility import PositionCheck, StallWatch
from na_teleop.telemetry import Telemetry, TelemetryBuilder
from na_teleop.teleop_map import TeleopMap

Array = NDArray[np.float64]

REOPEN_FIRST_S = 0.5  # wait before a lost port is tried again; doubled up to REOPEN_LAST_S
REOPEN_LAST_S = 5.0


@dataclass(frozen=True, slots=True)
class FollowerTick:
    """What one tick produced.

    Attributes:
        telemetry: to publish.
        sample: the read behind it.
        state: the follower's state after the tick.
        changes: texts of state changes and troubles since the last tick, for the log.

    """

    telemetry: Telemetry
    sample: BusSample
    state: State
    changes: tuple[str, ...]


@dataclass(slots=True)
class LoopCounters:
    """Totals of the loop, for diagnostics."""

    ticks: int = 0
    stale_ticks: int = 0
    late_ticks: int = 0  # more than 1.5 periods after the one before
    faults: int = 0
    write_failures: int = 0


class FollowerLoop:
    """Ties bus, state machine and telemetry together; no ROS, no threads, no sleeps.

    Usage: `start()` once (opens the port; raises with a report), `tick()` at the control rate,
    `leader_message()` whenever one arrives, `shutdown()` and further ticks until `finished`,
    `close()` at last.
    """

    def __init__(
        self,
        bus: ServoBus,
        config: FollowerConfig,
        *,
        partial_goals: bool = False,
        mapping: TeleopMap | None = None,
        constrain: Callable[[Array, Array], Array] | None = None,
        recheck: Callable[[], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare; opens nothing.

        `partial_goals`: joints that a goal does not name keep theirs. `recheck`: full preflight,
        called after a lost port came back; raises when not ok. `mapping`: from the leader's pose
        to ours, default the same. `constrain`: see GoalShaper.
        """
        self.bus = bus
        self.config = config
        self.control = FollowerControl(bus.spec, config, constrain)
        self.mapping = mapping
        self.intake = GoalIntake(bus.spec.names, partial=partial_goals)
        self.counters = LoopCounters()
        self.health = ArmHealth(bus.spec)
        self._positions = PositionCheck(bus.spec)
        self._stall = StallWatch(bus.spec, config.stall_distance, config.stall_after_s)
        self._builder = TelemetryBuilder("follower", bus.spec.names)
        self._recheck = recheck
        self._clock = clock
        self._pending: Array | None = None
        self._last_s: float | None = None
        self._changes: list[str] = []
        self._seen = (self.control.state, self.control.reason)
        self._last_stamp_ns = 0
        self._reopen_at = 0.0
        self._reopen_wait = REOPEN_FIRST_S
        self._recheck_due = False
        self._watchdog_armed = False
        self._sent: Array | None = None

    # -- life ----------------------------------------------------------------------------

    def start(self) -> list[str]:
        """Make sure torque is off and settings fit; the port must be open and checked.

        Returns what was changed in the servos; raises BusError when a servo cannot be set up.
        """
        if not self.bus.is_open:
            self.bus.open()
        report = self.bus.release_at_start()
        if not report.ok:
            raise PortError(
                f"cannot start on {self.bus.port}: {report.text()}",
                problem=PortProblem.NO_REPLY,
                port=self.bus.port,
                remedy="Run the preflight; every servo must answer before torque may go on",
            )
        self.bus.arm_watchdog(0.0)
        return self.bus.configure()

    def leader_message(self, names: Sequence[str], positions: Sequence[float]) -> str:
        """Take a goal by joint names [rad or m]; returns why it was refused, or ''."""
        rest = self.control.standing_goal if self._pending is None else self._pending
        goal = self.intake.take(names, positions, rest)
        if goal is None:
            return self.intake.last_refusal
        self._pending = goal if self.mapping is None else self._mapped(goal, self.mapping)
        return ""

    def _mapped(self, leader: Array, mapping: TeleopMap) -> Array:
        if not self.control.torque_on:
            mapping.forget()
        mapped = mapping.map(leader, self.control.held)
        if mapped.ramp:
            self.control.ramp_again(self._clock(), "clutch closed")
        return mapped.goal

    def clutch(self, let_go: bool) -> tuple[bool, str]:
        """Open the clutch (the follower stays, the leader moves freely) or close it again."""
        if self.mapping is None:
            return False, "no clutch: this follower is driven by a topic"
        if not let_go:
            self.mapping.close_clutch()
            return True, "clutch closed: the leader drives"
        if not self.control.torque_on:
            return False, "clutch not opened: torque is off, nothing is held"
        self.mapping.open_clutch(self.control.held)
        return True, "clutch open: the follower stays"

    def hold_request(
        self,
        action: int,
        duration: float,
        names: Sequence[str] = (),
        positions: Sequence[float] = (),
        reason: str = "",
    ) -> str:
        """Take a request to hold or retreat; see HoldRequests.take. Returns a refusal or ''."""
        return self.control.holds.take(self._clock(), action, duration, names, positions, reason)

    def park(self) -> tuple[bool, str]:
        """Park on request; see FollowerControl.request_park."""
        return self.control.request_park(self._clock())

    def clear_fault(self) -> tuple[bool, str]:
        """Unlatch a fault or resume after a park; restarts servos with latched errors first."""
        if self._recheck_due and self.bus.is_open and self._recheck is not None:
            try:
                self._recheck()
            except Exception as error:
                return False, f"not cleared: {error}"
            self._recheck_due = False
        if self._positions.trouble:
            self._positions.forget()  # the next read is judged by the limits alone
            return False, f"not cleared: {self._positions.trouble}; try again once it is mended"
        ok, text = self.control.clear_fault(self._clock())
        if not ok and self.control.state is State.FAULT and self.bus.is_open:
            restarted = self._reboot_latched()
            if restarted:
                text += f"; servos {restarted} were restarted: try again in a second"
        return ok, text

    def _reboot_latched(self) -> list[int]:
        sample = self.control.latest
        if sample is None:
            return []
        done = []
        for i in np.flatnonzero(sample.hardware_error):
            try:
                self.bus.reboot(self.bus.ids[int(i)])
                done.append(self.bus.ids[int(i)])
            except BusError as error:
                self._note(str(error))
        return done

    def shutdown(self) -> None:
        """Begin to park and release; keep ticking until `finished`."""
        self.control.request_shutdown(self._clock())

    def release_now(self) -> None:
        """Release without parking, in the next tick."""
        self.control.release_now()

    @property
    def finished(self) -> bool:
        """True when shutdown is complete and the loop may stop ticking."""
        return self.control.finished

    def close(self) -> None:
        """Close the port, trying once more to switch torque off if it may still be on."""
        if self.control.torque_on and self.bus.is_open:
            self._torque_off()
        self.bus.close()

    # -- the tick ------------------------------------------------------------------------

    def tick(self) -> FollowerTick:
        """Read, decide, write; never raises for trouble on the line: that becomes a fault."""
        now = self._clock()
        self.counters.ticks += 1
        gap = 0.0 if self._last_s is None else now - self._last_s
        self.counters.late_ticks += gap > 1.5 / self.config.control_rate
        self._last_s = now
        sample = self._read(now)
        self.health.update(sample, now)
        self._look_for_restarts(sample, gap, now)
        sample = self._believable(sample, now)
        leader, self._pending = self._pending, None
        actions = self.control.step(now, sample, leader)
        register = self._apply(actions)
        self.counters.stale_ticks += not sample.fresh
        telemetry = self._builder.build(
            sample,
            now,
            requested=self.control.requested if actions.goal is None else None,
            goal=actions.goal if self.control.torque_on else None,
            register=register if self.control.torque_on else None,
            torque_enabled=self.control.torque_on,
        )
        self._changes += self.bus.take_notes()
        self._notice_changes()
        changes, self._changes = tuple(self._changes), []
        return FollowerTick(telemetry, sample, self.control.state, changes)

    def _read(self, now: float) -> BusSample:
        if not self.bus.is_open:
            self._try_reopen(now)
        if self.bus.is_open:
            try:
                sample = self.bus.read()
            except PortError as error:
                self._port_lost(error, now)
            else:
                self._last_stamp_ns = sample.stamp_ns
                return sample
        return BusSample.nothing(self.bus.n, self._last_stamp_ns)

    def _believable(self, sample: BusSample, now: float) -> BusSample:
        """Drop positions that cannot be, and stop the arm upon them, or upon a stalled joint."""
        control = self.control
        sample = self._positions.judge(sample, now)
        if self._positions.trouble and control.state is not State.PARKED:
            control.fault(self._positions.trouble, now)
        if control.torque_on and self._sent is not None and control.state is not State.FAULT:
            stalled = self._stall.update(sample, self._sent, now)
            if stalled:
                control.fault(stalled, now, keep=self._stall.idle)
        else:
            self._stall.forget()
        return sample

    def _look_for_restarts(self, sample: BusSample, gap: float, now: float) -> None:
        """After a jump of a servo's clock or a long gap of ours: is torque where we left it?"""
        control = self.control
        if not control.torque_on or control.state in (State.FAULT, State.PARKED):
            return
        try:
            if sample.rebooted.any():
                on = self.bus.torque_enabled()
                if not on.all():
                    ids = [i for i, flag in zip(self.bus.ids, on, strict=True) if not flag]
                    control.fault(f"servos {ids} lost power or restarted: torque is off there", now)
            if self._watchdog_armed and gap > 0.8 * self.config.watchdog_s:
                tripped = list(self.bus.watchdog_tripped())
                if tripped:
                    control.fault(
                        f"this program paused for {gap:.2f} s and the watchdog of servos "
                        f"{tripped} stopped them",
                        now,
                    )
        except BusError as error:
            self._line_trouble(error, now)

    def _apply(self, actions: Actions) -> Array | None:
        register: Array | None = None
        if actions.goal is not None and self.bus.is_open:
            try:
                register = self.bus.write_goal(actions.goal.sent)
                self._sent = register
            except PortError as error:
                self.counters.write_failures += 1
                self._line_trouble(error, self._clock())
                if actions.torque is Torque.ON:
                    self.control.torque_failed(str(error), self._clock(), released=True)
                    return None
        if actions.torque is Torque.ON:
            self._torque_on()
        elif actions.torque is Torque.OFF:
            self._torque_off()
        return register

    def _torque_on(self) -> None:
        """The one place where torque goes on: the goal is the present position by now."""
        try:
            changed = self.bus.configure()
            for text in changed:
                self._note(f"setting restored before torque on: {text}")
            self.bus.arm_watchdog(self.config.watchdog_s)
            self._watchdog_armed = self.config.watchdog_s > 0.0
            self.bus.enable_torque()
        except BusError as error:
            report = self.bus.disable_torque()
            self.control.torque_failed(str(error), self._clock(), released=report.ok)
        else:
            self.control.torque_is_on(self._clock())

    def _torque_off(self) -> None:
        """The one place where torque goes off; every servo is tried."""
        report = self.bus.disable_torque()
        self._note(report.text())
        if report.ok:
            self._watchdog_armed = False
            try:
                self.bus.arm_watchdog(0.0)
            except BusError as error:
                self._note(str(error))
        self.control.torque_released(report.ok, report.text())

    # -- trouble -------------------------------------------------------------------------

    def _line_trouble(self, error: BusError, now: float) -> None:
        if isinstance(error, PortError) and error.port_is_gone:
            self._port_lost(error, now)
        else:
            self._note(str(error))

    def _port_lost(self, error: PortError, now: float) -> None:
        self.bus.close()
        self._recheck_due = True
        self._reopen_wait = REOPEN_FIRST_S
        self._reopen_at = now + self._reopen_wait
        self.control.fault(str(error), now)

    def _try_reopen(self, now: float) -> None:
        if now < self._reopen_at or self.control.shutting_down:
            return
        try:
            self.bus.open()
        except PortError as error:
            if self._reopen_wait == REOPEN_FIRST_S:
                self._note(str(error))  # names the ports there are: it may have another name now
            self._reopen_wait = min(2.0 * self._reopen_wait, REOPEN_LAST_S)
            self._reopen_at = now + self._reopen_wait
        else:
            self.bus.counters.reopened += 1
            self._positions.forget()
            self._note(f"port {self.bus.port} is back; clear_fault checks everything and resumes")

    def _note(self, text: str) -> None:
        self._changes.append(text)

    def _notice_changes(self) -> None:
        seen = (self.control.state, self.control.reason)
        if seen != self._seen:
            self.counters.faults += seen[0] is State.FAULT and self._seen[0] is not State.FAULT
            self._changes.append(f"{seen[0]}: {seen[1]}")
            self._seen = seen
