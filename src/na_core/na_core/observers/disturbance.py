# SPDX-License-Identifier: Apache-2.0
"""Disturbance observer (Ohnishi): each joint on its own with a nominal inertia, second-order Q."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from na_core.features.motor import SIGN_SPEED
from na_core.features.rigid import RigidTerms
from na_core.features.ticks import Ticks
from na_core.observers.base import Array, Observer, State


class DisturbanceObserver(Observer):
    """``d̂ = Q(s) (J₀ q̈ − (τ − friction − g))``, with Q = ω² / (s² + 1.4142 ω s + ω²).

    Gravity is the model's; inertia is one number per joint, so coupling and Coriolis efforts end up
    in the estimate. ``Q s`` acts on the measured speed, so no acceleration is needed. The filter is
    a backward Euler step: stable for every ω.

    Settings:
        cutoff: ω [rad/s].
        inertia: link inertia added to the rotor's [servo kg·m²].
    """

    name: ClassVar[str] = "dob"
    DEFAULTS: ClassVar[Mapping[str, float]] = {"cutoff": 15.0, "inertia": 0.006}

    def start(self, ticks: Ticks, terms: RigidTerms) -> State:
        inertia = self._inertia()
        zeros = np.zeros(ticks.shape)
        # q̇ passes through Q s: its filter starts at rest at the present speed.
        return {
            "speed": inertia * ticks.velocity,
            "speed_rate": zeros,
            "drive": zeros,
            "drive_rate": zeros,
        }

    def step(self, state: State, ticks: Ticks, terms: RigidTerms) -> tuple[Array, State]:
        effort = self.motor.effort(ticks.current) - self.motor.friction(ticks.velocity)
        momentum = self._inertia() * ticks.velocity
        speed, speed_rate = self._filter(state["speed"], state["speed_rate"], momentum)
        drive, drive_rate = self._filter(
            state["drive"], state["drive_rate"], effort - terms.gravity
        )
        following = {
            "speed": speed,
            "speed_rate": speed_rate,
            "drive": drive,
            "drive_rate": drive_rate,
        }
        return speed_rate - drive, following

    def _inertia(self) -> Array:
        ratio = self.motor.sign_speed / SIGN_SPEED
        return self.motor.rotor + self.settings["inertia"] / ratio**2

    def _filter(self, value: Array, rate: Array, target: Array) -> tuple[Array, Array]:
        """One backward Euler step of y'' = ω² (u − y) − √2 ω y'; returns y and y'."""
        cutoff, dt = self.settings["cutoff"], self.dt
        squared = cutoff**2
        damping = 1.0 + np.sqrt(2.0) * cutoff * dt + squared * dt**2
        following = (rate + dt * squared * (target - value)) / damping
        return value + dt * following, following
