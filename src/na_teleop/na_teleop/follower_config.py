# SPDX-License-Identifier: Apache-2.0
"""Times and thresholds of the follower, checked once."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class FollowerConfig:
    """How the follower starts, follows, holds and parks.

    Attributes:
        control_rate: ticks per second [Hz].
        ramp_s: time over which the arm blends from where it stands to the leader [s].
        hold_after_s: silence of the leader after which the goal is frozen [s].
        park_after_s: silence of the leader after which the arm parks [s].
        resume_after_silence: start again by itself when the leader comes back after such a park.
        park_speed: share of each joint's velocity limit used for parking.
        park_timeout_s: time after which torque goes off even if the arm has not arrived [s].
        park_settle_s: time given to the arm to catch up with the last park goal [s].
        park_tolerance: distance to the park pose that counts as arrived [rad of the servo].
        max_failed_reads: incomplete reads in a row that make a fault.
        release_attempts: tries of switching torque off before giving up on confirmation.
        watchdog_s: silence of this program after which the servos stop by themselves [s]; 0: off.
        stall_after_s: time that a joint may stand still far from its goal [s]; 0: any.
        stall_distance: how far that is [rad of the servo].
        present_memory_s: age up to which a measured position is used to stop at [s].

    """

    control_rate: float = 60.0
    ramp_s: float = 2.0
    hold_after_s: float = 0.25
    park_after_s: float = 5.0
    resume_after_silence: bool = True
    park_speed: float = 0.25
    park_timeout_s: float = 10.0
    park_settle_s: float = 0.5
    park_tolerance: float = 0.05
    max_failed_reads: int = 6
    release_attempts: int = 3
    watchdog_s: float = 0.5
    present_memory_s: float = 0.25
    stall_after_s: float = 0.5
    stall_distance: float = 0.25

    def __post_init__(self) -> None:
        """Refuse values that make no sense, naming parameter, value and expectation."""
        for entry in fields(self):
            value = getattr(self, entry.name)
            if isinstance(value, bool):
                continue
            zero_ok = entry.name in ("ramp_s", "watchdog_s", "park_settle_s", "stall_after_s")
            if not (value > 0 or (zero_ok and value == 0)):
                raise ValueError(
                    f"follower parameter {entry.name} is {value}, expected "
                    f"{'zero or more' if zero_ok else 'more than zero'}"
                )
        if self.park_after_s <= self.hold_after_s:
            raise ValueError(
                f"follower parameter park_after_s is {self.park_after_s}, expected more than "
                f"hold_after_s ({self.hold_after_s})"
            )
        if self.park_speed > 1.0:
            raise ValueError(
                f"follower parameter park_speed is {self.park_speed}, expected at most 1"
            )

    @property
    def longest_step_s(self) -> float:
        """Time that a gap between two ticks counts for in the rate limit [s]."""
        return 1.5 / self.control_rate
