# SPDX-License-Identifier: Apache-2.0
"""Feature set `hysteresis`: `physics` with a memory of how each joint came to rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from na_core.features.base import Array, State
from na_core.features.gears import VARIANTS, GearModel, GearObserver
from na_core.features.memory import average, play
from na_core.features.motor import MotorModel
from na_core.features.physics import AXES, GAINS, MOVING, PERIOD, PhysicsFeatures, _apply
from na_core.features.rigid import RigidArm, RigidTerms
from na_core.features.ticks import FeatureError, Ticks

if TYPE_CHECKING:
    from na_core.robot_spec import RobotSpec

POSITION_RADII = np.deg2rad([0.05, 0.1, 0.2, 0.35, 0.5, 0.8])
"""Radii of the play operators on measured position [servo rad]."""
LOAD_RADII = np.array([0.05, 0.15, 0.4, 0.8, 1.6])
"""Radii of the play operators on motor effort [servo N·m]."""
AVERAGES = (0.5, 2.0, 8.0)
"""Time constants of the averages that the static residual is compared with [s]."""
COMMAND_SPEED = 0.03
"""A goal that moves faster than this counts as a commanded motion [servo rad/s]."""
MOVED = (0.3, 1.5)
"""Time constants of the residual's averages that run only while a joint moves [s]."""
COMMAND_SECONDS = 0.3
"""Time constant of the goal's speed [s]."""
PLACED = ("fitted", "slow")
"""Variants of the gear observer whose place within the friction band is a feature."""


class HysteresisFeatures(PhysicsFeatures):
    """`physics` and, per joint: play operators on position and on motor effort, the static residual
    against its own averages and against its value when the goal last stood still (also as a force),
    the position against its own then, and the time since; the momentum residual as it was while
    the joint last moved, when the sign of friction was known (also as a force); and what
    `GearObserver` finds behind friction: the external effort by each of its variants, the place of
    two of them within the friction band, and the residual of a momentum observer that is driven by
    the load it found (also as forces).

    Static friction hides the load of a joint at rest; what is left of it shows only against the
    history of small motions, which is longer than a window of nine ticks.

    Args:
        gears: fitted gears and friction; the others as for `PhysicsFeatures`.
    """

    name = "hysteresis"
    version = 2

    def __init__(
        self,
        arm: RigidArm,
        joints: Sequence[str],
        ratio: Array,
        dt: float,
        motor: MotorModel,
        gears: GearModel,
    ) -> None:
        super().__init__(arm, joints, ratio, dt, motor)
        if gears.stiffness.shape != self.ratio.shape:
            raise FeatureError(
                f"feature set {self.name}: gears of {len(gears.stiffness)} joints, expected "
                f"{len(self.ratio)}"
            )
        self.gears = gears
        self.observer = GearObserver(gears, dt)
        places = [variant.name for variant in VARIANTS]
        self._placed = [places.index(name) for name in PLACED]

    def _extra_names(self) -> list[str]:
        names = super()._extra_names()
        radii = [f"play_{np.rad2deg(radius):.2f}deg" for radius in POSITION_RADII]
        loads = [f"play_{radius:.2f}Nm" for radius in LOAD_RADII]
        names += [f"{joint}.{item}" for joint in self.joints for item in radii]
        names += [f"{joint}.{item}" for joint in self.joints for item in loads]
        names += [f"{joint}.against_{t:g}s" for t in AVERAGES for joint in self.joints]
        names += [f"{joint}.since_rest" for joint in self.joints]
        names += [f"{joint}.shift" for joint in self.joints]
        names += [f"{joint}.moved_{t:g}s" for t in MOVED for joint in self.joints]
        names += [f"force_since_rest.{axis}" for axis in AXES]
        names += [f"force_moved_{t:g}s.{axis}" for t in MOVED for axis in AXES]
        names += [f"{joint}.link_{v.name}" for v in VARIANTS for joint in self.joints]
        names += [f"{joint}.place_{name}" for name in PLACED for joint in self.joints]
        names += [f"{joint}.link_residual" for joint in self.joints]
        names += [f"force_link_{name}.{axis}" for name in PLACED for axis in AXES]
        names += [f"force_link.{axis}" for axis in AXES]
        return [*names, "rest_time"]

    def _start(self, first: Ticks, terms: RigidTerms) -> State:
        state = super()._start(first, terms)
        effort = self.motor.effort(first.current)
        static = terms.gravity - effort
        lead = first.shape
        state.update(
            last_q=first.position.copy(),
            last_effort=effort,
            play_q=np.zeros((*lead, len(POSITION_RADII))),
            play_effort=np.zeros((*lead, len(LOAD_RADII))),
            goals=np.repeat(first.goal[..., None, :], PERIOD + 1, axis=-2),
            goal_speed=np.zeros(lead),
            rest=static.copy(),
            rest_q=first.position.copy(),
            mean_q8=first.position.copy(),
            rest_time=np.zeros((*lead[:-1], 1)),
        )
        state.update(self.observer.start(effort * self.ratio, first.position / self.ratio))
        state.update(link_integral=np.zeros(lead), link_residual=np.zeros(lead))
        state.update({f"average_{t:g}": static.copy() for t in AVERAGES})
        state.update({f"moved_{t:g}": np.zeros(lead) for t in MOVED})
        return state

    def _extras(self, state: State, ticks: Ticks, terms: RigidTerms) -> tuple[Array, State]:
        physics, following = super()._extras(state, ticks, terms)
        effort = self.motor.effort(ticks.current)
        ratio = self.ratio[:, None]
        play_q = play(state["play_q"], ticks.position - state["last_q"], POSITION_RADII * ratio)
        play_effort = play(state["play_effort"], effort - state["last_effort"], LOAD_RADII / ratio)
        following.update(last_q=ticks.position, last_effort=effort)
        following.update(play_q=play_q, play_effort=play_effort)
        static_mean = following["ring"].mean(axis=-2)
        against = []
        for seconds in AVERAGES:
            key = f"average_{seconds:g}"
            following[key] = average(state[key], static_mean, seconds, self.dt)
            against.append(static_mean - following[key])
        following["mean_q8"] = average(
            state["mean_q8"], ticks.position, 0.5 * PERIOD * self.dt, self.dt
        )
        rest, rest_time = self._rest(state, following, ticks.goal)
        since = static_mean - rest
        shift = following["mean_q8"] - following["rest_q"]
        moved = self._moved(state, following, ticks.velocity)
        n = len(self.joints)
        inverse = physics[..., -3 * n :].reshape(*ticks.shape[:-1], 3, n)  # the force map
        forces = [_apply(inverse, value) for value in (since, *moved)]
        flat = (*ticks.shape[:-1], -1)
        parts = [physics, play_q.reshape(flat), play_effort.reshape(flat), *against]
        parts += [since, shift, *moved, *forces]
        parts += self._links(state, following, ticks, terms, effort, inverse)
        return np.concatenate([*parts, np.log1p(rest_time)], axis=-1), following

    def _links(
        self,
        state: State,
        following: State,
        ticks: Ticks,
        terms: RigidTerms,
        effort: Array,
        inverse: Array,
    ) -> list[Array]:
        """External efforts and forces by the loads found behind friction."""
        ratio = self.ratio
        load, place, gears = self.observer.step(
            state, effort * ratio, ticks.position / ratio, ticks.velocity / ratio
        )
        following.update(gears)
        load = load / ratio
        external = terms.gravity[..., None, :] - load  # (..., V, n)
        # Momentum observer on the side of the link, where there is no friction to compensate.
        gain, last = GAINS["fast"], state["link_residual"]
        drive = load[..., 0, :] + terms.drift
        integral = state["link_integral"] + self.dt * (drive + last)
        residual = gain * (terms.momentum - state["momentum"] - integral)
        following.update(link_integral=integral, link_residual=residual)
        flat = (*ticks.shape[:-1], -1)
        forces = [_apply(inverse, external[..., index, :]) for index in self._placed]
        places = place[..., self._placed, :].reshape(flat)
        return [external.reshape(flat), places, residual, *forces, _apply(inverse, residual)]

    def _moved(self, state: State, following: State, velocity: Array) -> list[Array]:
        """Averages of the fast residual over the time that each joint moved (n,) each."""
        speed = np.abs(velocity) / (MOVING * self.ratio)
        weight = speed**2 / (1.0 + speed**2)
        result = []
        for seconds in MOVED:
            key = f"moved_{seconds:g}"
            step = 1.0 - np.exp(-self.dt * weight / seconds)
            following[key] = state[key] + step * (following["residual_fast"] - state[key])
            result.append(following[key])
        return result

    def _rest(self, state: State, following: State, goal: Array) -> tuple[Array, Array]:
        """Residual when the goal last moved (averaged over 0.5 s), and the seconds since then."""
        goals = np.concatenate([state["goals"][..., 1:, :], goal[..., None, :]], axis=-2)
        speed = np.abs(goals[..., -1, :] - goals[..., 0, :]) / (PERIOD * self.dt)
        goal_speed = average(state["goal_speed"], speed, COMMAND_SECONDS, self.dt)
        moving = (goal_speed > COMMAND_SPEED * self.ratio).any(axis=-1, keepdims=True)
        rest = np.where(moving, following[f"average_{AVERAGES[0]:g}"], state["rest"])
        following["rest_q"] = np.where(moving, following["mean_q8"], state["rest_q"])
        rest_time = np.where(moving, 0.0, state["rest_time"] + self.dt)
        following.update(goals=goals, goal_speed=goal_speed, rest=rest, rest_time=rest_time)
        return rest, rest_time

    # ------------------------------------------------------------------ rule

    def rule(self) -> dict[str, Any]:
        return {**super().rule(), "gears": self.gears.to_json()}

    @classmethod
    def _from_rule(cls, rule: Mapping[str, Any], spec: RobotSpec) -> HysteresisFeatures:
        if "gears" not in rule:
            raise FeatureError("feature rule: key 'gears' is required for this set")
        motor, gears = MotorModel.from_json(rule["motor"]), GearModel.from_json(rule["gears"])
        return cls.for_robot(spec, float(rule["dt"]), motor, gears)

    @classmethod
    def for_robot(
        cls,
        spec: RobotSpec,
        dt: float,
        motor: MotorModel | None = None,
        gears: GearModel | None = None,
    ) -> HysteresisFeatures:
        """Build for a robot; as for `PhysicsFeatures`, and guessed gears and friction when None."""
        motor = motor or MotorModel.published(spec)
        return cls(*cls._parts(spec, motor), dt, motor, gears or GearModel.guessed(spec))
