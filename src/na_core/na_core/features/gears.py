# SPDX-License-Identifier: Apache-2.0
"""Load of a joint behind friction and gears: what the encoder tells of the gears' twist.

A joint that friction holds still hides its load from the motor current, but not altogether from the
encoder: between rotor and link the gears yield. The observer keeps the angle of the rotor, which
friction holds where it is, reads the load from the twist of the gears, and lets the rotor slip
whenever that load and the motor effort are further apart than friction can hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from na_core.features.joint_constants import JointConstants
from na_core.features.ticks import FeatureError

if TYPE_CHECKING:
    from na_core.features.base import State
    from na_core.robot_spec import RobotSpec

Array = NDArray[np.float64]

EFFORT_SECONDS = 0.02
"""Time constant of the average of the motor effort [s]: noise would let the rotor slip."""
POSITION_SECONDS = 0.08
"""Time constant of the average of the position, finer than the encoder's counts [s]."""
COUNT = 2.0 * np.pi / 4096.0
"""The averaged position stays within one count of the measured one [servo rad]."""
SMALLEST_STIFFNESS = 1e-3
LARGEST_SHARE = 0.45
"""Load-dependent friction of a joint that could still be driven backwards is less than this."""


@dataclass(frozen=True)
class GearModel(JointConstants):
    """Gears and friction per joint, each (n,), at the servo's output (servo units).

    The largest friction torque is coulomb + stribeck exp(−|ω| / stribeck_speed) + viscous |ω| +
    load_share |motor + load|: family M4 of the Better Actuator Models project.

    Attributes:
        stiffness: of the engaged gears [N·m/rad].
        backlash: whole dead zone between rotor and link [rad].
        coulomb: friction of a fast unloaded joint [N·m].
        stribeck: what static friction adds to it [N·m].
        stribeck_speed: speed over which that fades [rad/s].
        viscous: friction per speed [N·m·s/rad].
        load_share: friction per sum of motor effort and load.
    """

    what: ClassVar[str] = "gear model"

    stiffness: Array
    backlash: Array
    coulomb: Array
    stribeck: Array
    stribeck_speed: Array
    viscous: Array
    load_share: Array

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, low, high in (
            ("stiffness", SMALLEST_STIFFNESS, np.inf),
            ("backlash", 0.0, np.inf),
            ("coulomb", 0.0, np.inf),
            ("stribeck", 0.0, np.inf),
            ("stribeck_speed", 1e-4, np.inf),
            ("viscous", 0.0, np.inf),
            ("load_share", 0.0, LARGEST_SHARE),
        ):
            array = getattr(self, name)
            if (array < low).any() or (array > high).any():
                raise FeatureError(
                    f"gear model: {name} = {array!r}, expected {low:g} to {high:g} in every joint"
                )

    @classmethod
    def guessed(cls, spec: RobotSpec) -> GearModel:
        """Values to start a fit from, in proportion to the servos' stall torque (guesses)."""
        torque = []
        for joint in spec.joints:
            if joint.servo is None:
                raise FeatureError(f"robot {spec.robot!r}: joint {joint.name} has no servo")
            torque.append(joint.servo.info.stall_torque)
        stall = np.array(torque)
        ones = np.ones(spec.n)
        return cls(
            stiffness=30.0 * stall,
            backlash=np.deg2rad(0.2) * ones,
            coulomb=0.025 * stall,
            stribeck=0.015 * stall,
            stribeck_speed=0.1 * ones,
            viscous=0.008 * stall,
            load_share=0.08 * ones,
        )


@dataclass(frozen=True)
class Variant:
    """The same observer with some of its constants multiplied: together they tell how sure it is.

    Attributes:
        name: goes into the names of the features.
        stiffness: of the gears, relative.
        band: friction, relative.
        seconds: time constant of the average of the position, relative.
    """

    name: str
    stiffness: float = 1.0
    band: float = 1.0
    seconds: float = 1.0


VARIANTS = (
    Variant("fitted"),
    Variant("slow", seconds=10.0),
    Variant("soft", stiffness=0.5),
    Variant("wide", band=1.3),
)


class GearObserver:
    """Load behind friction of every joint, for several variants of the constants at once.

    Args:
        gears: constants (n,), or (..., n) to run many candidates side by side in a fit.
        dt: seconds per tick.
        variants: V of them; the results' last axes are (V, n).
    """

    def __init__(self, gears: GearModel, dt: float, variants: Sequence[Variant] = VARIANTS) -> None:
        stiffness, band, seconds = (
            np.array([[getattr(variant, name)] for variant in variants])
            for name in ("stiffness", "band", "seconds")
        )
        wide = {name: getattr(gears, name)[..., None, :] for name in gears.to_json()}
        self.stiffness = wide["stiffness"] * stiffness
        self.half = 0.5 * wide["backlash"]
        self.coulomb = wide["coulomb"] * band
        self.stribeck = wide["stribeck"] * band
        self.speed = wide["stribeck_speed"]
        self.viscous = wide["viscous"] * band
        share = np.minimum(wide["load_share"] * band, LARGEST_SHARE)
        self.less, self.more = 1.0 - share, 1.0 + share
        self.effort_step = 1.0 - np.exp(-dt / EFFORT_SECONDS)
        self.position_step = 1.0 - np.exp(-dt / (POSITION_SECONDS * seconds))

    def start(self, effort: Array, position: Array) -> State:
        """State at a first tick, friction taking no part; arrays (..., n) [N·m], [rad]."""
        shape = np.broadcast_shapes(position[..., None, :].shape, self.stiffness.shape)
        mean = np.broadcast_to(position[..., None, :], shape).copy()
        load = effort[..., None, :]
        return {
            "gear_effort": np.broadcast_to(load, shape).copy(),
            "gear_position": mean,
            "gear_rotor": mean + self._twist(np.broadcast_to(load, shape)),
        }

    def step(
        self, state: State, effort: Array, position: Array, velocity: Array
    ) -> tuple[Array, Array, State]:
        """Take one tick into account.

        Args:
            state: of `start` or the step before; left as it was.
            effort: motor effort (..., n) [N·m, servo].
            position, velocity: measured (..., n) [servo rad], [servo rad/s].

        Returns:
            loads that the links put on the joints (..., V, n) [N·m], positive where the motor has
            to push in the positive direction; where they lie within what friction leaves possible
            (..., V, n), from 0 (motor driving) to 1 (being driven back); the next state.
        """
        motor = state["gear_effort"] + self.effort_step * (
            effort[..., None, :] - state["gear_effort"]
        )
        measured = position[..., None, :]
        mean = state["gear_position"]
        mean = mean + self.position_step * (measured - mean)
        mean = np.clip(mean, measured - COUNT, measured + COUNT)
        speed = np.abs(velocity)[..., None, :]
        limit = self.coulomb + self.stribeck * np.exp(-speed / self.speed) + self.viscous * speed
        low = self._edge(motor, limit)
        high = -self._edge(-motor, limit)
        twist = state["gear_rotor"] - mean
        held = self.stiffness * (twist - np.clip(twist, -self.half, self.half))
        load = np.clip(held, low, high)
        rotor = np.where(load == held, state["gear_rotor"], mean + self._twist(load))
        place = (load - low) / np.maximum(high - low, 1e-9)
        following: State = {"gear_effort": motor, "gear_position": mean, "gear_rotor": rotor}
        return load, place, following

    def _twist(self, load: Array) -> Array:
        """Twist of the gears under a load (..., V, n) [rad]."""
        return np.asarray(load / self.stiffness + self.half * np.sign(load))

    def _edge(self, motor: Array, limit: Array) -> Array:
        """Smallest load that friction can hold, of m − l = limit + share |m + l|."""
        drive, back = self.less * motor - limit, self.more * motor - limit
        edge = drive / self.more
        return np.asarray(np.where(motor + edge >= 0.0, edge, back / self.less))
