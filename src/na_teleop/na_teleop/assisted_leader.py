# SPDX-License-Identifier: Apache-2.0
"""A leader that is driven by current while a person holds it; off until asked, off on any doubt."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike

from na_teleop.buses.base import BusError, BusSample, ServoBus
from na_teleop.buses.dynamixel import DynamixelBus
from na_teleop.buses.dynamixel_current import CurrentControl, current_control_obstacle
from na_teleop.leader_aids.aids import AidsOutput, LeaderAids
from na_teleop.leader_aids.config import AidsConfig
from na_teleop.leader_control import LeaderControl, LeaderTick


class DeadMan(StrEnum):
    """What the operator does to allow feedback."""

    TOPIC = "topic"  # keeps leader/dead_man true
    GRIPPER = "gripper"  # keeps the leader's gripper closed by a third or more
    NONE = "none"  # nothing: feedback whenever there is an estimate


RELEASE_RETRY = 0.5  # s between tries of switching off torque that did not go off
DEAD_MAN_TIMEOUT = 0.3  # s; an older message counts as released
GRIPPER_HELD = 2.0 / 3.0  # opening (share of the range) below which the gripper is held


class AssistedLeader(LeaderControl):
    """LeaderControl plus aids; torque goes on in `_torque_on` and off in `_torque_off` only.

    Attributes:
        obstacle: why this arm cannot have aids, empty when it can.
        torque_on: what is believed about torque; True from the moment it may be on.
        off_reason: why torque is off, for people.
        output: the aids of the last tick, None while off.

    """

    def __init__(
        self,
        bus: ServoBus,
        config: AidsConfig,
        *,
        dead_man: DeadMan = DeadMan.GRIPPER,
        max_failed_reads: int = 6,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare; opens nothing. Aids stay off until `switch(True)`."""
        super().__init__(bus, max_failed_reads=max_failed_reads, clock=clock)
        self.config, self.dead_man = config, dead_man
        self.obstacle = current_control_obstacle(bus)
        if dead_man is DeadMan.GRIPPER and bus.spec.gripper_index is None and not self.obstacle:
            self.obstacle = f"{bus.spec.robot} has no gripper as dead-man: set dead_man:=topic"
        self.aids = LeaderAids(bus.spec, config)
        self._arm = np.array([joint.role == "arm" for joint in bus.spec.joints])
        self.off_reason = self.obstacle or "not asked for"
        self.output: AidsOutput | None = None
        self._driving = False  # aids are computed and written
        self._release_due = False  # torque off was not confirmed: try again
        self._retry_at = 0.0
        self._current: CurrentControl | None = None
        self._stale = 0
        self._held_s = -np.inf
        self._last_tick_s: float | None = None

    # -- from outside --------------------------------------------------------------------

    def start(self) -> list[str]:
        """Switch torque off and write the leader's settings; the port is open and checked."""
        changed = super().start()
        if not self.obstacle and isinstance(self.bus, DynamixelBus):
            self._current = CurrentControl(self.bus, self.config.current_limit)
        return changed

    def switch(self, on: bool) -> tuple[bool, str]:
        """Turn the aids on or off; returns whether that was done, and a text."""
        if not on:
            if self.torque_on:
                self._torque_off("switched off by request")
            return not self.torque_on, self.off_reason
        if self._driving:
            return True, "aids are on already"
        if self.obstacle or self._current is None:
            return False, self.obstacle or "not started"
        if not self.bus.is_open or self.failed_reads or self.torque_on:
            return False, "aids stay off: the leader's servos do not all answer"
        return self._torque_on()

    def feed_wrench(self, force: ArrayLike, frame: str) -> bool:
        """Take the follower's estimated external force (3,) [N] in base axes."""
        return self.aids.feedback.feed(force, frame, self._clock())

    def feed_dead_man(self, held: bool) -> None:
        """Take a message of the dead-man switch."""
        self._held_s = self._clock() if held else -np.inf

    def alive(self, sample: BusSample, now_s: float) -> bool:
        """Whether the operator allows feedback now."""
        if self.dead_man is DeadMan.NONE:
            return True
        if self.dead_man is DeadMan.TOPIC:
            return now_s - self._held_s <= DEAD_MAN_TIMEOUT
        gripper = self.bus.spec.gripper_index
        if gripper is None:
            return False
        low, high = self.bus.spec.lower[gripper], self.bus.spec.upper[gripper]
        opening = (float(sample.position[gripper]) - low) / (high - low)
        return bool(opening < GRIPPER_HELD)

    # -- the tick ------------------------------------------------------------------------

    def tick(self) -> LeaderTick:
        """Read, and while the aids are on, push; any doubt switches them off."""
        result = super().tick()
        if self._driving:
            self._assist(result.sample)
        elif self._release_due and self.bus.is_open and self._clock() >= self._retry_at:
            self._torque_off(self.off_reason)
        if self._changes:
            result = replace(result, changes=(*result.changes, *self._changes))
            self._changes = []
        return result

    def _assist(self, sample: BusSample) -> None:
        now = self._clock()
        gap = 0.0 if self._last_tick_s is None else now - self._last_tick_s
        self._last_tick_s = now
        doubt = self._doubt(sample, gap)
        if doubt:
            self._torque_off(doubt)
            return
        if self._stale or self._current is None:
            return  # the last currents stand until the next complete read, a few ticks at most
        self.output = self.aids.step(
            now, sample.position, sample.velocity, alive=self.alive(sample, now)
        )
        try:
            self._current.write(self.output.current)
        except BusError as error:
            self._torque_off(str(error))

    def _doubt(self, sample: BusSample, gap: float) -> str:
        """Say why the aids must go off now; empty when they may stay."""
        if not self.bus.is_open:
            return "the port was lost; the servos' watchdog stops them"
        self._stale = 0 if sample.fresh else self._stale + 1
        if self._stale >= self.config.max_stale_reads:
            return f"{self._stale} incomplete reads in a row"
        if sample.hardware_error.any():
            return f"hardware error reported by ids {self._ids(sample.hardware_error != 0)}"
        if sample.rebooted.any():
            return f"ids {self._ids(sample.rebooted)} lost power or restarted"
        if self.config.watchdog_s and gap > 0.8 * self.config.watchdog_s:
            return f"this program paused for {gap:.2f} s, as long as the servos' watchdog waits"
        speed = np.where(self._arm, np.abs(np.nan_to_num(sample.velocity)), 0.0)
        fast = speed > self.config.speed_limit
        if fast.any():
            return (
                f"ids {self._ids(fast)} move at {speed.max():.1f} rad/s, faster than "
                f"{self.config.speed_limit:g}: nobody seems to hold the arm"
            )
        return ""

    def _ids(self, mask: np.ndarray) -> list[int]:
        return [id for id, flag in zip(self.bus.ids, mask, strict=True) if flag]

    def close(self) -> None:
        """Switch torque off if it may be on, then close the port."""
        if self.torque_on:
            self._torque_off("closing")
        super().close()

    # -- torque --------------------------------------------------------------------------

    def _torque_on(self) -> tuple[bool, str]:
        """The one place where a leader's torque goes on: nothing is commanded at that moment."""
        if self._current is None:
            return False, self.obstacle or "not started"
        try:
            self._current.prepare()
            self._current.enable(self.config.watchdog_s)
        except BusError as error:
            self.torque_on = self._release_due = self._current.enabled
            self.off_reason = f"torque could not be switched on: {error}"
            return False, self.off_reason
        self.aids.reset()
        self._stale, self._last_tick_s = 0, None
        self.torque_on = self._driving = True
        self.off_reason = ""
        return True, "aids are on; hold the arm"

    def _torque_off(self, reason: str) -> None:
        """The one place where a leader's torque goes off; every servo is tried."""
        again, self._driving, self.output = self._release_due, False, None
        self.off_reason = reason
        if not again:
            self._changes.append(f"leader aids off: {reason}")
        if self._current is None:
            return
        report = self._current.disable()
        if report.ok or not again:
            self._changes.append(report.text())
        self.torque_on = self._release_due = not report.ok
        self._retry_at = self._clock() + RELEASE_RETRY
