# SPDX-License-Identifier: Apache-2.0
"""Telemetry of many ticks as arrays: the one input of every feature set."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class FeatureError(ValueError):
    """An input, a rule or a name does not fit the feature set; the text says what was expected."""


@dataclass(frozen=True)
class Ticks:
    """Telemetry in canonical joint order; every array is (..., n) float64.

    Attributes:
        position: present position [rad or m].
        velocity: present velocity [rad/s or m/s].
        goal: goal in force at this tick, dither included [rad or m].
        current: motor current [A], or load [fraction] where the servo has no current sensor.
        voltage: supply voltage at the servo [V].
        temperature: servo temperature [°C].
    """

    position: Array
    velocity: Array
    goal: Array
    current: Array
    voltage: Array
    temperature: Array

    def __post_init__(self) -> None:
        shape = self.position.shape
        for field in fields(self):
            array = getattr(self, field.name)
            if array.shape != shape:
                raise FeatureError(
                    f"ticks: {field.name} has shape {array.shape}, expected {shape} as position"
                )

    @classmethod
    def of(cls, **arrays: object) -> Ticks:
        """Build from anything array-like; values become float64."""
        return cls(**{key: np.asarray(value, dtype=np.float64) for key, value in arrays.items()})

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of every array, the last axis being the joints."""
        return self.position.shape

    def __getitem__(self, index: object) -> Ticks:
        """The same ticks, indexed along the leading axes."""
        return Ticks(*(getattr(self, field.name)[index] for field in fields(self)))
