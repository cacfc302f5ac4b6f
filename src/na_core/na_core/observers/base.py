# SPDX-License-Identifier: Apache-2.0
"""What an observer of external joint effort is: a pure step over telemetry and rigid-body terms."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from na_core.features.gears import GearModel
from na_core.features.motor import MotorModel
from na_core.features.rigid import RigidTerms
from na_core.features.ticks import Ticks

Array = NDArray[np.float64]
State = dict[str, Array]
"""Memory of an observer: arrays whose leading axes are those of the telemetry."""


class ObserverError(ValueError):
    """A setting or an input does not fit the observer; the text says what was expected."""


class Observer(ABC):
    """Estimates the joint effort (..., n) [N·m or N] that the environment puts on the arm.

    The sign is that of ``M q̈ + C q̇ + g = τ + Jᵀ f``: what is returned estimates ``Jᵀ f``. `step` is
    pure, so that a live node and the replay of a recording compute the same numbers.

    Args:
        motor: calibrated constants (current to effort, friction, rotor inertia).
        dt: seconds per tick.
        gears: gears and friction, for the observers that need them.
        settings: values for `DEFAULTS`; the rest keep their default.

    Raises:
        ObserverError: an unknown setting, or one that is not a positive number.
    """

    name: ClassVar[str]
    DEFAULTS: ClassVar[Mapping[str, float]] = {}
    """Settings and their untuned values; every one has a unit in the class's docstring."""
    needs_gears: ClassVar[bool] = False

    def __init__(
        self, motor: MotorModel, dt: float, gears: GearModel | None = None, **settings: float
    ) -> None:
        if not dt > 0.0:
            raise ObserverError(f"observer {self.name}: dt = {dt!r} s, expected a positive time")
        unknown = sorted(set(settings) - set(self.DEFAULTS))
        if unknown:
            raise ObserverError(
                f"observer {self.name}: unknown setting {unknown}, expected some of "
                f"{sorted(self.DEFAULTS)}"
            )
        self.motor = motor
        self.gears = gears
        self.dt = float(dt)
        self.settings = {**self.DEFAULTS, **{key: float(value) for key, value in settings.items()}}
        for key, value in self.settings.items():
            if not (np.isfinite(value) and value >= 0.0):
                raise ObserverError(
                    f"observer {self.name}: {key} = {value!r}, expected a number of at least 0"
                )

    @abstractmethod
    def start(self, ticks: Ticks, terms: RigidTerms) -> State:
        """Return the memory before the first tick, given that tick."""

    @abstractmethod
    def step(self, state: State, ticks: Ticks, terms: RigidTerms) -> tuple[Array, State]:
        """Take one tick into account; returns the external effort (..., n) and the next memory."""

    def replay(self, ticks: Ticks, terms: RigidTerms) -> Array:
        """External efforts (T, ..., n) of a recording without gaps: row for row what `step` gives.

        Args:
            ticks: arrays (T, ..., n).
            terms: of those ticks.
        """
        out = np.empty(ticks.shape)
        if len(out):
            state = self.start(ticks[0], row(terms, 0))
            for index in range(len(out)):
                out[index], state = self.step(state, ticks[index], row(terms, index))
        return out

    def to_json(self) -> dict[str, Any]:
        """Name, settings and gears where it has any, for a file of settings."""
        known = {} if self.gears is None else {"gears": self.gears.to_json()}
        return {"name": self.name, "settings": dict(self.settings), **known}

    def __repr__(self) -> str:
        values = ", ".join(f"{key}={value:g}" for key, value in self.settings.items())
        return f"{type(self).__name__}({values})"


def row(terms: RigidTerms, index: int) -> RigidTerms:
    """Return the terms of one tick of a recording."""
    return RigidTerms(
        terms.gravity[index], terms.momentum[index], terms.drift[index], terms.jacobian[index]
    )
