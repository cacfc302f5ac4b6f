# SPDX-License-Identifier: Apache-2.0
"""Friction families M1..M6: the largest torque that friction can oppose in a given state.

The families follow "Extended Friction Models for the Physics Simulation of Servo Actuators"
(Duclusaud, Passault, Padois, Ly; the Better Actuator Models project, Rhoban/bam):

M1 Coulomb-viscous; M2 adds Stribeck; M3 Coulomb-viscous with a load-dependent part; M4 Stribeck
and load; M5 Stribeck with load parts told apart by which side (motor or external) drives the
gears; M6 adds a quadratic load part while the two sides oppose each other.
"""

from __future__ import annotations

import math
from typing import Any

from na_sim.servo.jit import compiled

FAMILIES: dict[str, int] = {"m1": 1, "m2": 2, "m3": 3, "m4": 4, "m5": 5, "m6": 6}


def family_number(name: str) -> int:
    """Number of the friction family `name` ("m1".."m6"); ValueError names the choices."""
    try:
        return FAMILIES[name]
    except KeyError:
        raise ValueError(
            f"friction family {name!r} is unknown; expected one of {', '.join(FAMILIES)}"
        ) from None


@compiled
def friction_limit(p: Any, motor_torque: float, external_torque: float, velocity: float) -> float:
    """Largest friction torque [N m] of servo record `p`, without the viscous part.

    `motor_torque` [N m] drives the rotor, `external_torque` [N m] is what the link does to it
    through the gears, `velocity` [rad/s] is the rotor's at the output.
    """
    family = p.friction_family
    limit = p.coulomb
    at_rest = 0.0
    if family != 1 and family != 3:
        slide = abs(velocity) / p.stribeck_velocity
        if p.stribeck_exponent != 1.0:
            slide = slide**p.stribeck_exponent
        at_rest = math.exp(-slide)
        limit += at_rest * p.stribeck
    if family == 3 or family == 4:
        load = abs(external_torque - motor_torque)
        limit += p.load_motor * load
        if family == 4:
            limit += at_rest * p.load_motor_stribeck * load
    elif family >= 5:
        limit += abs(external_torque * p.load_external - motor_torque * p.load_motor)
        limit += at_rest * abs(
            external_torque * p.load_external_stribeck - motor_torque * p.load_motor_stribeck
        )
        if family == 6 and external_torque * motor_torque < 0.0:
            # While the gears carry one side against the other, the side that loses adds a
            # quadratic part: its torque is what squeezes the teeth.
            if abs(external_torque) < abs(motor_torque):
                limit += at_rest * p.quad_external * external_torque * external_torque
            else:
                limit += at_rest * p.quad_motor * motor_torque * motor_torque
    return float(limit)


@compiled
def stick_slip(
    inertia: float, velocity: float, net_torque: float, limit: float, damping: float, dt: float
) -> float:
    """Friction torque [N m] over one step: what stops the rotor, at most `limit + damping |v|`.

    `net_torque` [N m] is everything but friction, `damping` the viscous coefficient
    [N m s/rad], `dt` the step [s]. Sticking is exact: the rotor's velocity becomes zero.
    """
    stopping = inertia * velocity / dt + net_torque
    bound = limit + damping * abs(velocity)
    if stopping > bound:
        return -bound
    if stopping < -bound:
        return bound
    return -stopping
