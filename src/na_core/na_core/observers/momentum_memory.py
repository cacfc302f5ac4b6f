# SPDX-License-Identifier: Apache-2.0
"""Momentum observer that remembers which way each joint moved last, for friction at rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from na_core.features.motor import SIGN_SPEED
from na_core.features.rigid import RigidTerms
from na_core.features.ticks import Ticks
from na_core.observers.base import Array, State
from na_core.observers.momentum import MomentumObserver


class MomentumMemoryObserver(MomentumObserver):
    """As `MomentumObserver`, but a joint at rest keeps a share of its last Coulomb friction.

    Settings:
        gain: as for the momentum observer [1/s].
        hold: share of the Coulomb friction kept at rest, 0 to 1.
        stroke: travel that turns the remembered direction over [servo rad]: a play operator of
            this half width on the measured position, so that noise of one count does not.
    """

    name: ClassVar[str] = "gmo_memory"
    DEFAULTS: ClassVar[Mapping[str, float]] = {"gain": 10.0, "hold": 0.5, "stroke": 0.004}

    def start(self, ticks: Ticks, terms: RigidTerms) -> State:
        state = super().start(ticks, terms)
        state.update(direction=np.zeros(ticks.shape), position=ticks.position.copy())
        return state

    def _friction(self, state: State, ticks: Ticks) -> tuple[Array, State]:
        motor = self.motor
        # sign_speed is SIGN_SPEED in the joint's own unit: their quotient is the joint's ratio.
        stroke = np.maximum(self.settings["stroke"] * motor.sign_speed / SIGN_SPEED, 1e-12)
        travel = (ticks.position - state["position"]) / stroke
        direction = np.clip(state["direction"] + travel, -1.0, 1.0)
        moving = np.tanh(ticks.velocity / motor.sign_speed)
        rest = (1.0 - np.abs(moving)) * self.settings["hold"] * direction
        friction = motor.coulomb * (moving + rest) + motor.viscous * ticks.velocity
        return friction, {"direction": direction, "position": ticks.position}
