# SPDX-License-Identifier: Apache-2.0
"""Momentum observer behind friction: driven by the load that the gears' twist tells."""

from __future__ import annotations

from typing import ClassVar

from na_core.features.gears import GearModel, GearObserver, Variant
from na_core.features.motor import SIGN_SPEED, MotorModel
from na_core.features.rigid import RigidTerms
from na_core.features.ticks import Ticks
from na_core.observers.base import Array, ObserverError, State
from na_core.observers.momentum import MomentumObserver

PLAIN = (Variant("fitted"),)


class GearLoadObserver(MomentumObserver):
    """`gmo` on the side of the links: the drive is the load found behind friction and gears.

    Friction that holds a joint hides its load from the motor current but not from the encoder, for
    the gears yield (see `na_core.features.gears`). Needs fitted gears and friction, for which
    recordings with a known force are enough: `na_training.data.drive_fit`.

    Settings:
        gain: as for the momentum observer [1/s].
    """

    name: ClassVar[str] = "gears"
    needs_gears: ClassVar[bool] = True

    def __init__(
        self, motor: MotorModel, dt: float, gears: GearModel | None = None, **settings: float
    ) -> None:
        super().__init__(motor, dt, gears, **settings)
        if gears is None:
            raise ObserverError(
                "observer gears: no gears given, expected a GearModel; fit one to recordings with "
                "a known force, or start from GearModel.guessed(robot)"
            )
        if gears.stiffness.shape != motor.rotor.shape:
            raise ObserverError(
                f"observer gears: gears of {gears.stiffness.size} joints, expected "
                f"{motor.rotor.size} as the motor constants have"
            )
        self.ratio = motor.sign_speed / SIGN_SPEED
        self._load = GearObserver(gears, dt, PLAIN)

    def start(self, ticks: Ticks, terms: RigidTerms) -> State:
        effort, position, _ = self._at_servo(ticks)
        return {**super().start(ticks, terms), **self._load.start(effort, position)}

    def _friction(self, state: State, ticks: Ticks) -> tuple[Array, State]:
        """What friction and gears keep of the motor effort: all but the load that was found."""
        effort, position, velocity = self._at_servo(ticks)
        load, _, following = self._load.step(state, effort, position, velocity)
        return (effort - load[..., 0, :]) / self.ratio, following

    def _at_servo(self, ticks: Ticks) -> tuple[Array, Array, Array]:
        """Motor effort, position and velocity at the servos' outputs."""
        ratio = self.ratio
        effort = self.motor.effort(ticks.current) * ratio
        return effort, ticks.position / ratio, ticks.velocity / ratio
