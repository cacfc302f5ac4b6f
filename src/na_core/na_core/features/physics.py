# SPDX-License-Identifier: Apache-2.0
"""Feature set `physics`: what a rigid-body model makes of the telemetry, with slow averages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from na_core.features.base import Array, FeatureSet, State, check_rule
from na_core.features.basic import BasicFeatures, basic_features
from na_core.features.memory import average
from na_core.features.motor import MotorModel
from na_core.features.regression import TERMS, solve_moments, update_moments
from na_core.features.rigid import RigidArm, RigidTerms, force_map
from na_core.features.ticks import FeatureError, Ticks

if TYPE_CHECKING:
    from na_core.robot_spec import RobotSpec

AXES = ("x", "y", "z")
GAINS = {"fast": 20.0, "slow": 5.0}
"""Gains of the two momentum observers [1/s]."""
PERIOD = 8
"""Ticks of the running mean: one period of the goal dither, which it therefore cancels."""
SLOW = 3.0
"""Time constant of the mean residual and of the spread of position [s]."""
MEMORY = 8.0
"""Time constant of the regression of residual on position, load and friction [s]."""
MOVING = 0.1
"""Speed at which a tick counts about half in that regression [servo rad/s]."""
RIDGE = (1e-4, 2e-3, 2e-4, 2e-2)
"""Regularisation of that regression: 1, rad², m² and 1 (see na_core.features.regression)."""


class PhysicsFeatures(FeatureSet):
    """`basic35` and, per joint unless said: gravity, static residual and its mean over a period,
    momentum residuals at two gains, their part that no force explains; what the residual followed
    over the last seconds (stiffness, hanging load, friction, and how much the position varied);
    its mean and the spread of position; then the force of both residuals (base axes) and the map
    from joint effort to force.

    Residuals carry the sign of an external effort on the joint. Friction is compensated while the
    joint moves; at rest it is unknown and stays in the residual.

    Args:
        arm: rigid-body terms of the robot.
        joints: joint names in canonical order.
        ratio: joint units per servo radian (n,).
        dt: seconds per tick.
        motor: calibrated constants.
    """

    name = "physics"
    version = 1

    def __init__(
        self, arm: RigidArm, joints: Sequence[str], ratio: Array, dt: float, motor: MotorModel
    ) -> None:
        if not dt > 0.0:
            raise FeatureError(f"feature set {self.name}: dt = {dt!r} s, expected a positive time")
        self.arm = arm
        self.joints = tuple(joints)
        self.ratio = np.asarray(ratio, dtype=np.float64)
        self.dt = float(dt)
        self.motor = motor
        basic = BasicFeatures(joints)
        self.basic = basic.size
        self.names = basic.names + tuple(self._extra_names())

    def _extra_names(self) -> list[str]:
        per_joint = ["gravity", "static", "static_mean", "residual_fast", "residual_slow"]
        per_joint += ["unexplained", "stiffness", "load", "friction", "varied"]
        per_joint += ["slow_residual", "spread"]
        names = [f"{joint}.{item}" for item in per_joint for joint in self.joints]
        names += [f"force_{gain}.{axis}" for gain in GAINS for axis in AXES]
        return names + [f"force_map.{axis}.{joint}" for axis in AXES for joint in self.joints]

    # ---------------------------------------------------------------- memory

    def start(self, first: Ticks) -> State:
        return self._start(first, self.arm.terms(first.position, first.velocity))

    def _start(self, first: Ticks, terms: RigidTerms) -> State:
        zeros = np.zeros(first.shape)
        static = terms.gravity - self.motor.effort(first.current)
        return {
            "momentum": terms.momentum.copy(),
            "integral_fast": zeros,
            "integral_slow": zeros,
            "residual_fast": zeros,
            "residual_slow": zeros,
            "ring": np.repeat(static[..., None, :], PERIOD, axis=-2),
            "mean_q": first.position.copy(),
            "mean_r": zeros,
            "mean_qq": np.zeros(first.shape),
            "terms": self._terms(first, terms),
            "moments": np.zeros((*first.shape, TERMS + 1, TERMS + 1)),
        }

    def step(self, state: State, ticks: Ticks) -> tuple[Array, State]:
        return self._advance(state, ticks, self.arm.terms(ticks.position, ticks.velocity))

    def replay(self, ticks: Ticks) -> Array:
        single = len(ticks.shape) == 2
        if single:
            ticks = ticks[:, None]
        length, batch, _ = ticks.shape
        out = np.empty((length, batch, self.size))
        if length:
            terms = self.arm.terms(ticks.position, ticks.velocity)
            state = self._start(ticks[0], _row(terms, 0))
            for index in range(length):
                out[index], state = self._advance(state, ticks[index], _row(terms, index))
        return out[:, 0] if single else out

    # -------------------------------------------------------------- features

    def _advance(self, state: State, ticks: Ticks, terms: RigidTerms) -> tuple[Array, State]:
        extra, following = self._extras(state, ticks, terms)
        return np.concatenate([basic_features(ticks), extra], axis=-1), following

    def _extras(self, state: State, ticks: Ticks, terms: RigidTerms) -> tuple[Array, State]:
        effort = self.motor.effort(ticks.current)
        drive = effort - self.motor.friction(ticks.velocity) + terms.drift
        following: State = {"momentum": state["momentum"]}
        residual = {}
        for key, gain in GAINS.items():
            last = state[f"residual_{key}"]
            integral = state[f"integral_{key}"] + self.dt * (drive + last)
            residual[key] = gain * (terms.momentum - state["momentum"] - integral)
            following[f"integral_{key}"] = integral
            following[f"residual_{key}"] = residual[key]
        static = terms.gravity - effort
        ring = np.concatenate([state["ring"][..., 1:, :], static[..., None, :]], axis=-2)
        following["ring"] = ring
        static_mean = ring.mean(axis=-2)
        inverse = force_map(terms.jacobian)
        force = {key: _apply(inverse, value) for key, value in residual.items()}
        explained = _apply(np.swapaxes(terms.jacobian, -1, -2), force["slow"])
        statistics = self._regression(state, following, ticks, terms, residual["fast"])
        statistics += self._statistics(state, following, ticks.position, residual["slow"])
        parts = [terms.gravity, static, static_mean, residual["fast"], residual["slow"]]
        parts += [residual["slow"] - explained, *statistics, force["fast"], force["slow"]]
        parts.append(inverse.reshape(*inverse.shape[:-2], -1))
        return np.concatenate(parts, axis=-1), following

    def _terms(self, ticks: Ticks, terms: RigidTerms) -> Array:
        """Terms of the regression (..., n, TERMS), in servo units."""
        lever = terms.jacobian[..., 2, :] / self.ratio
        sign = np.tanh(ticks.velocity / self.motor.sign_speed)
        position = ticks.position / self.ratio
        return np.stack([np.ones_like(position), position, lever, sign], axis=-1)

    def _regression(
        self, state: State, following: State, ticks: Ticks, terms: RigidTerms, residual: Array
    ) -> list[Array]:
        """Stiffness, load, friction and spread of the position, each (..., n), in servo units."""
        # The terms are delayed as the observer delays the residual.
        delayed = average(state["terms"], self._terms(ticks, terms), 1.0 / GAINS["fast"], self.dt)
        row = np.concatenate([delayed, (residual * self.ratio)[..., None]], axis=-1)
        speed = np.abs(ticks.velocity) / (MOVING * self.ratio)
        weight = speed**2 / (1.0 + speed**2)
        moments = update_moments(state["moments"], row, weight, np.exp(-self.dt / MEMORY))
        following.update(terms=delayed, moments=moments)
        found, varied = solve_moments(moments, np.array(RIDGE))
        limits = (np.inf, 3.0, 10.0, 1.0)
        stiffness, load, sign = (
            np.clip(found[..., index], -limits[index], limits[index]) for index in (1, 2, 3)
        )
        return [-stiffness, load, sign, varied]

    def _statistics(self, state: State, following: State, q: Array, residual: Array) -> list[Array]:
        """Mean residual and spread of position over the last seconds."""
        mean_q = average(state["mean_q"], q, SLOW, self.dt)
        mean_r = average(state["mean_r"], residual, SLOW, self.dt)
        deviation = q - mean_q
        mean_qq = average(state["mean_qq"], deviation**2, SLOW, self.dt)
        following.update(mean_q=mean_q, mean_r=mean_r, mean_qq=mean_qq)
        return [mean_r, np.sqrt(mean_qq)]

    # ------------------------------------------------------------------ rule

    def rule(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "version": self.version,
            "joints": list(self.joints),
            "dt": self.dt,
            "motor": self.motor.to_json(),
        }

    @classmethod
    def from_rule(cls, rule: Mapping[str, Any], spec: RobotSpec) -> PhysicsFeatures:
        """Rebuild from `rule()` and the robot; raises FeatureError where they do not fit."""
        check_rule(rule, cls.name, cls.version)
        if tuple(rule.get("joints", ())) != spec.names:
            raise FeatureError(
                f"feature rule: joints {rule.get('joints')}, expected {list(spec.names)} as in the "
                f"robot {spec.robot!r}"
            )
        if "dt" not in rule or "motor" not in rule:
            raise FeatureError("feature rule: keys 'dt' and 'motor' are required for this set")
        return cls._from_rule(rule, spec)

    @classmethod
    def _from_rule(cls, rule: Mapping[str, Any], spec: RobotSpec) -> PhysicsFeatures:
        return cls.for_robot(spec, float(rule["dt"]), MotorModel.from_json(rule["motor"]))

    @classmethod
    def for_robot(
        cls,
        spec: RobotSpec,
        dt: float,
        motor: MotorModel | None = None,
    ) -> PhysicsFeatures:
        """Build for a robot.

        Args:
            spec: the robot.
            dt: seconds per tick.
            motor: constants of the motors; the published ratings of its servos when None.
        """
        motor = motor or MotorModel.published(spec)
        return cls(*cls._parts(spec, motor), dt, motor)

    @staticmethod
    def _parts(spec: RobotSpec, motor: MotorModel) -> tuple[RigidArm, Sequence[str], Array]:
        """Rigid body, joint names and ratios of a robot."""
        from na_core.robot_urdf import urdf_string

        arm = RigidArm(urdf_string(spec), spec.names, spec.end_effector_frame, motor.rotor)
        return arm, spec.names, np.array([joint.ratio for joint in spec.joints])


def _row(terms: RigidTerms, index: int) -> RigidTerms:
    return RigidTerms(
        terms.gravity[index], terms.momentum[index], terms.drift[index], terms.jacobian[index]
    )


def _apply(matrix: Array, vector: Array) -> Array:
    return np.asarray((matrix @ vector[..., None])[..., 0])
