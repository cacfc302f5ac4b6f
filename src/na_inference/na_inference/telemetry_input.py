# SPDX-License-Identifier: Apache-2.0
"""From our telemetry, by joint name, to a reading."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from na_core.features import Ticks
from na_inference.reading import Reading, missing_values

if TYPE_CHECKING:
    from na_core.robot_spec import RobotSpec

Array = NDArray[np.float64]


class TelemetryInput:
    """Puts telemetry into canonical order, whatever order its names have.

    Load stands in for current on servos without a current sensor, and the goal is the one sent
    (dither included), as in training.
    """

    def __init__(self, spec: RobotSpec) -> None:
        self.names = spec.names
        self._no_current = np.array(
            [joint.servo is None or not joint.servo.info.has_current for joint in spec.joints]
        )
        self._known: list[str] = []
        self._order: NDArray[np.intp] | None = None
        self._trouble = ""
        self._nothing = np.full(spec.n, np.nan)

    def reading(self, message: Any, stamp_ns: int) -> Reading:
        """Convert one tick.

        Args:
            message: has the fields of na_msgs/ActuatorTelemetry.
            stamp_ns: its header stamp.
        """
        names = list(message.name)
        if names != self._known:
            self._learn(names)
        if self._order is None:
            return self._refused(message, stamp_ns, self._trouble)
        order, length = self._order, len(names)
        columns = {}
        for field in (
            "position",
            "velocity",
            "goal_sent",
            "goal_register",
            "current",
            "load",
            "voltage",
            "temperature",
        ):
            values = np.asarray(getattr(message, field), dtype=np.float64)
            if values.shape != (length,):
                text = f"{field} has {values.size} values for {length} joint names"
                return self._refused(message, stamp_ns, text)
            columns[field] = values[order]
        goal, sent = columns["goal_register"], columns["goal_sent"]
        goal = np.where(np.isnan(sent), goal, sent)
        ticks = Ticks(
            columns["position"],
            columns["velocity"],
            goal,
            np.where(self._no_current, columns["load"], columns["current"]),
            columns["voltage"],
            columns["temperature"],
        )
        stale = bool(message.stale)
        trouble = "" if stale else missing_values(ticks, self.names)
        return Reading(stamp_ns, int(message.sequence), ticks, stale, trouble)

    def _learn(self, names: Sequence[str]) -> None:
        """Work out the order of a new list of names, once."""
        self._known = list(names)
        self._order, self._trouble = None, ""
        missing = [name for name in self.names if name not in names]
        twice = sorted({name for name in names if list(names).count(name) > 1})
        if missing:
            self._trouble = f"telemetry lacks joint {', '.join(missing)}"
        elif twice:
            self._trouble = f"telemetry names joint {', '.join(twice)} more than once"
        else:
            self._order = np.array([list(names).index(name) for name in self.names])

    def _refused(self, message: Any, stamp_ns: int, trouble: str) -> Reading:
        nothing = self._nothing
        ticks = Ticks(nothing, nothing, nothing, nothing, nothing, nothing)
        return Reading(stamp_ns, int(message.sequence), ticks, bool(message.stale), trouble)
