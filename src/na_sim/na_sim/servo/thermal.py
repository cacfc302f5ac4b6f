# SPDX-License-Identifier: Apache-2.0
"""Two-node thermal model: winding -> housing -> air."""

from __future__ import annotations

from typing import Any

from na_sim.servo.jit import compiled


@compiled
def heat_step(p: Any, s: Any, loss: float, dt: float) -> None:
    """Advance winding and housing temperatures of state `s` by `dt` [s] with `loss` [W]."""
    to_housing = (s.winding - s.housing) / p.heat_to_housing
    to_air = (s.housing - p.ambient) / p.heat_to_air
    s.winding += dt * (loss - to_housing) / p.heat_winding
    s.housing += dt * (to_housing - to_air) / p.heat_housing
