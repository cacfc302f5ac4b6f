# SPDX-License-Identifier: Apache-2.0
"""From the bytes of registers 40 to 70 to SI joint units, for all servos of an arm at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from na_core.control_tables import FEETECH_STS, span
from na_core.raw_si import JointConversion
from na_teleop.buses.base import Array, BoolArray, IntArray
from na_teleop.buses.sign_magnitude import decode_array

# Torque, goal and limits are read as well: they tell a servo that lost power, or repeats itself.
READ_ADDRESS, READ_LENGTH = span(FEETECH_STS, "torque_enable", "present_current")

# Little-endian image of the registers of one servo; signed fields are sign-magnitude.
REPLY = np.dtype(
    [
        ("torque_enable", "u1"),
        ("acceleration", "u1"),
        ("goal_position", "<u2"),
        ("goal_time", "<u2"),
        ("goal_velocity", "<u2"),
        ("torque_limit", "<u2"),
        ("undocumented", "V5"),
        ("lock", "u1"),
        ("position", "<u2"),
        ("velocity", "<u2"),
        ("load", "<u2"),
        ("voltage", "u1"),
        ("temperature", "u1"),
        ("registered", "u1"),
        ("error", "u1"),
        ("moving", "u1"),
        ("undocumented2", "V2"),
        ("current", "<u2"),
    ]
)
POSITION_BIT, VELOCITY_BIT, LOAD_BIT, CURRENT_BIT = 15, 15, 10, 15
_KNOWN = ("torque_enable", "acceleration", "goal_position", "goal_time", "goal_velocity")
_STEADY = (*_KNOWN, "torque_limit", "lock", "error", "registered")
SETTLED_COUNTS = 3  # difference of two positions of a servo at rest
BETWEEN_READS_S = 0.006  # longest time between two images of one tick
VELOCITY_SLACK = 12  # count/s
LOAD_SLACK, CURRENT_SLACK = 30, 6  # 0.1 %, 6.5 mA


@dataclass(frozen=True, slots=True)
class Measured:
    """Decoded values, arrays (n,); NaN (raw 0) where a servo did not answer.

    Units as in BusSample. `torque_limit`: raw; `torque`: the servo says that its torque is on;
    `error`: hardware error bits.
    """

    raw_position: IntArray
    position: Array
    velocity: Array
    current: Array
    load: Array
    voltage: Array
    temperature: Array
    goal: Array
    torque: BoolArray
    torque_limit: IntArray
    error: IntArray


def plausible(image: bytes) -> bool:
    """Return whether an image can be a servo's: flags are flags, voltage and heat are possible."""
    row = np.frombuffer(image, dtype=REPLY)[0]
    flags = all(row[name] <= 1 for name in ("torque_enable", "lock", "registered", "moving"))
    return bool(
        flags
        and row["torque_limit"] <= 1000
        and 20 <= row["voltage"] <= 200
        and row["temperature"] <= 150
        and row["error"] <= 0x3F
    )


def agree(earlier: bytes, later: bytes) -> bool:
    """Return whether two images of one servo, read within one tick, can both be true."""
    a, b = np.frombuffer(earlier + later, dtype=REPLY)
    if any(a[name] != b[name] for name in _STEADY if name != "torque_limit"):
        return False

    def apart(name: str, bit: int) -> int:
        first, second = decode_array([a[name], b[name]], bit)
        return int(abs(first - second))

    speed = abs(int(decode_array(a["velocity"], VELOCITY_BIT)))
    return bool(
        apart("position", POSITION_BIT) <= SETTLED_COUNTS + speed * BETWEEN_READS_S
        and apart("velocity", VELOCITY_BIT) <= VELOCITY_SLACK + speed // 8
        and apart("load", LOAD_BIT) <= LOAD_SLACK
        and apart("current", CURRENT_BIT) <= CURRENT_SLACK
        and abs(int(a["voltage"]) - int(b["voltage"])) <= 1
        and abs(int(a["temperature"]) - int(b["temperature"])) <= 1
    )


def decode(images: Sequence[bytes | None], conversion: JointConversion) -> Measured:
    """Return what `images` say, one per joint in canonical order."""
    blank = bytes(READ_LENGTH)
    raw = np.frombuffer(b"".join(image or blank for image in images), dtype=REPLY)
    valid = np.array([image is not None for image in images])

    def measured(values: Array) -> Array:
        return np.where(valid, values, np.nan)

    position = decode_array(raw["position"], POSITION_BIT)
    return Measured(
        raw_position=np.where(valid, position, 0),
        position=measured(conversion.position_from_raw(position)),
        velocity=measured(
            conversion.velocity_from_raw(decode_array(raw["velocity"], VELOCITY_BIT))
        ),
        current=measured(conversion.current_from_raw(decode_array(raw["current"], CURRENT_BIT))),
        load=measured(conversion.load_from_raw(decode_array(raw["load"], LOAD_BIT))),
        voltage=measured(conversion.voltage_from_raw(raw["voltage"])),
        temperature=measured(conversion.temperature_from_raw(raw["temperature"])),
        goal=measured(
            conversion.position_from_raw(decode_array(raw["goal_position"], POSITION_BIT))
        ),
        torque=valid & (raw["torque_enable"] == 1),
        torque_limit=raw["torque_limit"].astype(np.int64),
        error=np.where(valid, raw["error"].astype(np.int64), 0),
    )
