# SPDX-License-Identifier: Apache-2.0
"""The seam between wire emulators and physics: commands in, readings out, in register units."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

_T = TypeVar("_T", bound="_Columns")


@dataclass(slots=True)
class _Columns:
    """A bundle of equally long arrays, one entry per servo in plant order."""

    def __post_init__(self) -> None:
        sizes = {f.name: np.shape(getattr(self, f.name)) for f in fields(self)}
        shapes = set(sizes.values())
        if len(shapes) != 1 or len(next(iter(shapes))) != 1:
            raise ValueError(
                f"{type(self).__name__}: every field must be a 1-D array of the same length; "
                f"got shapes {sizes}"
            )

    @classmethod
    def zeros(cls: type[_T], n: int) -> _T:
        """Return an instance for `n` servos, every integer 0 and every flag False."""
        columns: dict[str, Any] = {
            f.name: np.zeros(n, dtype=bool if "BoolArray" in str(f.type) else np.int64)
            for f in fields(cls)
        }
        return cls(**columns)

    def copy(self: _T) -> _T:
        """Return a deep copy, so that the receiver may keep it past the call."""
        return type(self)(**{f.name: getattr(self, f.name).copy() for f in fields(self)})


@dataclass(slots=True)
class ServoCommands(_Columns):
    """What the registers ask of the servos, arrays (n,) int64 in raw signed register units.

    Units follow the Dynamixel X control table: positions in counts (4096 per turn), velocities
    in 0.229 rev/min, currents in the model's current unit (2.69 mA for XM430), PWM in 1/885 of
    the supply, `profile_acceleration` in 214.577 rev/min². Positions are counts of the shaft:
    the emulator has already taken out homing offset, reverse mode and multi-turn resets, so
    `homing_offset` arrives as 0 and `drive_mode` without its reverse bit (0x01).
    """

    operating_mode: IntArray
    torque_enable: BoolArray
    goal_position: IntArray
    goal_velocity: IntArray
    goal_current: IntArray
    goal_pwm: IntArray
    profile_velocity: IntArray
    profile_acceleration: IntArray
    drive_mode: IntArray
    position_p_gain: IntArray
    position_i_gain: IntArray
    position_d_gain: IntArray
    feedforward_1st_gain: IntArray
    feedforward_2nd_gain: IntArray
    velocity_p_gain: IntArray
    velocity_i_gain: IntArray
    pwm_limit: IntArray
    current_limit: IntArray
    velocity_limit: IntArray
    homing_offset: IntArray


@dataclass(slots=True)
class ServoReadings(_Columns):
    """What the servos report, arrays (n,) int64 in raw signed register units.

    `present_position` and `position_trajectory` are unwrapped counts of the shaft. Voltage is
    in 0.1 V, temperature in °C, current in the model's unit (load in 0.1 % for models without a
    current sensor). `moving` is a flag.
    """

    present_pwm: IntArray
    present_current: IntArray
    present_velocity: IntArray
    present_position: IntArray
    velocity_trajectory: IntArray
    position_trajectory: IntArray
    present_input_voltage: IntArray
    present_temperature: IntArray
    moving: BoolArray


@runtime_checkable
class ArmPlant(Protocol):
    """Physics behind a bus of `n` servos; driven by one caller at a time."""

    n: int
    time: float  # plant clock [s], starts at 0

    def advance(self, until: float, commands: ServoCommands) -> None:
        """Integrate to plant time `until` [s] with `commands` held; no-op when not later."""
        ...

    def readings(self) -> ServoReadings:
        """Return the quantised, noisy register values at plant time `time`."""
        ...
