# SPDX-License-Identifier: Apache-2.0
"""Parameters that a fit may move: unit, bounds, and which of them a friction family has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from na_sim.servo.friction import family_number

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Parameter:
    """One number to identify.

    Attributes:
        name: field of the servo's parameter record, or "offset" of the pendulum.
        unit: its unit, "-" for none.
        low, high: bounds.
        least: family number from which on the parameter exists.
    """

    name: str
    unit: str
    low: float
    high: float
    families: tuple[int, ...] = (1, 2, 3, 4, 5, 6)

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise ValueError(f"parameter {self.name}: bounds {self.low}..{self.high} are empty")


# Bounds for small servos (XL330 size); wide enough that a fit that ends on one is suspicious.
SMALL_SERVO: tuple[Parameter, ...] = (
    Parameter("resistance", "ohm", 1.5, 7.0),
    Parameter("torque_constant", "N m/A", 0.2, 0.7),
    Parameter("inertia", "kg m^2", 3e-4, 5e-3),
    Parameter("coulomb", "N m", 0.0, 0.05),
    Parameter("viscous", "N m s/rad", 0.0, 0.03),
    Parameter("stribeck", "N m", 0.0, 0.05, (2, 4, 5, 6)),
    Parameter("stribeck_velocity", "rad/s", 0.02, 4.0, (2, 4, 5, 6)),
    Parameter("stribeck_exponent", "-", 0.5, 8.0, (2, 4, 5, 6)),
    Parameter("load_motor", "-", 0.0, 0.6, (3, 4, 5, 6)),
    Parameter("load_motor_stribeck", "-", 0.0, 0.6, (4, 5, 6)),
    Parameter("load_external", "-", 0.0, 0.6, (5, 6)),
    Parameter("load_external_stribeck", "-", 0.0, 0.6, (5, 6)),
    Parameter("quad_motor", "1/(N m)", 0.0, 3.0, (6,)),
    Parameter("quad_external", "1/(N m)", 0.0, 3.0, (6,)),
    Parameter("heat_winding", "J/K", 0.5, 20.0),
    Parameter("offset", "rad", -0.06, 0.08),
)


def parameters_of(
    family: str, names: Sequence[str] | None = None, table: Sequence[Parameter] = SMALL_SERVO
) -> tuple[Parameter, ...]:
    """Parameters of a friction family ("m1".."m6"), or those of them in `names`.

    Raises ValueError for an unknown family or name.
    """
    number = family_number(family)
    available = [p for p in table if number in p.families]
    if names is None:
        return tuple(available)
    known = {p.name: p for p in available}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(
            f"family {family} has no parameters {unknown}; expected some of {', '.join(known)}"
        )
    return tuple(known[name] for name in names)


def from_unit(parameters: Sequence[Parameter], unit: Array) -> dict[str, float]:
    """Values from coordinates in 0..1 between the bounds."""
    return {
        p.name: float(p.low + u * (p.high - p.low))
        for p, u in zip(parameters, np.clip(unit, 0.0, 1.0), strict=True)
    }


def to_unit(parameters: Sequence[Parameter], values: Mapping[str, float]) -> Array:
    """Coordinates in 0..1 of `values`; ValueError names a value outside its bounds."""
    out = []
    for p in parameters:
        value = values[p.name]
        if not p.low <= value <= p.high:
            raise ValueError(
                f"{p.name} = {value:g} {p.unit}: expected {p.low:g} to {p.high:g} {p.unit}"
            )
        out.append((value - p.low) / (p.high - p.low))
    return np.array(out)
