# SPDX-License-Identifier: Apache-2.0
"""From any driver's joint states and goals to a reading; nothing about units is guessed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from na_core.features import Ticks
from na_core.joint_order import JointOrder
from na_inference.reading import Reading, missing_values

if TYPE_CHECKING:
    from na_core.robot_spec import RobotSpec

Array = NDArray[np.float64]

EFFORT_UNITS = {"A": 1.0, "mA": 1e-3, "fraction": 1.0, "percent": 1e-2}
"""Units of `effort` that need no further constant; the value turns them into A or a fraction."""
OWN_FACTOR = "factor"
"""The unit whose factor to A (or fraction) per joint is given."""


@dataclass(frozen=True)
class JointStateSettings:
    """What a driver's messages mean.

    Attributes:
        effort_unit: a key of `EFFORT_UNITS`, or "factor"; must be declared.
        effort_factor: with "factor", A (or fraction of load) per unit of effort (n,), by our order.
        voltage: supply, which joint states do not carry [V]; must be declared.
        temperature: servo temperature likewise [°C].
        names: the driver's joint name → ours; names that are absent stay as they are.
    """

    effort_unit: str
    voltage: float
    temperature: float
    effort_factor: tuple[float, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)


class JointStateInput:
    """Joins the latest goal with each joint state.

    Args:
        spec: the robot.
        settings: what the messages mean.

    Raises:
        ValueError: a unit, supply or temperature was not declared, or a name does not exist.
    """

    def __init__(self, spec: RobotSpec, settings: JointStateSettings) -> None:
        self.names = spec.names
        self._order = JointOrder(spec.names)
        self._factor = _factor(settings, spec.n)
        for name, value in (
            ("assumed_voltage", settings.voltage),
            ("assumed_temperature", settings.temperature),
        ):
            if not np.isfinite(value):
                raise ValueError(
                    f"{name} is {value}: joint states carry none, so declare the arm's own "
                    "(for example 12.0 V, 35.0 °C)"
                )
        strangers = sorted(set(settings.names.values()) - set(spec.names))
        if strangers:
            raise ValueError(
                f"joint_names maps to {', '.join(strangers)}: expected some of "
                f"{', '.join(spec.names)}"
            )
        self._map = dict(settings.names)
        self._voltage = np.full(spec.n, settings.voltage)
        self._temperature = np.full(spec.n, settings.temperature)
        self._goal = np.full(spec.n, np.nan)
        self._count = 0

    def goal(self, names: Sequence[str], positions: Sequence[float]) -> str:
        """Take a goal by the driver's joint names; returns why it was refused, or "".

        Joints that are not named keep their goal. Without names the values must be in our order.
        """
        if not names:
            if len(positions) != len(self.names):
                return (
                    f"goal without names has {len(positions)} values, expected {len(self.names)}"
                    f" ({', '.join(self.names)})"
                )
            names = self.names
        try:
            found = self._order.reorder([self._map.get(n, n) for n in names], positions)
        except ValueError as error:
            return str(error)
        if len(found.missing) == len(self.names):
            return f"goal names none of {', '.join(self.names)}"
        self._goal = np.where(np.isnan(found.values), self._goal, found.values)
        return ""

    def reading(
        self,
        names: Sequence[str],
        position: Sequence[float],
        velocity: Sequence[float],
        effort: Sequence[float],
        stamp_ns: int,
    ) -> Reading:
        """Convert one joint state; its arrays may be empty where a driver has nothing to say."""
        ours = [self._map.get(name, name) for name in names]
        columns, trouble = [], ""
        for what, values in (("position", position), ("velocity", velocity), ("effort", effort)):
            try:
                if len(values) == 0:
                    raise ValueError("is empty")
                column = self._order.reorder(ours, values)
            except ValueError as error:
                trouble = trouble or f"{what} of the joint states: {error}"
                columns.append(np.full(len(self.names), np.nan))
                continue
            if column.missing:
                trouble = trouble or f"joint states lack {', '.join(column.missing)}"
            columns.append(column.values)
        ticks = Ticks(
            columns[0],
            columns[1],
            self._goal.copy(),
            columns[2] * self._factor,
            self._voltage,
            self._temperature,
        )
        self._count += 1
        return Reading(
            stamp_ns,
            self._count,
            ticks,
            False,
            trouble or missing_values(ticks, self.names).replace("(torque off?)", "(none heard)"),
        )


def _factor(settings: JointStateSettings, n: int) -> Array:
    unit = settings.effort_unit
    if unit in EFFORT_UNITS:
        return np.full(n, EFFORT_UNITS[unit])
    if unit != OWN_FACTOR:
        raise ValueError(
            f"effort_unit is {unit!r}: expected one of {', '.join([*EFFORT_UNITS, OWN_FACTOR])}; "
            "a driver's effort may be anything, so it must be declared"
        )
    factor = np.asarray(settings.effort_factor, dtype=np.float64)
    if factor.shape != (n,) or not np.isfinite(factor).all() or not factor.all():
        raise ValueError(
            f"effort_factor is {list(settings.effort_factor)}: expected {n} numbers other than 0, "
            "A per unit of effort"
        )
    return factor
