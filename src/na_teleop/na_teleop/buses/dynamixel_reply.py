# SPDX-License-Identifier: Apache-2.0
"""From the bytes of registers 120 to 146 to SI joint units, for all servos of an arm at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from na_core.control_tables import DYNAMIXEL_X, span
from na_core.raw_si import JointConversion
from na_core.robot_spec import RobotSpec
from na_teleop.buses.base import Array, IntArray
from na_teleop.buses.dynamixel_packets import Status
from na_teleop.buses.noise_guard import ImageField

READ_ADDRESS, READ_LENGTH = span(DYNAMIXEL_X, "realtime_tick", "present_temperature")
PWM_FULL_SCALE = 885.0  # Present PWM of the whole supply

# Little-endian image of the registers of one servo. `current` is Present Load on an XL430.
REPLY = np.dtype(
    [
        ("realtime_tick", "<u2"),
        ("moving", "u1"),
        ("moving_status", "u1"),
        ("pwm", "<i2"),
        ("current", "<i2"),
        ("velocity", "<i4"),
        ("position", "<i4"),
        ("velocity_trajectory", "<i4"),
        ("position_trajectory", "<i4"),
        ("voltage", "<u2"),
        ("temperature", "u1"),
    ]
)
# Two reads of a tick lie up to some milliseconds apart, more where servos were silent.
FIELDS = (
    ImageField("realtime_tick", 100),
    ImageField("pwm", 80),
    ImageField("current", 60),
    ImageField("velocity", 20, per_speed=0.2),
    ImageField("position", 4, per_speed=0.15),  # 15.6 count/s per unit of velocity, 10 ms
    ImageField("velocity_trajectory", 20, per_speed=0.2),
    ImageField("position_trajectory", 4, per_speed=0.15),
    ImageField("voltage", 2),
    ImageField("temperature", 1),
)


@dataclass(frozen=True, slots=True)
class Measured:
    """Decoded values, arrays (n,); NaN (tick -1, raw 0) where a servo did not answer.

    Units as in BusSample. `load` is the load register where the model has one, else PWM as a
    fraction of the supply.
    """

    tick_ms: IntArray
    raw_position: IntArray
    position: Array
    velocity: Array
    current: Array
    load: Array
    voltage: Array
    temperature: Array
    position_trajectory: Array


class ReplyDecoder:
    """Decodes replies of mixed models in canonical joint order."""

    def __init__(self, spec: RobotSpec, conversion: JointConversion) -> None:
        """Take models and signs from `spec`, units from `conversion`."""
        servos = [joint.servo for joint in spec.joints if joint.servo is not None]
        self._convert = conversion
        self._has_current = np.array([servo.info.has_current for servo in servos])
        self._has_load = np.array([servo.info.has_load for servo in servos])
        self._sign = np.array([servo.sign for servo in servos])

    def decode(self, replies: Sequence[Status | None]) -> Measured:
        """Return what `replies` say, one per joint; the last READ_LENGTH bytes of each count."""
        blank = bytes(READ_LENGTH)
        image = b"".join(blank if r is None else r.data[-READ_LENGTH:] for r in replies)
        raw = np.frombuffer(image, dtype=REPLY)
        valid = np.array([reply is not None for reply in replies])
        convert = self._convert

        def measured(values: Array) -> Array:
            return np.where(valid, values, np.nan)

        current = np.where(self._has_current, convert.current_from_raw(raw["current"]), np.nan)
        pwm = self._sign * raw["pwm"] / PWM_FULL_SCALE
        load = np.where(self._has_load, convert.load_from_raw(raw["current"]), pwm)
        return Measured(
            tick_ms=np.where(valid, raw["realtime_tick"].astype(np.int64), -1),
            raw_position=np.where(valid, raw["position"].astype(np.int64), 0),
            position=measured(convert.position_from_raw(raw["position"])),
            velocity=measured(convert.velocity_from_raw(raw["velocity"])),
            current=measured(current),
            load=measured(load),
            voltage=measured(convert.voltage_from_raw(raw["voltage"])),
            temperature=measured(convert.temperature_from_raw(raw["temperature"])),
            position_trajectory=measured(convert.position_from_raw(raw["position_trajectory"])),
        )
