# SPDX-License-Identifier: Apache-2.0
"""The servo bus that nodes see: SI joint units, per-servo validity, honest staleness."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from na_core.robot_spec import RobotSpec
from na_teleop.buses.errors import BusError, PortError, PortProblem, ServoError

__all__ = [
    "BusCounters",
    "BusError",
    "BusSample",
    "PortError",
    "PortProblem",
    "ServoBus",
    "ServoError",
    "TorqueOffReport",
]

START_TRIES = 4  # of switching torque off at the start
START_PAUSE_S = 0.2

Array = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class BusSample:
    """What the servos reported in one tick; arrays (n,) in canonical joint order.

    A servo that did not answer has NaN (raw_position 0, hardware_error as last known) and
    `valid` False: nothing is carried over from an earlier tick.

    Attributes:
        stamp_ns: wall clock [ns] at the first reply byte; the last good read's when no servo
            answered, 0 before any did.
        position: joint position [rad or m], never clamped.
        velocity: joint velocity [rad/s or m/s].
        current: motor current [A], joint sign; NaN where not measured.
        load: load or PWM as a fraction of the maximum, joint sign; NaN where not measured.
        voltage: supply voltage at the servo [V].
        temperature: [°C].
        position_trajectory: the profile's set point [rad or m].
        raw_position: signed counts.
        hardware_error: the servo's error bits.
        valid: the servo answered in this tick.
        fresh: every servo answered in this tick, none with repeated values.
        tick_ms: the servo's own clock [ms, 0..32767]; -1 unknown.
        repeated: answered, but the servo's own clock did not move since the last read.
        rebooted: the servo's own clock jumped: it lost power or restarted since the last read.

    """

    stamp_ns: int
    position: Array
    velocity: Array
    current: Array
    load: Array
    voltage: Array
    temperature: Array
    position_trajectory: Array
    raw_position: IntArray
    hardware_error: NDArray[np.uint8]
    valid: BoolArray
    fresh: bool
    tick_ms: IntArray
    repeated: BoolArray
    rebooted: BoolArray

    @property
    def n(self) -> int:
        """Number of joints."""
        return int(self.valid.shape[0])

    @classmethod
    def nothing(cls, n: int, stamp_ns: int = 0) -> BusSample:
        """Return the sample of a tick in which no servo answered."""
        nan = np.full(n, np.nan)
        return cls(
            stamp_ns=stamp_ns,
            position=nan,
            velocity=nan.copy(),
            current=nan.copy(),
            load=nan.copy(),
            voltage=nan.copy(),
            temperature=nan.copy(),
            position_trajectory=nan.copy(),
            raw_position=np.zeros(n, dtype=np.int64),
            hardware_error=np.zeros(n, dtype=np.uint8),
            valid=np.zeros(n, dtype=bool),
            fresh=False,
            tick_ms=np.full(n, -1, dtype=np.int64),
            repeated=np.zeros(n, dtype=bool),
            rebooted=np.zeros(n, dtype=bool),
        )


@dataclass(slots=True)
class BusCounters:
    """Totals since the bus object was made; `missed` is per servo (n,)."""

    reads: int = 0
    fresh_reads: int = 0
    partial_reads: int = 0
    failed_reads: int = 0
    fast_reads: int = 0
    fast_failures: int = 0
    read_retries: int = 0
    corrupt_packets: int = 0  # incomplete or damaged
    damaged_packets: int = 0  # complete, but the checksum or the content was wrong
    goal_writes: int = 0
    register_retries: int = 0
    servo_errors: int = 0
    repeated_values: int = 0
    reopened: int = 0
    missed: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def as_dict(self) -> dict[str, int]:
        """Return the totals by name, for diagnostics."""
        names = [name for name in self.__slots__ if name != "missed"]
        return {name: int(getattr(self, name)) for name in names}


@dataclass(frozen=True, slots=True)
class TorqueOffReport:
    """Outcome of switching torque off; every servo was tried, whatever the others did."""

    released: tuple[int, ...]
    failed: dict[int, str]

    @property
    def ok(self) -> bool:
        """True when every servo confirmed."""
        return not self.failed

    def text(self) -> str:
        """One line for logs."""
        if self.ok:
            return f"torque off confirmed by ids {list(self.released)}"
        reasons = "; ".join(f"id {i}: {why}" for i, why in self.failed.items())
        return f"torque off NOT confirmed by ids {list(self.failed)} ({reasons})"


class ServoBus(ABC):
    """One serial line with the servos of one arm.

    Everything is in joint units (rad, or m for prismatic joints) and canonical joint order.
    `read` never blocks longer than its time-outs and never raises for silent servos; every
    method raises PortError once the port itself is gone.
    """

    def __init__(self, spec: RobotSpec, port: str) -> None:
        """Remember whose servos are on which port; opens nothing."""
        servos = [joint.servo for joint in spec.joints]
        if spec.offline_only or any(servo is None for servo in servos):
            raise ServoError(
                f"robot {spec.robot!r} has no servos to talk to (offline only)",
                port=port,
                remedy="choose a robot whose joints name a servo, for example omx",
            )
        self.spec = spec
        self.port = port
        self.ids: tuple[int, ...] = tuple(servo.id for servo in servos if servo is not None)
        self.models: tuple[str, ...] = tuple(s.model for s in servos if s is not None)
        self.notes: list[str] = []  # things worth a line in the log; take_notes empties it
        self.counters = BusCounters(missed=np.zeros(len(self.ids), dtype=np.int64))

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.ids)

    def take_notes(self) -> list[str]:
        """Return what the bus wants to have logged since the last call."""
        notes, self.notes = self.notes, []
        return notes

    @property
    @abstractmethod
    def is_open(self) -> bool:
        """True between `open` and `close`."""

    @abstractmethod
    def open(self) -> None:
        """Open and lock the port; raises PortError with the remedy. Writes nothing to servos."""

    @abstractmethod
    def close(self) -> None:
        """Close the port; never raises; leaves torque as it is."""

    @abstractmethod
    def read(self) -> BusSample:
        """Read every servo once, with bounded retries; raises PortError if the port is gone."""

    @abstractmethod
    def write_goal(self, q: Array) -> Array:
        """Send one goal per joint, (n,) [rad or m]; returns the goal as the registers hold it.

        The difference is rounding to counts and the servo's own position limits. Not
        acknowledged. ValueError for NaN or a wrong shape.
        """

    @abstractmethod
    def enable_torque(self) -> None:
        """Switch torque on everywhere, or nowhere: on any failure all are switched off again.

        Refused with ServoError unless every goal register is near the present position.
        """

    @abstractmethod
    def disable_torque(self) -> TorqueOffReport:
        """Switch torque off: all at once, then each by itself; never stops at the first failure."""

    def release_at_start(self) -> TorqueOffReport:
        """Switch torque off before the first tick; servos that stay silent are asked again.

        A moment without an answer is no reason not to start: a busy machine, a late adapter.
        """
        report = self.disable_torque()
        for _ in range(START_TRIES - 1):
            if report.ok:
                break
            time.sleep(START_PAUSE_S)
            report = self.disable_torque()
        return report

    @abstractmethod
    def torque_enabled(self) -> BoolArray:
        """Ask every servo whether its torque is on, (n,); raises when one does not answer."""

    @abstractmethod
    def configure(self) -> list[str]:
        """Write the settings this project needs where they differ; returns what was changed."""

    def arm_watchdog(self, timeout_s: float) -> None:  # noqa: B027
        """Have the servos stop by themselves after `timeout_s` [s] of silence; 0 disarms.

        Families without such a register do nothing.
        """

    def watchdog_tripped(self) -> tuple[int, ...]:
        """Return the ids whose watchdog has stopped them; empty where there is none."""
        return ()

    def reboot(self, id: int) -> None:
        """Restart one servo (clears latched hardware errors); torque is off afterwards."""
        raise ServoError(
            f"id {id}: this servo family cannot be restarted over the bus",
            port=self.port,
            id=id,
            remedy="switch the supply off and on",
        )
