# SPDX-License-Identifier: Apache-2.0
"""Register counts to SI joint units and back, for all joints of one robot at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from na_core.robot_types import RobotSpec

Array = NDArray[np.float64]


def _rounded(values: Array) -> NDArray[np.int32]:
    counts: NDArray[np.int32] = np.rint(values).astype(np.int32)
    return counts


class JointConversion:
    """Vectorised conversion for every joint of a robot; arguments end in an axis of length n.

    ``joint = ratio * sign * (raw - zero_count) * 2 pi / 4096`` [rad, or m for a slide]

    Nothing is clamped and nothing is smoothed: a measurement comes out as it went in. NaN stands
    for what a servo model cannot measure.

    Args:
        spec: a robot with servos.

    Raises:
        ValueError: the robot is offline only and has no servos.
    """

    def __init__(self, spec: RobotSpec) -> None:
        servos = [joint.servo for joint in spec.joints]
        bound = [servo for servo in servos if servo is not None]
        if len(bound) != len(servos):
            raise ValueError(f"robot '{spec.robot}' is offline only: expected a servo per joint")
        models = [servo.info for servo in bound]
        self.n = spec.n
        self.names = spec.names
        self.zero_count: NDArray[np.int64] = np.array(
            [servo.zero_count for servo in bound], dtype=np.int64
        )
        self.sign: Array = np.array([servo.sign for servo in bound], dtype=np.float64)
        self.ratio: Array = np.array(
            [joint.ratio for joint in spec.joints]
        )  # joint units per servo rad
        count_angle = np.array([model.count_angle for model in models])
        self.position_scale: Array = self.ratio * self.sign * count_angle  # joint units per count
        speed = np.array([model.velocity_unit for model in models])
        self.velocity_scale: Array = self.ratio * self.sign * speed
        current = np.array([model.current_unit for model in models])
        self.current_scale: Array = self.sign * current
        self.load_scale: Array = self.sign * np.array([model.load_unit for model in models])
        self.voltage_scale: Array = np.array([model.voltage_unit for model in models])
        self.temperature_scale: Array = np.array([model.temperature_unit for model in models])

    def position_from_raw(self, raw: ArrayLike) -> Array:
        """Counts (..., n) to joint positions (..., n) [rad or m]."""
        return np.asarray((self._counts(raw) - self.zero_count) * self.position_scale)

    def raw_from_position(self, position: ArrayLike) -> NDArray[np.int32]:
        """Joint positions (..., n) [rad or m] to the nearest counts; not clamped to any range.

        Raises:
            ValueError: a position is NaN or infinite, which no register can hold.
        """
        values = self._shaped(position)
        if not np.isfinite(values).all():
            finite = np.isfinite(values).reshape(-1, self.n)
            bad = [name for i, name in enumerate(self.names) if not finite[:, i].all()]
            raise ValueError(f"position of {', '.join(bad)} is not finite: expected a number")
        return _rounded(values / self.position_scale + self.zero_count)

    def velocity_from_raw(self, raw: ArrayLike) -> Array:
        """Speed counts (..., n) to joint speeds (..., n) [rad/s or m/s]."""
        return np.asarray(self._counts(raw) * self.velocity_scale)

    def raw_from_velocity(self, velocity: ArrayLike) -> NDArray[np.int32]:
        """Joint speeds (..., n) [rad/s or m/s] to the nearest speed counts."""
        return _rounded(self._shaped(velocity) / self.velocity_scale)

    def current_from_raw(self, raw: ArrayLike) -> Array:
        """Current counts to A (..., n), positive towards growing position; NaN if unmeasured."""
        return np.asarray(self._counts(raw) * self.current_scale)

    def load_from_raw(self, raw: ArrayLike) -> Array:
        """Load counts to drive fraction (..., n), sign as for current; NaN where unmeasured."""
        return np.asarray(self._counts(raw) * self.load_scale)

    def voltage_from_raw(self, raw: ArrayLike) -> Array:
        """Voltage counts to V (..., n)."""
        return np.asarray(self._counts(raw) * self.voltage_scale)

    def temperature_from_raw(self, raw: ArrayLike) -> Array:
        """Temperature counts to °C (..., n)."""
        return np.asarray(self._counts(raw) * self.temperature_scale)

    def _counts(self, raw: ArrayLike) -> Array:
        array = np.asarray(raw)
        if array.dtype.kind == "u":
            # Unsigned differences would wrap around instead of going negative.
            array = array.astype(np.int64)
        return self._shaped(array)

    def _shaped(self, values: ArrayLike) -> Array:
        array = np.asarray(values, dtype=np.float64)
        if array.shape[-1:] != (self.n,):
            raise ValueError(
                f"shape {array.shape}: expected a last axis of {self.n}, one value per joint "
                f"({', '.join(self.names)})"
            )
        return array

    def __repr__(self) -> str:
        return f"JointConversion({', '.join(self.names)})"
