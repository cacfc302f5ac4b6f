# SPDX-License-Identifier: Apache-2.0
"""ID-Linear: inverse dynamics less torque constant times current; friction is left in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from na_core.features.rigid import RigidTerms
from na_core.features.ticks import Ticks
from na_core.observers.base import Array, Observer, ObserverError, State


class IdLinear(Observer):
    """``τ_ext = M q̈ + C q̇ + g − K (i − i₀)`` over the last few ticks.

    ``M q̈ + Ṁ q̇`` is the slope of the momentum between the oldest and the newest of those ticks, and
    the other terms are their mean, so that all of them carry the same delay: half the span.

    Settings:
        ticks: span of the slope and of the mean [ticks], at least 1.
    """

    name: ClassVar[str] = "id_linear"
    DEFAULTS: ClassVar[Mapping[str, float]] = {"ticks": 4.0}

    def _effort(self, ticks: Ticks) -> Array:
        """Effort that the motor puts on the links (..., n)."""
        return self.motor.effort(ticks.current)

    @property
    def span(self) -> int:
        """Span of the slope [ticks]."""
        span = round(self.settings["ticks"])
        if span < 1:
            raise ObserverError(f"observer {self.name}: ticks = {span}, expected at least 1")
        return span

    def start(self, ticks: Ticks, terms: RigidTerms) -> State:
        drive = self._effort(ticks) + terms.drift
        return {
            "momenta": np.repeat(terms.momentum[..., None, :], self.span, axis=-2),
            "drives": np.repeat(drive[..., None, :], self.span, axis=-2),
        }

    def step(self, state: State, ticks: Ticks, terms: RigidTerms) -> tuple[Array, State]:
        drive = self._effort(ticks) + terms.drift
        momenta = np.concatenate([state["momenta"], terms.momentum[..., None, :]], axis=-2)
        drives = np.concatenate([state["drives"][..., 1:, :], drive[..., None, :]], axis=-2)
        slope = (momenta[..., -1, :] - momenta[..., 0, :]) / (self.span * self.dt)
        external = slope - drives.mean(axis=-2)
        return external, {"momenta": momenta[..., 1:, :], "drives": drives}
