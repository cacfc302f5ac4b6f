# SPDX-License-Identifier: Apache-2.0
"""What a Feetech servo is when it comes onto the bus: model, id, speed, deviations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from na_core.control_tables import FEETECH_BAUD_RATES

# bit/s → value of the baud_rate register.
BAUD_VALUES: Mapping[int, int] = {rate: value for value, rate in FEETECH_BAUD_RATES.items()}


@dataclass(frozen=True)
class FeetechServoConfig:
    """A servo as it comes onto the bus.

    `registers` overrides factory values by register name (raw units). `plant_index` is the
    servo's row in the plant (None: its place in the list). `connected` False: never on the wire.
    `goal_enables_torque`: a written goal switches torque on, as some firmware does.
    `knows_sync_read` False: firmware that ignores sync reads.
    """

    id: int
    model: str = "sts3215"
    baud: int = 1_000_000  # bit/s
    return_delay_us: int = 0  # rounded down to 2 µs; factory value 500
    model_number: int | None = None
    firmware: tuple[int, int] = (3, 10)
    plant_index: int | None = None
    connected: bool = True
    goal_enables_torque: bool = False
    knows_sync_read: bool = True
    boot_time: float = 0.2  # s without answers after a reboot (guess)
    registers: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.baud not in BAUD_VALUES:
            raise ValueError(
                f"servo {self.id}: baud {self.baud} is not one of {sorted(BAUD_VALUES)}"
            )
        if not 0 <= self.id <= 253:
            raise ValueError(f"servo id {self.id} is outside 0 to 253")
