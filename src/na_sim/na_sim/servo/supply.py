# SPDX-License-Identifier: Apache-2.0
"""Supply shared by all servos of a chain: open-circuit voltage behind one resistance."""

from __future__ import annotations

from typing import Any

from na_sim.servo.jit import compiled

MINIMUM_VOLTAGE = 1.0  # V; keeps the duty arithmetic finite when the chain shorts the supply


@compiled
def sag(supply: Any, current: float) -> None:
    """Set voltage [V] of record `supply` for the `current` [A] drawn in this step.

    It acts in the next step; the loop gain R_supply / R_winding is far below 1. Braking servos
    feed current back, which raises the voltage.
    """
    supply.current = current
    supply.voltage = max(supply.open_circuit - supply.resistance * current, MINIMUM_VOLTAGE)
