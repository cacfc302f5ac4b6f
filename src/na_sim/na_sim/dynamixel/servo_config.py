# SPDX-License-Identifier: Apache-2.0
"""What a servo is when it comes onto the bus: model, id, speed, firmware, deviations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from na_core.control_tables import DYNAMIXEL_BAUD_RATES

# bit/s → value of the baud_rate register.
BAUD_VALUES: Mapping[int, int] = {rate: value for value, rate in DYNAMIXEL_BAUD_RATES.items()}


def first_fast_read_firmware(model: str) -> int:
    """Return the firmware version from which `model` knows fast sync and fast bulk read."""
    return 46 if model.startswith("xl330") else 45


@dataclass(frozen=True)
class ServoConfig:
    """A servo as it comes onto the bus.

    `registers` overrides factory values by register name (raw units), id, baud and return delay
    included. `model_number` and `firmware` are what it claims to be. `plant_index` is the
    servo's row in the plant (None: its place in the list). `connected` False: present in the
    list, never on the wire. Firmware below 45 (XL330: 46) has no fast reads; it ignores a
    broadcast it does not know, unless `refuses_unknown_broadcast`, when it answers with an
    instruction error. `torque_on_resets_goal` makes torque-on copy present to goal position.
    """

    id: int
    model: str = "xm430-w350"
    baud: int = 1_000_000  # bit/s
    return_delay_us: int = 0  # rounded down to 2 µs; factory value 500
    firmware: int = 48
    model_number: int | None = None
    plant_index: int | None = None
    connected: bool = True
    refuses_unknown_broadcast: bool = False
    torque_on_resets_goal: bool = False
    boot_time: float = 0.2  # s without answers after a reboot (guess)
    registers: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.baud not in BAUD_VALUES:
            raise ValueError(
                f"servo {self.id}: baud {self.baud} is not one of {sorted(BAUD_VALUES)}"
            )
        if not 0 <= self.id <= 252:
            raise ValueError(f"servo id {self.id} is outside 0 to 252")
