# SPDX-License-Identifier: Apache-2.0
"""Gears between rotor and link: dead zone, stiffness and damping of the engaged teeth."""

from __future__ import annotations

from typing import Any

from na_sim.servo.jit import compiled


@compiled
def gear_torque(p: Any, twist: float, twist_rate: float, dt: float) -> float:
    """Torque of the rotor on the link [N m] for `twist` = rotor - link [rad], rate [rad/s].

    The twist is taken one step ahead, which keeps stiff gears stable on light links. Damping
    acts on engaged teeth only and never pulls: teeth push.
    """
    half = 0.5 * p.backlash
    ahead = twist + dt * twist_rate
    if ahead > half:
        return float(max(p.stiffness * (ahead - half) + p.gear_damping * twist_rate, 0.0))
    if ahead < -half:
        return float(min(p.stiffness * (ahead + half) + p.gear_damping * twist_rate, 0.0))
    return 0.0
