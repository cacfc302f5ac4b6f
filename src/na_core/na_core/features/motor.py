# SPDX-License-Identifier: Apache-2.0
"""Current to joint effort and friction: the calibrated constants that the physics features use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from na_core.features.joint_constants import JointConstants
from na_core.features.ticks import FeatureError

if TYPE_CHECKING:
    from na_core.robot_spec import RobotSpec

Array = NDArray[np.float64]

#: Half width of the smooth sign of velocity [servo rad/s]: two counts of the speed register.
SIGN_SPEED = 0.05


@dataclass(frozen=True)
class MotorModel(JointConstants):
    """Constants per joint, each (n,), in joint units (N·m and rad, or N and m for a slide).

    Attributes:
        torque_constant: effort per ampere (or per unit load) [N·m/A or N/A].
        offset: current read when none flows [A].
        coulomb: friction while moving [N·m or N].
        viscous: friction per speed [N·m·s/rad or N·s/m].
        rotor: reflected rotor inertia [kg·m² or kg].
        sign_speed: speed over which friction changes its sign [rad/s or m/s].
    """

    what: ClassVar[str] = "motor model"

    torque_constant: Array
    offset: Array
    coulomb: Array
    viscous: Array
    rotor: Array
    sign_speed: Array

    def effort(self, current: Array) -> Array:
        """Motor effort (..., n) [N·m or N] of a measured current (..., n) [A]."""
        return (current - self.offset) * self.torque_constant

    def friction(self, velocity: Array) -> Array:
        """Friction effort opposing a velocity (..., n), with the sign of the velocity."""
        return self.coulomb * np.tanh(velocity / self.sign_speed) + self.viscous * velocity

    @classmethod
    def published(cls, spec: RobotSpec, rotor: float = 0.006) -> MotorModel:
        """Starting values from published ratings: stall torque over stall current, no friction.

        Args:
            spec: a robot with servos.
            rotor: reflected rotor inertia at the servo's output [kg·m²].
        """
        ratio = np.array([joint.ratio for joint in spec.joints])
        constant = []
        for joint in spec.joints:
            if joint.servo is None:
                raise FeatureError(f"robot {spec.robot!r}: joint {joint.name} has no servo")
            info = joint.servo.info
            constant.append(info.torque_constant if info.has_current else info.stall_torque)
        zeros = np.zeros(spec.n)
        return cls(
            np.array(constant) / ratio, zeros, zeros, zeros, rotor / ratio**2, SIGN_SPEED * ratio
        )
