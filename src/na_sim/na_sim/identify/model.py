# SPDX-License-Identifier: Apache-2.0
"""Servo models to compare: published parameter files, and ours with fitted values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from na_sim.identify.recordings import PendulumRun
from na_sim.servo.catalogue import nominal
from na_sim.servo.rig import Pendulum, simulate

Array = NDArray[np.float64]

# Better Actuator Models' parameter names and ours. Its load-dependent friction of M3 and M4 is one
# number; what it calls a quadratic "external" coefficient multiplies the external torque squared.
BAM_NAMES: dict[str, str] = {
    "kt": "torque_constant",
    "R": "resistance",
    "armature": "inertia",
    "friction_base": "coulomb",
    "friction_stribeck": "stribeck",
    "friction_viscous": "viscous",
    "dtheta_stribeck": "stribeck_velocity",
    "alpha": "stribeck_exponent",
    "load_friction_base": "load_motor",
    "load_friction_stribeck": "load_motor_stribeck",
    "load_friction_motor": "load_motor",
    "load_friction_external": "load_external",
    "load_friction_motor_stribeck": "load_motor_stribeck",
    "load_friction_external_stribeck": "load_external_stribeck",
    "load_friction_motor_quad": "quad_motor",
    "load_friction_external_quad": "quad_external",
}
# What those models do not have: heat, temperature-dependent friction, encoder error.
BAM_WITHOUT: dict[str, float] = {
    "copper": 0.0,
    "magnet": 0.0,
    "friction_temperature": 0.0,
    "encoder_amplitude": 0.0,
}
BAM_SERVOS = {"xl330": "xl330-m288", "sts3215": "sts3215"}


@dataclass(frozen=True)
class ServoModelUnderTest:
    """A servo record and the pendulum's offset [rad]; `measured_supply` False uses the nominal."""

    name: str
    record: NDArray[Any]
    offset: float
    measured_supply: bool = True

    def predict(self, run: PendulumRun) -> Array:
        """Positions (T,) [rad] on the run's grid, from goal and supply alone."""
        pendulum = Pendulum.point_mass(run.mass, run.length, run.rod, self.offset)
        volts = run.volts if self.measured_supply else np.full(len(run.goal), run.supply)
        result = simulate(
            self.record,
            pendulum,
            run.goal,
            volts,
            gains=(run.gain, 0.0, 0.0),
            enables=run.enabled,
            start=(float(run.position[0]), run.start_velocity),
            temperature=run.temperature,
        )
        return result.position

    def mean_absolute_error(self, run: PendulumRun) -> float:
        """Mean absolute position error over the run's samples [rad]."""
        return float(np.mean(np.abs(run.error(self.predict(run)))))


def bam_model(path: Path, *, measured_supply: bool = True) -> ServoModelUnderTest:
    """A model from a Better Actuator Models parameter file; ValueError when it is none."""
    data = json.loads(path.read_text(encoding="utf-8"))
    try:
        servo = BAM_SERVOS[data["actuator"]]
        family = data["model"]
    except KeyError as error:
        raise ValueError(
            f"{path}: {error} is missing or unknown; expected 'model' and an 'actuator' of "
            f"{', '.join(BAM_SERVOS)}"
        ) from None
    values: dict[str, Any] = {"friction_family": family, **BAM_WITHOUT}
    for theirs, ours in BAM_NAMES.items():
        if theirs in data:
            values[ours] = float(data[theirs])
    offset = float(data.get("q_offset", 0.0))
    return ServoModelUnderTest(
        f"{family} published", nominal(servo, values), offset, measured_supply
    )


def our_model(
    values: Mapping[str, float], family: str, servo: str = "xl330-m288", name: str = "ours"
) -> ServoModelUnderTest:
    """Our servo `servo` with fitted `values` by parameter name ("offset" is the pendulum's)."""
    fields: dict[str, Any] = {k: v for k, v in values.items() if k != "offset"}
    record = nominal(servo, {**fields, "friction_family": family, "encoder_amplitude": 0.0})
    return ServoModelUnderTest(name, record, float(values.get("offset", 0.0)))
