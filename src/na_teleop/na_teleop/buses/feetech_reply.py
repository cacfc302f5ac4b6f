# SPDX-License-Identifier: Apache-2.0
"""From the bytes of registers 40 to 70 to SI joint units, for all servos of an arm at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from na_core.control_tables import FEETECH_STS, span
from na_core.raw_si import JointConversion
from na_teleop.buses.base import Array, BoolArray, IntArray
from na_teleop.buses.noise_guard import ImageField
from na_teleop.buses.sign_magnitude import decode_array

# Torque, goal and limits are read as well: they tell a servo that lost power, or repeats itself.
READ_ADDRESS, READ_LENGTH = span(FEETECH_STS, "torque_enable", "present_current")

# Image of one servo: error field of the status packet, then the registers, little endian; signed
# fields are sign-magnitude.
REPLY = np.dtype(
    [
        ("status", "u1"),
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
_STEADY = (
    "status",
    "torque_enable",
    "acceleration",
    "goal_position",
    "goal_time",
    "goal_velocity",
    "torque_limit",
    "lock",
    "registered",
    "error",
)
# Two reads of a tick lie up to 6 ms apart; one count of flicker shows as 125 count/s.
FIELDS = (
    *(ImageField(name, 0) for name in _STEADY),
    ImageField("position", 3, per_speed=0.006, sign_bit=POSITION_BIT),
    ImageField("velocity", 300, per_speed=0.2, sign_bit=VELOCITY_BIT),
    ImageField("load", 100, sign_bit=LOAD_BIT),
    ImageField("current", 20, sign_bit=CURRENT_BIT),
    ImageField("voltage", 2),
    ImageField("temperature", 1),
)


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
        and row["error"] | row["status"] <= 0x3F
    )


def decode(images: Sequence[bytes | None], conversion: JointConversion) -> Measured:
    """Return what `images` say, one per joint in canonical order."""
    blank = bytes(REPLY.itemsize)
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
        error=np.where(valid, (raw["error"] | raw["status"]).astype(np.int64), 0),
    )
