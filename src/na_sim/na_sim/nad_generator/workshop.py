# SPDX-License-Identifier: Apache-2.0
"""What plan builders share: kinematics, random poses, paths at ticks, operator variability."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from na_sim.operator import Tremor, clear_pose, minimum_jerk
from na_sim.reach import Reach

if TYPE_CHECKING:
    from na_core.robot_spec import RobotSpec

Array = NDArray[np.float64]

RATE = 58.6  # Hz, control rate of the paper's recordings
HOUSING_RANGE = (26.0, 47.0)  # degC at the start, drawn alike for every kind of episode
LIMIT_MARGIN = 0.06  # rad kept to the joint limits
GRASP_POSITION = 0.003  # m, finger position at which the block is touched
SQUEEZE = (0.0004, 0.0012)  # m that the operator closes beyond it
GRIPPER_STYLES = ("grasp", "closing_empty", "idle_open", "idle_closed")
GRIPPER_SHARES = (0.5, 0.1, 0.2, 0.2)


@dataclass
class Workshop:
    """Shared by all builders of one run.

    Attributes:
        robot: the robot.
        reach: its kinematics.
        rate: control rate [Hz].
        pace: multiplies every speed.
        anywhere: poses are those of an operator who moves the arm all over its joint range.
    """

    robot: RobotSpec
    reach: Reach
    rate: float = RATE
    pace: float = 1.0
    anywhere: bool = False

    @property
    def arm(self) -> list[int]:
        """Indices of the arm's joints (without the gripper)."""
        return [j for j, joint in enumerate(self.robot.joints) if joint.role == "arm"]

    def ticks(self, seconds: float) -> int:
        """Number of control ticks in `seconds`."""
        return max(round(seconds * self.rate), 2)

    def times(self, count: int) -> Array:
        """Nominal tick times (count,) [s]."""
        return np.arange(count) / self.rate

    def housing(self, rng: np.random.Generator, stratum: float) -> Array:
        """Case temperatures at the start of an episode (n,) [degC]: one level, small spread.

        `stratum` in 0..1 places the level, see strata.py.
        """
        level = HOUSING_RANGE[0] + (HOUSING_RANGE[1] - HOUSING_RANGE[0]) * stratum
        return np.asarray(level + rng.normal(0.0, 1.5, self.robot.n))

    def pose_at(
        self, rng: np.random.Generator, radius: tuple[float, float], height: tuple[float, float]
    ) -> Array:
        """Joints (n,) with the tip at a random place of this radius [m] and height [m]."""
        for _ in range(60):
            azimuth = rng.uniform(-1.3, 1.3)
            r = rng.uniform(*radius)
            target = np.array([r * np.cos(azimuth), r * np.sin(azimuth), rng.uniform(*height)])
            start = np.array(self.robot.home)
            start[0] = azimuth
            q, distance = self.reach.solve(target, start, pitch=rng.uniform(-0.3, 1.1))
            if distance < 0.004 and self.inside(q) and self.reach.lowest(q) > 0.02:
                return q
        return np.array(self.robot.home)

    def free_pose(self, rng: np.random.Generator, now: Array | None = None) -> Array:
        """A random comfortable pose (n,), or any pose with a clear way from `now` (n,)."""
        if self.anywhere:
            start = np.array(self.robot.home) if now is None else now
            return clear_pose(self.robot, self.reach, rng, start)
        return self.pose_at(rng, (0.13, 0.30), (0.08, 0.30))

    def inside(self, q: Array) -> bool:
        """Whether the arm joints of `q` (n,) keep LIMIT_MARGIN to their limits."""
        arm = self.arm
        low = self.robot.lower[arm] + LIMIT_MARGIN
        high = self.robot.upper[arm] - LIMIT_MARGIN
        return bool(np.all(q[arm] > low) and np.all(q[arm] < high))

    def move(self, q: Array, displacement: Array) -> Array:
        """Joints (n,) with the tip displaced by (3,) [m] from that of `q`, orientation free."""
        target = self.reach.tip(q) + displacement
        moved, _ = self.reach.solve(target, q)
        return moved

    def tremble(self, rng: np.random.Generator, path: Array) -> Array:
        """`path` (T, n) with an operator's tremor and wander on the arm joints, inside limits."""
        scale = np.zeros(self.robot.n)
        scale[self.arm] = rng.uniform(0.5, 1.5)
        tremor = Tremor(rng, scale)
        times = self.times(len(path))
        offsets = tremor.many(times)
        return np.clip(path + offsets, self.robot.lower, self.robot.upper)


def through(times: Array, stops: Sequence[tuple[float, Array]]) -> Array:
    """Minimum-jerk path (T, n) through `stops` = (arrival time [s], joints (n,)).

    Two stops with equal joints make a pause. Before the first and after the last the arm stands.
    """
    if not stops:
        raise ValueError("a path needs at least one stop")
    arrive = np.array([stop[0] for stop in stops])
    joints = np.stack([stop[1] for stop in stops])
    index = np.clip(np.searchsorted(arrive, times, side="right") - 1, 0, len(stops) - 1)
    following = np.minimum(index + 1, len(stops) - 1)
    span = np.maximum(arrive[following] - arrive[index], 1e-9)
    blend = minimum_jerk((times - arrive[index]) / span)[:, None]
    path = joints[index] + (joints[following] - joints[index]) * blend
    return np.asarray(path)


class Stops:
    """Builds the stops of a path: go there at a speed, wait, and so on."""

    def __init__(self, start: Array, pace: float = 1.0) -> None:
        self.time = 0.0
        self.now = np.array(start)
        self.pace = pace
        self.stops: list[tuple[float, Array]] = [(0.0, self.now.copy())]

    def wait(self, seconds: float) -> float:
        """Stand for `seconds`; returns the time when the wait ends [s]."""
        if seconds > 0.0:
            self.time += seconds
            self.stops.append((self.time, self.now.copy()))
        return self.time

    def go(self, goal: Array, speed: float, shortest: float = 0.35) -> float:
        """Move to `goal` (n,) with mean speed `speed` [rad/s] of the fastest joint; arrival [s]."""
        distance = np.abs(goal - self.now)
        distance[distance < 0.03] *= 8.0  # slides are in metres: about the same effort
        duration = max(float(distance.max()) / (speed * self.pace), shortest / self.pace)
        self.time += duration
        self.now = np.array(goal)
        self.stops.append((self.time, self.now.copy()))
        return self.time

    def grip(self, index: int | None, position: float, seconds: float = 0.5) -> float:
        """Move the gripper (joint `index`) to `position` [m or rad]; returns arrival [s]."""
        if index is None:
            return self.wait(seconds)
        goal = self.now.copy()
        goal[index] = position
        self.time += seconds
        self.now = goal
        self.stops.append((self.time, goal.copy()))
        return self.time
