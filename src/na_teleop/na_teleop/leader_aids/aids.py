# SPDX-License-Identifier: Apache-2.0
"""All aids together: from one read of the leader to the current of every servo."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from na_core.kinematics import Kinematics
from na_core.robot_types import RobotSpec
from na_teleop.leader_aids.config import AidsConfig
from na_teleop.leader_aids.feedback import ForceFeedback
from na_teleop.leader_aids.motor import friction_torques, shaft_torque, torque_constants
from na_teleop.leader_aids.passivity import Guarded, PassivityGuard

Array = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class AidsOutput:
    """One tick; torques (n,) [N·m] at the servo shafts, positive in the joint's direction.

    Attributes:
        current: to command (n,) [A].
        gravity, friction, spring, feedback: the parts; feedback after the guard.
        saturated: joints whose current was cut to the limit (n,).
        guard: what the passivity guard did.

    """

    current: Array
    gravity: Array
    friction: Array
    spring: Array
    feedback: Array
    saturated: BoolArray
    guard: Guarded


class LeaderAids:
    """Computes; touches no bus. One instance per leader."""

    def __init__(self, spec: RobotSpec, config: AidsConfig) -> None:
        """Kinematics, ratios and torque constants come from `spec`; ValueError without servos."""
        self.spec, self.config = spec, config
        self.kinematics = Kinematics(spec)
        self.feedback = ForceFeedback(self.kinematics, spec.base_frame, config)
        self.guard = PassivityGuard(
            config.guard_damping, config.guard_energy, config.guard_reserve, active=config.guard
        )
        self._ratio = np.array([joint.ratio for joint in spec.joints])
        self._constant = torque_constants(spec, config.torque_constant)
        self._coulomb = friction_torques(spec, config.friction_torque)
        self._arm = np.array([joint.role == "arm" for joint in spec.joints])
        self._began_s: float | None = None
        self._last_s: float | None = None

    def reset(self) -> None:
        """Begin anew with the next step, ramping in from nothing."""
        self.guard.reset()
        self.feedback.share = 0.0
        self._began_s = self._last_s = None

    def step(
        self, now_s: float, position: Array, velocity: Array, *, alive: bool = True
    ) -> AidsOutput:
        """Return the currents for the state just read, (n,) each.

        `alive`: the dead-man is held; without it feedback fades out, the other aids stay.
        """
        if self._began_s is None:
            self._began_s = now_s
        dt = 1.0 / self.spec.control_rate if self._last_s is None else now_s - self._last_s
        dt = min(max(dt, 1e-3), 0.1)
        self._last_s = now_s
        ramp = min(1.0, (now_s - self._began_s) / self.config.ramp_s)
        effort = self.feedback.effort(position, now_s, dt, alive)
        # The guard works in shaft units, where every joint's torque is N·m and motion rad.
        guard = self.guard.step(
            shaft_torque(ramp * effort, self._ratio), position / self._ratio, dt
        )
        gravity = ramp * self._gravity(position)
        friction = ramp * self._friction(velocity / self._ratio)
        spring = ramp * self._spring(position)
        wanted = (gravity + friction + spring + guard.torque) / self._constant
        limit = self.config.current_limit
        current = np.clip(wanted, -limit, limit)
        return AidsOutput(
            current,
            gravity,
            friction,
            spring,
            guard.torque,
            np.abs(wanted) > limit,
            guard,
        )

    def _gravity(self, position: Array) -> Array:
        held = shaft_torque(self.kinematics.gravity(position), self._ratio)
        return np.asarray(self.config.gravity_share * held)

    def _friction(self, speed: Array) -> Array:
        """Along the motion, smooth through rest: never more than a share of what brakes it."""
        size = self.config.friction_share * self._coulomb
        push = size * np.tanh(speed / self.config.friction_speed)
        return np.asarray(np.where(self._arm, push, 0.0))

    def _spring(self, position: Array) -> Array:
        result = np.zeros(self.spec.n)
        gripper = self.spec.gripper_index
        if gripper is not None and self.config.gripper_spring > 0.0:
            open_by = (self.spec.upper[gripper] - position[gripper]) / self._ratio[gripper]
            pull = self.config.gripper_spring * open_by
            bound = self.config.gripper_torque
            result[gripper] = min(max(pull, -bound), bound)
        return result
