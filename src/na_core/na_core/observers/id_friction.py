# SPDX-License-Identifier: Apache-2.0
"""ID-Friction: inverse dynamics with a moving joint's friction taken off the motor effort."""

from __future__ import annotations

from typing import ClassVar

from na_core.features.ticks import Ticks
from na_core.observers.base import Array
from na_core.observers.id_linear import IdLinear


class IdFriction(IdLinear):
    """``τ_ext = M q̈ + C q̇ + g − K (i − i₀) + c sign(q̇) + v q̇``; settings as for ID-Linear.

    At rest the friction is unknown within ±c and is taken as zero.
    """

    name: ClassVar[str] = "id_friction"

    def _effort(self, ticks: Ticks) -> Array:
        return self.motor.effort(ticks.current) - self.motor.friction(ticks.velocity)
