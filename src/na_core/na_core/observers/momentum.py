# SPDX-License-Identifier: Apache-2.0
"""Generalised momentum observer (De Luca and Mattone, 2003), friction compensated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from na_core.features.rigid import RigidTerms
from na_core.features.ticks import Ticks
from na_core.observers.base import Array, Observer, State


class MomentumObserver(Observer):
    """``r = k (p − p₀ − ∫(τ − friction + Cᵀ q̇ − g + r) dt)``, a first-order low pass of Jᵀ f.

    Needs no acceleration. The integral is taken implicitly, so that any gain is stable.

    Settings:
        gain: k [1/s]; 1/k is the time constant.
    """

    name: ClassVar[str] = "gmo"
    DEFAULTS: ClassVar[Mapping[str, float]] = {"gain": 10.0}

    def start(self, ticks: Ticks, terms: RigidTerms) -> State:
        return {"momentum": terms.momentum.copy(), "residual": np.zeros(ticks.shape)}

    def step(self, state: State, ticks: Ticks, terms: RigidTerms) -> tuple[Array, State]:
        friction, following = self._friction(state, ticks)
        drive = self.motor.effort(ticks.current) - friction + terms.drift
        change = terms.momentum - state["momentum"] - self.dt * drive
        gain = self.settings["gain"]
        residual = (state["residual"] + gain * change) / (1.0 + gain * self.dt)
        following.update(momentum=terms.momentum, residual=residual)
        return residual, following

    def _friction(self, state: State, ticks: Ticks) -> tuple[Array, State]:
        """Friction (..., n) of this tick, and the part of the memory that it needs."""
        return self.motor.friction(ticks.velocity), {}
