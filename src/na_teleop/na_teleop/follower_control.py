# SPDX-License-Identifier: Apache-2.0
"""The follower's state machine: when torque goes on, what goal is sent, when torque goes off.

Pure: time, measurements and goals come in, actions go out; see docs/safety.md for the diagram.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from na_core.robot_spec import RobotSpec
from na_teleop.buses.base import BusSample
from na_teleop.follower_config import FollowerConfig
from na_teleop.goal_shaping import GoalShaper, ShapedGoal, StartRamp
from na_teleop.hold_request import HoldRequests
from na_teleop.leader_watchdog import LeaderState, LeaderWatchdog

Array = NDArray[np.float64]


class State(StrEnum):
    """What the follower is doing."""

    WAITING = "waiting"  # torque off, for a leader
    ALIGNING = "aligning"  # goal := present, then torque on
    RAMPING = "ramping"  # blending from where it stands to the leader
    FOLLOWING = "following"
    HOLDING = "holding"  # leader silent, goal frozen; or asked to hold or retreat
    PARKING = "parking"  # walking to the park pose at bounded speed
    PARKED = "parked"  # torque off
    FAULT = "fault"  # latched; all joints stopped together


class ParkCause(StrEnum):
    """Why the arm parks; decides what may wake it."""

    SILENCE = "leader silent"
    ASKED = "asked to park"
    SHUTDOWN = "shutting down"


class Torque(StrEnum):
    """What is to be done about torque in this tick."""

    KEEP = "keep"
    ON = "on"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class Actions:
    """What the loop shall do now, in this order: write the goal, then change torque."""

    goal: ShapedGoal | None = None
    torque: Torque = Torque.KEEP


NOTHING = Actions()


class FollowerControl:
    """Decides; touches nothing.

    The loop calls `step` once per tick and reports what became of torque with `torque_is_on`,
    `torque_failed` and `torque_released`.

    Attributes:
        state: present state.
        reason: why the state was entered, for people.
        torque_on: what is believed about torque; True from the moment it may be on.

    """

    def __init__(
        self,
        spec: RobotSpec,
        config: FollowerConfig,
        constrain: Callable[[Array, Array], Array] | None = None,
    ) -> None:
        """Start in WAITING; limits, names, ids and park pose come from `spec`.

        `constrain`: see GoalShaper.
        """
        self.spec = spec
        self.config = config
        self.state = State.WAITING
        self.reason = "started; torque is off until a leader is heard"
        self.torque_on = False
        self._failed = np.zeros(spec.n, dtype=np.int64)  # reads in a row without news, per joint
        self.park_cause: ParkCause | None = None
        self.release_failed = ""
        self.shutting_down = False
        self._watchdog = LeaderWatchdog(config.hold_after_s, config.park_after_s)
        self._shaper = GoalShaper(
            spec.lower,
            spec.upper,
            spec.velocity_limit,
            longest_step_s=config.longest_step_s,
            constrain=constrain,
        )
        self._leader: Array | None = None
        self._ramp: StartRamp | None = None
        self._present = np.full(spec.n, np.nan)
        self._present_at = np.full(spec.n, -np.inf)
        self._sample: BusSample | None = None
        self._park_began = 0.0
        self._park_speed = np.zeros(spec.n)
        self._park_tolerance = config.park_tolerance * np.array([j.ratio for j in spec.joints])
        self._arrived_at: float | None = None
        self._release_tries = 0
        self._release_demanded = False
        self._frozen: Array | None = None
        self.holds = HoldRequests(spec.names)
        self._held_at: Array | None = None

    # -- the tick ------------------------------------------------------------------------

    def step(self, now: float, sample: BusSample, leader_goal: Array | None = None) -> Actions:
        """Advance by one tick.

        Args:
            now: monotonic time [s].
            sample: this tick's read, possibly incomplete.
            leader_goal: goal (n,) accepted since the last tick, None when there was none.

        """
        if leader_goal is not None and np.isfinite(leader_goal).all():
            self._leader = np.array(leader_goal, dtype=np.float64)
            self._watchdog.feed(now)
        self._observe(now, sample)
        match self.state:
            case State.WAITING:
                return self._waiting(now)
            case State.ALIGNING:
                return self._aligning(now, sample)
            case State.RAMPING | State.FOLLOWING:
                return self._following(now)
            case State.HOLDING:
                return self._holding(now)
            case State.PARKING:
                return self._parking(now, sample)
            case State.PARKED:
                return self._parked(now)
            case State.FAULT:
                return self._faulted(now)

    def _observe(self, now: float, sample: BusSample) -> None:
        self._sample = sample
        heard = sample.valid & ~sample.repeated
        self._present = np.where(heard, sample.position, self._present)
        self._present_at = np.where(heard, now, self._present_at)
        self._failed = np.where(heard, 0, self._failed + 1)
        if self.state in (State.PARKED, State.FAULT):
            return
        lost = self._failed >= self.config.max_failed_reads
        if lost.any():
            what = "repeated old values in" if sample.repeated[lost].any() else "did not answer"
            self.fault(f"{self._named(lost)} {what} {self.failed_reads} reads in a row", now)
        elif sample.hardware_error.any():
            bits = ", ".join(
                f"{self._named_one(int(i))} 0x{int(sample.hardware_error[i]):02x}"
                for i in np.flatnonzero(sample.hardware_error)
            )
            self.fault(f"hardware error reported: {bits}", now)

    def _waiting(self, now: float) -> Actions:
        if self.shutting_down:
            return self._release()
        if self._watchdog.state(now) is LeaderState.ACTIVE:
            self._enter(State.ALIGNING, "leader heard: taking over the present position")
        return NOTHING

    def _aligning(self, now: float, sample: BusSample) -> Actions:
        if self.shutting_down:
            return self._release()
        if not self.torque_on and self._watchdog.state(now) is not LeaderState.ACTIVE:
            self._enter(State.WAITING, "leader fell silent before torque went on")
            return NOTHING
        if not sample.fresh:
            return NOTHING
        self._shaper.reset(sample.position, now)
        self.torque_on = True  # from here on it may be
        return Actions(self._shaper.hold(now, self._leader), Torque.ON)

    def _following(self, now: float) -> Actions:
        leader = self._watchdog.state(now)
        if leader is not LeaderState.ACTIVE or self._leader is None:
            silence = self._watchdog.silence_s(now)
            self._enter(State.HOLDING, f"leader silent for {silence:.2f} s: goal frozen")
            return self._holding(now)
        if self._sample is not None and not self._sample.valid.any():
            # Nobody hears us: goals that went on would be a jump once the line is back.
            return Actions(self._shaper.hold(now, self._leader))
        if self.holds.active(now):
            self._ramp = None
            return self._held_by_request(now)
        if self.state is State.RAMPING and self._ramp is not None:
            if self._ramp.done(now):
                self._ramp = None
                self._enter(State.FOLLOWING, "ramp finished")
            else:
                target = self._ramp.blend(self._leader, now)
                return Actions(self._shaper.shape(target, now, requested=self._leader))
        return Actions(self._shaper.shape(self._leader, now))

    def _holding(self, now: float) -> Actions:
        leader = self._watchdog.state(now)
        if leader is LeaderState.PARK:
            self._start_parking(now, ParkCause.SILENCE)
            return self._parking_goal(now)
        if self.holds.active(now):
            return self._held_by_request(now)
        was_held, self._held_at = self._held_at is not None, None
        if leader is LeaderState.ACTIVE:
            self._start_ramp(now, "hold request over" if was_held else "leader is back")
            return self._following(now)
        return Actions(self._shaper.hold(now))

    def _held_by_request(self, now: float) -> Actions:
        """Stay where the arm was when the request came, or walk back to where it asks for.

        The goal walks there at park speed: in contact it may be well inside what is touched.
        """
        if self.state is not State.HOLDING or self._held_at is None:
            recent = now - self._present_at <= self.config.present_memory_s
            self._enter(State.HOLDING, f"hold request: {self.holds.reason}")
            self._held_at = np.where(recent, self._present, self._shaper.base)
        target = self._held_at if self.holds.retreat is None else self.holds.retreat
        speed = self.config.park_speed * self.spec.velocity_limit
        return Actions(self._shaper.shape(target, now, requested=self._leader, speed=speed))

    def _parking(self, now: float, sample: BusSample) -> Actions:
        back = self._watchdog.state(now) is LeaderState.ACTIVE
        if self.park_cause is ParkCause.SILENCE and back and self.config.resume_after_silence:
            self._start_ramp(now, "leader is back")
            return self._following(now)
        actions = self._parking_goal(now)
        distance = np.abs(self._shaper.base - self._park_pose())
        if self._arrived_at is None:
            if bool((distance < 1e-9).all()):
                self._arrived_at = now
        else:
            away = np.abs(sample.position - self._park_pose())
            near = sample.fresh and bool((away <= self._park_tolerance).all())
            if near or now - self._arrived_at >= self.config.park_settle_s:
                self.reason = f"parked ({self.park_cause})"
                return Actions(actions.goal, Torque.OFF)
        if now - self._park_began >= self.config.park_timeout_s:
            self.reason = (
                f"park pose not reached within {self.config.park_timeout_s:g} s: released anyway"
            )
            return Actions(actions.goal, Torque.OFF)
        return actions

    def _parked(self, now: float) -> Actions:
        if self.torque_on or (self.shutting_down and self._release_tries == 0):
            return self._release()
        if self.shutting_down:
            return NOTHING
        may = self.park_cause is ParkCause.SILENCE and self.config.resume_after_silence
        if may and self._watchdog.state(now) is LeaderState.ACTIVE:
            self._enter(State.ALIGNING, "leader is back: taking over the present position")
        return NOTHING

    def _faulted(self, now: float) -> Actions:
        if self.shutting_down:
            return self._release()
        if not self.torque_on or self._frozen is None:
            return NOTHING
        return Actions(self._shaper.hold(now))

    # -- events from outside -------------------------------------------------------------

    def torque_is_on(self, now: float) -> None:
        """Report that every servo confirmed torque on."""
        self.torque_on = True
        self._start_ramp(now, "torque on at the present position")

    def torque_failed(self, text: str, now: float, *, released: bool = True) -> None:
        """Report that torque could not be switched on everywhere; `released`: it is off again."""
        self.torque_on = not released
        self.fault(f"torque could not be switched on: {text}", now)

    def torque_released(self, confirmed: bool, text: str) -> None:
        """Report the outcome of switching torque off."""
        self._release_tries += 1
        self.torque_on = not confirmed
        self.release_failed = "" if confirmed else text
        if self.state is State.FAULT and not self.shutting_down:
            return
        self._enter(State.PARKED, self.reason if confirmed else text)

    def fault(self, reason: str, now: float, *, keep: NDArray[np.bool_] | None = None) -> None:
        """Latch a fault: all joints stop together where they are.

        Joints in `keep` (n,) stop at their goal instead: their position is not to be trusted.
        """
        if self.state is State.FAULT:
            return
        self._ramp = None
        if self.torque_on:
            recent = now - self._present_at <= self.config.present_memory_s
            if keep is not None:
                recent &= ~keep
            self._frozen = np.where(recent, self._present, self._shaper.base)
            self._shaper.reset(self._frozen, now)
        self._enter(State.FAULT, reason)

    def request_park(self, now: float) -> tuple[bool, str]:
        """Park on a person's request; returns whether it was accepted, and why."""
        if self.shutting_down:
            return True, "shutting down, which parks"
        if self._can_park:
            self._start_parking(now, ParkCause.ASKED)
            return True, "parking"
        if self.state is State.FAULT:
            return False, f"not parked: fault is latched ({self.reason}); clear_fault first"
        self.park_cause = ParkCause.ASKED
        self._enter(State.PARKED, "asked to park; torque was off already")
        return True, "torque is off; clear_fault resumes"

    def clear_fault(self, now: float) -> tuple[bool, str]:
        """Unlatch a fault, or resume after a park; returns whether it was accepted, and why.

        Torque that is on stays on: the arm is aligned anew (goal := present) and ramps, so that
        nothing jumps. Refused while the trouble is still there.
        """
        if self.state is State.PARKED:
            if self.shutting_down or self.torque_on:
                return False, f"not resumed: {self.reason}"
            self.park_cause = None
            self._watchdog.forget()
            self._enter(State.WAITING, "resumed; torque is off until a leader is heard")
            return True, "waiting for a leader"
        if self.state is not State.FAULT:
            return True, f"no fault is latched (state {self.state})"
        sample = self._sample
        if sample is None or not sample.fresh:
            return False, f"not cleared: servos do not all answer yet (fault: {self.reason})"
        if sample.hardware_error.any():
            joints = self._named(sample.hardware_error != 0)
            return False, f"not cleared: {joints} still report a hardware error"
        self._frozen = None
        self._failed[:] = 0
        if self.torque_on:
            self._enter(State.ALIGNING, "fault cleared: taking over the present position")
        else:
            self._watchdog.forget()
            self._enter(State.WAITING, "fault cleared; torque is off until a leader is heard")
        return True, self.reason

    def request_shutdown(self, now: float) -> None:
        """Park from the last commanded goal, then release; release at once where one cannot."""
        if self.shutting_down:
            return
        self.shutting_down = True
        self._release_tries = 0
        if self._can_park:
            self._start_parking(now, ParkCause.SHUTDOWN)

    def release_now(self) -> None:
        """Stop parking: the next tick switches torque off (a second interrupt)."""
        if self._release_demanded:
            return
        self._release_demanded = True
        self.shutting_down = True
        self._release_tries = 0
        self._enter(State.PARKED, "released without parking")
        self.torque_on = True  # whatever is believed: every servo is told again

    @property
    def failed_reads(self) -> int:
        """Reads in a row without news from the joint that was silent longest."""
        return int(self._failed.max())

    @property
    def finished(self) -> bool:
        """True once shutdown is complete: torque confirmed off, or every attempt used up."""
        return (
            self.shutting_down
            and self.state is State.PARKED
            and self._release_tries > 0
            and (not self.torque_on or self._release_tries >= self.config.release_attempts)
        )

    @property
    def requested(self) -> Array | None:
        """The last goal accepted from the leader (n,), None before the first."""
        return None if self._leader is None else self._leader.copy()

    @property
    def standing_goal(self) -> Array:
        """Where each joint is to be if nobody says more (n,); NaN while that is unknown.

        The last request while it is being carried out; otherwise where the arm is held or lies.
        """
        if self._leader is not None and self.state in (
            State.ALIGNING,
            State.RAMPING,
            State.FOLLOWING,
            State.HOLDING,
        ):
            return self._leader.copy()
        return self._shaper.base if self.torque_on else self._present.copy()

    @property
    def held(self) -> Array:
        """Where the arm is held now (n,), or lies without torque; NaN before the first read."""
        return self._shaper.base if self.torque_on else self._present.copy()

    def ramp_again(self, now: float, reason: str) -> None:
        """Blend anew from where the arm is held to the leader, if it is being led."""
        if self.state in (State.RAMPING, State.FOLLOWING):
            self._start_ramp(now, reason)

    @property
    def latest(self) -> BusSample | None:
        """The sample of the last tick."""
        return self._sample

    # -- helpers -------------------------------------------------------------------------

    def _enter(self, state: State, reason: str) -> None:
        self._held_at = None
        self.state = state
        self.reason = reason

    def _start_ramp(self, now: float, reason: str) -> None:
        self._ramp = StartRamp(self._shaper.base, now, self.config.ramp_s)
        self.park_cause = None
        self._enter(State.RAMPING, reason)

    @property
    def _can_park(self) -> bool:
        """The arm is under torque and healthy: it can be walked home."""
        if self.state is State.ALIGNING:
            return self.torque_on
        return self.state in (State.RAMPING, State.FOLLOWING, State.HOLDING, State.PARKING)

    def _park_pose(self) -> Array:
        return np.clip(self.spec.home, self.spec.lower, self.spec.upper)

    def _start_parking(self, now: float, cause: ParkCause) -> None:
        already = self.state is State.PARKING
        self.park_cause = cause
        self._enter(State.PARKING, f"parking: {cause}")
        if already:
            return
        self._ramp = None
        self._release_tries = 0
        self._park_began = now
        self._arrived_at = None
        # As slow as asked, but fast enough to be there before the time-out.
        available = max(0.8 * self.config.park_timeout_s - self.config.park_settle_s, 1e-3)
        distance = np.abs(self._park_pose() - self._shaper.base)
        slow = self.config.park_speed * self.spec.velocity_limit
        self._park_speed = np.minimum(
            np.maximum(slow, distance / available), self.spec.velocity_limit
        )

    def _parking_goal(self, now: float) -> Actions:
        return Actions(self._shaper.shape(self._park_pose(), now, speed=self._park_speed))

    def _release(self) -> Actions:
        if self._release_tries >= self.config.release_attempts:
            return NOTHING
        return Actions(None, Torque.OFF)

    def _named_one(self, joint: int) -> str:
        servo = self.spec.joints[joint].servo
        name = self.spec.names[joint]
        return name if servo is None else f"{name} (id {servo.id})"

    def _named(self, mask: NDArray[np.bool_]) -> str:
        return ", ".join(self._named_one(int(i)) for i in np.flatnonzero(mask))
