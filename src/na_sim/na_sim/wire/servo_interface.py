# SPDX-License-Identifier: Apache-2.0
"""What the shared parts of an emulated bus ask of a servo, whatever protocol it speaks."""

from __future__ import annotations

from typing import Protocol


class WireServo(Protocol):
    """One emulated servo; positions are counts of its shaft, times the bus's clock in seconds.

    Attributes:
        index: row in the plant; None: no shaft attached.
        connected: its cable is plugged in.
        ready_at: deaf until then [s].
        last_heard: when it last heard a valid instruction [s].
        dirty: `commands` has changed since it was last asked for.
        report_offset: counts added to the positions it reports, and only there (a fault).

    """

    index: int | None
    connected: bool
    ready_at: float
    last_heard: float
    dirty: bool
    report_offset: int

    @property
    def id(self) -> int:
        """Its id on the bus now."""
        ...

    @property
    def baud(self) -> int:
        """Speed it listens at [bit/s]."""
        ...

    @property
    def return_delay(self) -> float:
        """Delay before its answers [s]."""
        ...

    @property
    def torque_on(self) -> bool:
        """Whether the motor is driven."""
        ...

    def commands(self) -> dict[str, int]:
        """Return the servo's row of ServoCommands."""
        ...

    def observe(self, shaft: int, row: tuple[int, ...], now: float, moving: bool) -> None:
        """Take the plant's readings: PWM, current, velocity, two trajectories, V, °C in `row`."""
        ...

    def observe_nothing(self, now: float) -> None:
        """Take constant readings: no shaft is attached."""
        ...

    def watchdog_deadline(self) -> float:
        """Return when it stops by itself if nothing is heard [s]; infinity when never."""
        ...

    def trip_watchdog(self) -> None:
        """Stop where the servo is."""
        ...

    def power_on(self, now: float) -> None:
        """Boot for the first time, ready at once."""
        ...

    def reboot(self, now: float) -> None:
        """Boot: torque off, RAM lost, deaf for the boot time."""
        ...

    def inject_hardware_error(self, bits: int) -> None:
        """Make hardware error `bits` present; 0: gone."""
        ...
