# SPDX-License-Identifier: Apache-2.0
"""A scripted operator: smooth waypoints with pauses, gripper use and hand tremor, from a seed."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from na_sim.reach import Reach

if TYPE_CHECKING:
    from na_core.robot_spec import RobotSpec

Array = NDArray[np.float64]

TREMOR_BAND = (7.0, 11.0)  # Hz, physiological tremor
TREMOR_ANGLE = 0.0012  # rad, amplitude of each of the tremor's sines
DRIFT_ANGLE = 0.004  # rad, slow wander
CLEARANCE = 0.05  # m, lowest link origin above the base while moving freely
PEAK_OF_MINIMUM_JERK = 1.875  # peak speed over mean speed


def minimum_jerk(s: Array | float) -> Array:
    """Blend 0..1 with zero speed and acceleration at both ends, for s in 0..1 (clipped)."""
    x = np.clip(s, 0.0, 1.0)
    return np.asarray(x**3 * (10.0 - 15.0 * x + 6.0 * x**2))


@dataclass(frozen=True)
class Piece:
    """One stretch of a path: from `start` to `end` [s], joints (n,) to joints (n,)."""

    start: float
    end: float
    origin: Array
    goal: Array


class Path:
    """Pieces after each other; before the first and after the last the arm stands."""

    def __init__(self, pieces: list[Piece]) -> None:
        if not pieces:
            raise ValueError("a path needs at least one piece")
        self.pieces = pieces
        self._starts = [piece.start for piece in pieces]

    def __call__(self, time: float) -> Array:
        """Joints (n,) at `time` [s]."""
        piece = self.pieces[max(bisect_right(self._starts, time) - 1, 0)]
        share = (time - piece.start) / (piece.end - piece.start)
        return np.asarray(piece.origin + (piece.goal - piece.origin) * minimum_jerk(share))

    @property
    def end(self) -> float:
        """When the path comes to rest [s]."""
        return self.pieces[-1].end


class Tremor:
    """Small quasi-periodic motion of a hand: fast tremor and slow wander, (n,) per time."""

    def __init__(self, rng: np.random.Generator, scale: Array) -> None:
        n = len(scale)
        self._scale = scale
        self._fast = rng.uniform(*TREMOR_BAND, (3, n)) * 2.0 * np.pi
        self._slow = rng.uniform(0.1, 0.5, (3, n)) * 2.0 * np.pi
        self._phases = rng.uniform(0.0, 2.0 * np.pi, (2, 3, n))
        self._fast_size = TREMOR_ANGLE * rng.uniform(0.3, 1.2, (3, n))
        self._slow_size = DRIFT_ANGLE * rng.uniform(0.2, 1.0, (3, n)) / 3.0

    def __call__(self, time: float) -> Array:
        """Offset (n,) [joint units] at `time` [s]."""
        return np.asarray(self.many(np.array([time]))[0])

    def many(self, times: Array) -> Array:
        """Offsets (T, n) [joint units] at `times` (T,) [s]."""
        t = np.asarray(times)[:, None, None]
        fast = self._fast_size * np.sin(self._fast * t + self._phases[0])
        slow = self._slow_size * np.sin(self._slow * t + self._phases[1])
        return np.asarray((fast + slow).sum(axis=1) * self._scale)


class RestingHand:
    """A hand that stands still now and then, and afterwards goes on where it was.

    Its own time slows down, stands and speeds up again, so neither path nor tremor jumps.

    Args:
        hand: time [s] -> positions (n,).
        rests: begin and length of each rest [s], in order, apart and at least 2 · SLOWING long.
        repeat: the rests come again after this time [s]; 0: once.
    """

    SLOWING = 0.5  # s from motion to rest and back

    def __init__(
        self,
        hand: Callable[[float], Array],
        rests: Sequence[tuple[float, float]],
        repeat: float = 0.0,
    ) -> None:
        self._hand, self._rests, self._repeat = hand, tuple(rests), repeat

    def __call__(self, time: float) -> Array:
        """Positions (n,) at `time` [s]."""
        return self._hand(self.own_time(time))

    def own_time(self, time: float) -> float:
        """The hand's own time [s]: `time` less what was spent at rest."""
        cycles, now = divmod(time, self._repeat) if self._repeat > 0.0 else (0.0, time)
        each = sum(self._lost(length, length) for _, length in self._rests)
        lost = sum(self._lost(min(now - at, length), length) for at, length in self._rests)
        return time - cycles * each - lost

    def _lost(self, since: float, length: float) -> float:
        """Time lost [s] by a rest of `length` that began `since` ago."""
        slowing = self.SLOWING
        if since <= 0.0:
            return 0.0
        if since < slowing:
            return since**2 / (2.0 * slowing)
        left = length - since
        whole = length - slowing
        return whole - left**2 / (2.0 * slowing) if left < slowing else since - slowing / 2.0


def clear_pose(robot: RobotSpec, reach: Reach, rng: np.random.Generator, now: Array) -> Array:
    """A random pose (n,) around the home pose, clear of the table along the straight way there."""
    arm = np.array([joint.role == "arm" for joint in robot.joints])
    home = robot.home
    span_low = np.maximum(robot.lower * 0.85, home - 1.3)
    span_high = np.minimum(robot.upper * 0.85, home + 1.3)
    for _ in range(200):
        goal = np.array(now)
        goal[arm] = rng.uniform(span_low[arm], span_high[arm])
        ways = [now + share * (goal - now) for share in (0.25, 0.5, 0.75, 1.0)]
        if min(reach.lowest(way) for way in ways) > CLEARANCE:
            return goal
    return np.array(home)


class ScriptedOperator:
    """An operator's hand targets over time, the same for the same seed.

    The hand rests at the robot's home for `rest` seconds and then visits random poses that keep
    the arm above its table, at varied speeds, pausing now and then and using the gripper.

    Args:
        robot: the robot; its limits bound every target.
        seed: seed of waypoints, speeds and tremor.
        rest: time at home before the first motion [s].
        pace: multiplies every speed.
        reach: kinematics to share with others, made when absent.
    """

    def __init__(
        self,
        robot: RobotSpec,
        seed: int = 0,
        *,
        rest: float = 1.5,
        pace: float = 1.0,
        reach: Reach | None = None,
    ) -> None:
        if pace <= 0.0:
            raise ValueError(f"pace {pace}: expected a positive factor")
        self.robot = robot
        self._rng = np.random.default_rng([seed, 0x09E7])
        self._reach = reach or Reach(robot)
        self._pace = pace
        scale = np.where([joint.role == "arm" for joint in robot.joints], 1.0, 0.0)
        self._tremor = Tremor(self._rng, scale)
        home = np.array(robot.home)
        self._pieces = [Piece(0.0, max(rest, 1e-3), home, home)]
        self._starts = [0.0]

    def __call__(self, time: float) -> Array:
        """Hand target (n,) [rad or m] at `time` [s], inside the joint limits."""
        while self._pieces[-1].end <= time:
            self._plan_next()
        piece = self._pieces[max(bisect_right(self._starts, time) - 1, 0)]
        share = (time - piece.start) / (piece.end - piece.start)
        target = piece.origin + (piece.goal - piece.origin) * minimum_jerk(share)
        target = target + self._tremor(time) * float(np.clip(time / 1.0, 0.0, 1.0))
        return np.asarray(np.clip(target, self.robot.lower, self.robot.upper))

    def target(self, time: float) -> Array:
        """Same as calling the operator."""
        return self(time)

    def _plan_next(self) -> None:
        last = self._pieces[-1]
        goal = self._next_goal(last.goal)
        mean_speed = self._pace * self._rng.uniform(0.25, 0.9)  # of the fastest joint [rad/s]
        limit = self.robot.velocity_limit * 0.8 / PEAK_OF_MINIMUM_JERK
        arm = np.array([joint.type == "revolute" for joint in self.robot.joints])
        distance = np.abs(goal - last.goal)
        duration = max(
            float((distance[arm] / mean_speed).max(initial=0.0)),
            float((distance / limit).max()),
            0.4,
        )
        start = last.end
        if np.array_equal(goal, last.goal):
            duration = self._rng.uniform(0.3, 1.5)
        self._pieces.append(Piece(start, start + duration, last.goal, goal))
        self._starts.append(start)

    def _next_goal(self, now: Array) -> Array:
        choice = self._rng.uniform()
        if choice < 0.2:  # a pause
            return now
        goal = np.array(now)
        gripper = self.robot.gripper_index
        if choice < 0.35 and gripper is not None:
            low, high = self.robot.lower[gripper], self.robot.upper[gripper]
            goal[gripper] = low + (high - low) * self._rng.uniform(0.1, 0.9)
            return goal
        return clear_pose(self.robot, self._reach, self._rng, now)
