# SPDX-License-Identifier: Apache-2.0
"""What one generated episode recorded: register values, goals, labels and, apart, the truth."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from na_sim.nad_generator.episode_plan import EpisodePlan

Array = NDArray[np.float64]


@dataclass
class Truth:
    """What the plant knows; training may not read it. Arrays have T ticks.

    Attributes:
        force: mean external force on the end effector since the previous tick (T, 3) [N], base.
        torque: the same about the end-effector origin (T, 3) [N m].
        elsewhere: force on other links (T, 3) [N].
        band: torque of a rubber band (T,) [N m].
        position, velocity: of the joints (T, n).
        motor_torque, gear_torque: at the output shaft (T, n) [N m].
        winding, housing: temperatures (T, n) [degC].
        rotation: end-effector frame in base axes (T, 3, 3).
    """

    force: Array
    torque: Array
    elsewhere: Array
    band: Array
    position: Array
    velocity: Array
    motor_torque: Array
    gear_torque: Array
    winding: Array
    housing: Array
    rotation: Array


@dataclass
class Recording:
    """One episode as the nodes would have recorded it.

    Attributes:
        plan: what was planned.
        step_time: tick times since the start (T,) [s], as they came out.
        goal_requested, goal_sent, goal_register: (T, n) [rad or m].
        position, velocity, current, load, voltage, temperature: (T, n), SI, NaN if unmeasured.
        leader_position, leader_velocity: (T, n).
        ft_time: times of the force sensor's samples (S,) [s].
        ft_wrench: samples (S, 6) [N, N m] in the end-effector frame, empty without a sensor.
        label_force: ForceLabel force (T, 3) [N], base axes, NaN without a label.
        label_mass: ForceLabel mass (T,) [kg].
        label_source, label_valid: (T,).
        truth: see Truth.
    """

    plan: EpisodePlan
    step_time: Array
    goal_requested: Array
    goal_sent: Array
    goal_register: Array
    position: Array
    velocity: Array
    current: Array
    load: Array
    voltage: Array
    temperature: Array
    leader_position: Array
    leader_velocity: Array
    ft_time: Array
    ft_wrench: Array
    label_force: Array
    label_mass: Array
    label_source: NDArray[np.uint8]
    label_valid: NDArray[np.bool_]
    truth: Truth
    extras: dict[str, Any] = field(default_factory=dict)

    @property
    def ticks(self) -> int:
        """Number of recorded ticks."""
        return len(self.step_time)

    def trimmed(self, first: int) -> Recording:
        """The recording from tick `first` on, with times from one tick before it."""
        if first == 0:
            return self
        start = float(self.step_time[first - 1])
        per_tick: dict[str, Any] = {
            name: value[first:]
            for name, value in self.arrays().items()
            if name not in ("ft_time", "ft_wrench", "step_time")
        }
        later = self.ft_time > start
        truth = Truth(**{name: value[first:] for name, value in self.truth_arrays().items()})
        return Recording(
            plan=self.plan,
            step_time=self.step_time[first:] - start,
            ft_time=self.ft_time[later] - start,
            ft_wrench=self.ft_wrench[later],
            truth=truth,
            **per_tick,
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Recorded arrays by name, without plan and truth."""
        skip = {"plan", "truth", "extras"}
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in skip}

    def truth_arrays(self) -> dict[str, NDArray[Any]]:
        """Truth arrays by name."""
        return {f.name: getattr(self.truth, f.name) for f in fields(self.truth)}
