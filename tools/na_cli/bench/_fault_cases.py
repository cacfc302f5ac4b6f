# SPDX-License-Identifier: Apache-2.0
"""The faults that the bench injects, for each servo family, and what mends them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

FAMILIES = {"dynamixel": "omx", "feetech": "so101"}
PHASES = ("ramp", "motion", "rest")


@dataclass(frozen=True)
class Case:
    """One row of the bench.

    Attributes:
        name: of the row.
        faults: catalogue names with their parameters, begun together.
        one: they concern one servo in the middle of the arm.
        power_cycle: what a person does to mend it: supply off and on.
        lies: the sensor itself is wrong, which no bus can tell at once; such samples are counted
            as lies, not as stale ones.

    """

    name: str
    faults: tuple[tuple[str, Mapping[str, Any]], ...]
    one: bool = False
    power_cycle: bool = False
    lies: bool = False
    families: tuple[str, ...] = field(default=tuple(FAMILIES))


def _one(name: str, *, row: str = "", lies: bool = False, **parameters: Any) -> Case:
    return Case(row or name, ((name, parameters),), one=True, lies=lies)


def _all(name: str, *, row: str = "", **parameters: Any) -> Case:
    return Case(row or name, ((name, parameters),))


_STATUS = {
    "dynamixel": {
        "result fail": 1,
        "instruction": 2,
        "CRC": 3,
        "data range": 4,
        "data length": 5,
        "data limit": 6,
        "access": 7,
        "alert": 0x80,
    },
    "feetech": {
        "voltage": 0x01,
        "encoder": 0x02,
        "overheating": 0x04,
        "overcurrent": 0x08,
        "overload": 0x20,
    },
}


def cases(family: str) -> list[Case]:
    """Return the rows of a servo family."""
    latch = family == "feetech"  # cannot be restarted over the bus
    rows = [
        _all("drop_bytes", row="drop 2 % of bytes", rate=0.02),
        _all("corrupt_bytes", row="corrupt 1 % of bytes", rate=0.01),
        _all("corrupt_bytes", row="corrupt 5 % of bytes", rate=0.05),
        _all("duplicate_bytes", row="double 2 % of bytes", rate=0.02),
        _all("delay_bytes", row="answers 30 ms late, one in five", delay=0.03, rate=0.2),
        _all("latency_timer", row="latency timer 16 ms"),
        _all("return_delay", row="return delay 500 µs"),
        _all("no_fast_reads", row="no fast sync read" if not latch else "no sync read"),
        _one("silent", row="one servo silent"),
        _all("silent", row="whole bus silent"),
        _all("cable_pulled", row="cable pulled and put back"),
        _all("cable_pulled", row="cable replugged, another name", replug_as="elsewhere"),
        _all("brown_out", row="brown-out"),
        Case("overload latch", (("overload", {}),), one=True, power_cycle=latch),
        Case("overheat latch", (("overheat", {}),), one=True, power_cycle=latch),
        _one("encoder_wrap", row="encoder wraps, +1 turn", turns=1),
        _one("encoder_wrap", row="encoder wraps, −1 turn", turns=-1),
        _one("multi_turn", row="multi-turn, −3 turns"),
        _one("power_on_turn", row="power-on in another turn"),
        _one("stuck_encoder", row="stuck encoder", lies=True),
        _one("repeated_values", row="repeated values"),
        Case(
            "EEPROM locked, settings lost",
            (("eeprom_locked", {}), ("return_delay", {}), ("brown_out", {})),
        ),
    ]
    for text, code in _STATUS[family].items():
        rows.append(_one("status_error", row=f"status error: {text}", code=code))
    return rows
