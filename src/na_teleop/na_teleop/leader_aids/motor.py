# SPDX-License-Identifier: Apache-2.0
"""Between joint torque and motor current, as far as a servo's figures allow."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from na_core.robot_types import RobotSpec

Array = NDArray[np.float64]

# Torque per ampere before gear friction [N·m/A at the output]. The stall point of a data sheet
# (XM430-W350: 4.1 N·m at 2.3 A, 1.78 N·m/A) has the friction of loaded gears in it, which carries
# weight too while nothing moves: compensating gravity with it would push the arm up. 2.35 is this
# project's starting value for the XM430-W350; the W210 has the same motor behind 212.6:1 instead
# of 353.5:1. Give parameter torque_constant where better is known.
FRICTIONLESS = {"xm430-w350": 2.35, "xm430-w210": 2.35 * 212.6 / 353.5}

# Coulomb friction at the output shaft [N·m]: starting values of this project for the XM430 family,
# Better Actuator Models' fit for the XL330 (0.0048 with the 288:1 gear). A servo assisted with more
# than its own friction would run away by itself, so an unknown model gets no assist.
FRICTION = {
    "xm430-w350": 0.11,
    "xm430-w210": 0.11 * 212.6 / 353.5,
    "xl330-m288": 0.0048,
    "xl330-m077": 0.0048 * 77.2 / 288.35,
}


def friction_torques(spec: RobotSpec, override: float = 0.0) -> Array:
    """Coulomb friction of every servo (n,) [N·m]; `override` > 0 replaces them all."""
    models = [joint.servo.model if joint.servo is not None else "" for joint in spec.joints]
    return np.array([override or FRICTION.get(model, 0.0) for model in models])


def torque_constants(spec: RobotSpec, override: float = 0.0) -> Array:
    """Torque per current of every servo (n,) [N·m/A]; `override` > 0 replaces them all.

    ValueError for a robot without servos.
    """
    result = []
    for joint in spec.joints:
        if joint.servo is None:
            raise ValueError(f"joint {joint.name} of {spec.robot} has no servo: no leader aids")
        model = joint.servo.info
        result.append(override or FRICTIONLESS.get(model.name, model.torque_constant))
    return np.array(result)


def shaft_torque(effort: Array, ratio: Array) -> Array:
    """Servo torques (n,) [N·m] that produce joint efforts (n,) [N·m or N]."""
    return np.asarray(effort * ratio)
