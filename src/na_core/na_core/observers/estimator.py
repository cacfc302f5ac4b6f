# SPDX-License-Identifier: Apache-2.0
"""One observer made usable: rigid-body terms, observer, force and dead band, live or in replay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from na_core.features.gears import GearModel
from na_core.features.motor import MotorModel
from na_core.features.rigid import RigidArm, RigidTerms
from na_core.features.ticks import Ticks
from na_core.observers.base import Array, Observer, ObserverError, State
from na_core.observers.force import force_from_effort
from na_core.observers.gate import DeadBand
from na_core.robot_urdf import urdf_string

if TYPE_CHECKING:
    from na_core.robot_spec import RobotSpec


@dataclass(frozen=True)
class Estimate:
    """What an observer says; leading axes are those of the telemetry.

    Attributes:
        effort: external joint efforts (..., n) [N·m or N].
        force: external force on the end effector (..., 3) [N], base axes, without the dead band.
        contact: whether the dead band is open (...).
    """

    effort: Array
    force: Array
    contact: NDArray[np.bool_]

    @property
    def gated(self) -> Array:
        """The force where the dead band is open, else zero (..., 3) [N]."""
        return np.where(self.contact[..., None], self.force, 0.0)


class ForceEstimator:
    """Steps an observer tick by tick; `replay` gives the same numbers for a recording.

    Args:
        arm: rigid-body terms of the robot.
        observer: the method.
        gate: dead band on the size of the force.
        weight: trust in each joint (n,); equal when None.
    """

    def __init__(
        self,
        arm: RigidArm,
        observer: Observer,
        gate: DeadBand,
        weight: Array | None = None,
    ) -> None:
        self.arm = arm
        self.observer = observer
        self.gate = gate
        self.weight = weight
        self._state: State | None = None
        self._open = (False, 0)

    def reset(self) -> None:
        """Forget the past; call it after a gap in the telemetry."""
        self._state = None
        self._open = (False, 0)

    def step(self, ticks: Ticks) -> Estimate:
        """Take one tick (n,) into account.

        Raises:
            ObserverError: a measurement is missing; the memory is left as it was.
        """
        for name in ("position", "velocity", "current"):
            if not np.isfinite(getattr(ticks, name)).all():
                raise ObserverError(
                    f"observer {self.observer.name}: {name} = {getattr(ticks, name)}, expected "
                    "finite numbers; skip stale ticks and reset after a gap"
                )
        terms = self.arm.terms(ticks.position, ticks.velocity)
        if self._state is None:
            self._state = self.observer.start(ticks, terms)
        effort, self._state = self.observer.step(self._state, ticks, terms)
        force = force_from_effort(effort, terms.jacobian, self.weight)
        self._open = self.gate.step(self._open, float(np.linalg.norm(force)))
        return Estimate(effort, force, np.array(self._open[0]))

    def replay(self, ticks: Ticks, terms: RigidTerms | None = None) -> Estimate:
        """Estimates of one recording (T, n) without gaps, from an empty memory.

        Args:
            ticks: the recording.
            terms: its rigid-body terms, when known already.
        """
        if terms is None:
            terms = self.arm.terms(ticks.position, ticks.velocity)
        effort = self.observer.replay(ticks, terms)
        force = force_from_effort(effort, terms.jacobian, self.weight)
        return Estimate(effort, force, self.gate.replay(force))

    def to_json(self) -> dict[str, Any]:
        """Everything but the robot, as JSON values; `estimator_from_json` rebuilds from it."""
        return {
            **self.observer.to_json(),
            "dt": self.observer.dt,
            "motor": self.observer.motor.to_json(),
            "gate": {"on": self.gate.on, "off": self.gate.off, "dwell": self.gate.dwell},
            "weight": None if self.weight is None else self.weight.tolist(),
        }


def arm_of(spec: RobotSpec, motor: MotorModel) -> RigidArm:
    """Rigid-body terms of a robot with the rotors of `motor`."""
    return RigidArm(urdf_string(spec), spec.names, spec.end_effector_frame, motor.rotor)


def build(spec: RobotSpec, kind: type[Observer], values: Mapping[str, Any]) -> ForceEstimator:
    """Build from the values of `ForceEstimator.to_json`."""
    missing = [key for key in ("dt", "motor", "gate", "settings") if key not in values]
    if missing:
        raise ObserverError(f"observer settings: {missing} missing; it has {sorted(values)}")
    motor = MotorModel.from_json(values["motor"])
    if motor.rotor.shape != (spec.n,):
        raise ObserverError(
            f"observer settings: motor constants of {len(motor.rotor)} joints, expected {spec.n} "
            f"as robot {spec.robot!r} has"
        )
    weight, gears = values.get("weight"), values.get("gears")
    return ForceEstimator(
        arm_of(spec, motor),
        kind(
            motor,
            float(values["dt"]),
            None if gears is None else GearModel.from_json(gears),
            **values["settings"],
        ),
        DeadBand(**values["gate"]),
        None if weight is None else np.asarray(weight, dtype=np.float64),
    )
