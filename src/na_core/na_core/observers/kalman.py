# SPDX-License-Identifier: Apache-2.0
"""Kalman momentum observer (after Wahrburg et al., 2015): external effort as a random walk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from na_core.features.gears import GearModel
from na_core.features.motor import SIGN_SPEED, MotorModel
from na_core.features.rigid import RigidTerms
from na_core.features.ticks import Ticks
from na_core.observers.base import Array, Observer, State

_SWEEPS = 5000


class KalmanObserver(Observer):
    """Per joint the state (p, d): ``ṗ = τ − friction + Cᵀ q̇ − g + d``, ``ḋ`` white; p is measured.

    The gain is the stationary one, found once by running the variance to its fixed point.

    Settings, in servo units (a slide's are scaled by its ratio):
        drive_noise: deviation of the modelled effort per tick [N·m].
        walk: how fast the external effort wanders [N·m/√s].
        speed_noise: deviation of the measured speed [rad/s].
        inertia: turns speed noise into momentum noise [kg·m²].
    """

    name: ClassVar[str] = "kalman"
    DEFAULTS: ClassVar[Mapping[str, float]] = {
        "drive_noise": 0.05,
        "walk": 1.0,
        "speed_noise": 0.02,
        "inertia": 0.012,
    }

    def __init__(
        self, motor: MotorModel, dt: float, gears: GearModel | None = None, **settings: float
    ) -> None:
        super().__init__(motor, dt, gears, **settings)
        self.gain, servo_deviation = self._stationary()
        ratio = motor.sign_speed / SIGN_SPEED
        self.deviation: Array = servo_deviation / ratio
        """Standard deviation of the external effort as the filter sees it (n,) [N·m or N]."""

    def _stationary(self) -> tuple[Array, float]:
        values, dt = self.settings, self.dt
        step = np.array([[1.0, dt], [0.0, 1.0]])
        noise = np.diag([(values["drive_noise"] * dt) ** 2 + 1e-18, values["walk"] ** 2 * dt])
        measured = (values["speed_noise"] * values["inertia"]) ** 2 + 1e-18
        variance = noise.copy()
        gain = np.zeros(2)
        for _ in range(_SWEEPS):
            ahead = step @ variance @ step.T + noise
            following = ahead[:, 0] / (ahead[0, 0] + measured)
            variance = ahead - np.outer(following, ahead[0])
            if np.abs(following - gain).max() < 1e-12 * max(np.abs(following).max(), 1.0):
                break
            gain = following
        return gain, float(np.sqrt(variance[1, 1]))

    def start(self, ticks: Ticks, terms: RigidTerms) -> State:
        return {"momentum": terms.momentum.copy(), "external": np.zeros(ticks.shape)}

    def step(self, state: State, ticks: Ticks, terms: RigidTerms) -> tuple[Array, State]:
        drive = self.motor.effort(ticks.current) - self.motor.friction(ticks.velocity) + terms.drift
        ahead = state["momentum"] + self.dt * (drive + state["external"])
        innovation = terms.momentum - ahead
        momentum = ahead + self.gain[0] * innovation
        external = state["external"] + self.gain[1] * innovation
        return external, {"momentum": momentum, "external": external}
