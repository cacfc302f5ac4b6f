# SPDX-License-Identifier: Apache-2.0
"""What a bus of any family offers to those who look at its servos before anything moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from na_core.raw_si import JointConversion
from na_core.robot_spec import RobotSpec
from na_teleop.buses.dynamixel_settings import Role, Setting


class Heard(Protocol):
    """A status packet: at least, who sent it."""

    @property
    def id(self) -> int:
        """Id of the sender."""
        ...


class InspectionOptions(Protocol):
    """The options that an inspection looks at."""

    @property
    def role(self) -> Role:
        """Leader or follower."""
        ...

    @property
    def reset_geometry(self) -> bool:
        """Settings that move a joint's zero or direction are written, not reported."""
        ...


class InspectionLine(Protocol):
    """Questions to single servos; none of them writes a register."""

    def ping(self, id: int, attempts: int = ...) -> tuple[int, int] | None:
        """Return (model number, firmware) of a servo, None when it is silent."""
        ...

    def broadcast_ping(self, longest_s: float = ...) -> dict[int, tuple[int, int]]:
        """Return who answers: id → (model number, firmware)."""
        ...

    def overhear(self, id: int, address: int, length: int) -> tuple[Sequence[Heard], int]:
        """Read once; return every intact reply and the number of bytes heard."""
        ...

    def set_baud(self, baud: int) -> None:
        """Talk at another rate [bit/s]."""
        ...


@runtime_checkable
class InspectableBus(Protocol):
    """A servo bus of a known family.

    Attributes:
        baud_rates: value of the baud rate register → bit/s.
        hardware_error_bits: names of the bits of hardware_error_status.
        identity_block: address and length of registers that differ from servo to servo.
        first_firmware_with_watchdog: None where the family has no bus watchdog.

    """

    spec: RobotSpec
    port: str
    ids: tuple[int, ...]
    models: tuple[str, ...]
    baud: int
    baud_rates: Mapping[int, int]
    hardware_error_bits: Mapping[int, str]
    identity_block: tuple[int, int]
    first_firmware_with_watchdog: int | None
    conversion: JointConversion

    @property
    def n(self) -> int:
        """Number of joints."""
        ...

    @property
    def options(self) -> InspectionOptions:
        """Role and whether geometry may be reset."""
        ...

    @property
    def line(self) -> InspectionLine:
        """Questions to single servos."""
        ...

    @property
    def is_open(self) -> bool:
        """True between `open` and `close`."""
        ...

    def open(self) -> None:
        """Open and lock the port."""
        ...

    def close(self) -> None:
        """Close the port."""
        ...

    def read_table(self, id: int) -> dict[str, int]:
        """Return the registers of a servo by name, raw values."""
        ...

    def settings(self, joint: int) -> tuple[Setting, ...]:
        """Return the settings that a joint needs."""
        ...
