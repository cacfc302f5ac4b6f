# SPDX-License-Identifier: Apache-2.0
"""The true wrench of a live plant, as means over about a control tick."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from na_sim.arm_plant import ArmPlant

Array = NDArray[np.float64]

INTERVAL = 0.01  # s, shortest time that a mean is taken over
CONTACT = 0.2  # N
SUMS = ("force_sum", "torque_sum", "elsewhere_sum", "contact_sum", "band_sum")


@dataclass(frozen=True)
class TruthSample:
    """What the plant knows; fields as in na_msgs/PlantTruth, forces in base axes."""

    stamp_ns: int
    position: Array
    velocity: Array
    motor_torque: Array
    gear_torque: Array
    winding_temperature: Array
    housing_temperature: Array
    force: Array
    torque: Array
    force_elsewhere: Array
    band_torque: float

    @property
    def in_contact(self) -> bool:
        """Whether the force on the end effector exceeds CONTACT."""
        return float(np.linalg.norm(self.force)) > CONTACT


class TruthMeter:
    """Takes means of a plant's sums; called while the plant is being advanced.

    Attributes:
        latest: the newest sample, None before the first; replaced whole, so that another thread
            may read it.
    """

    def __init__(self, plant: ArmPlant, clock: Callable[[], int] = time.time_ns) -> None:
        self.latest: TruthSample | None = None
        self._plant = plant
        self._clock = clock
        self._taken = plant.time

    def step(self) -> None:
        """Take a sample when enough time has passed."""
        plant = self._plant
        if plant.time - self._taken < INTERVAL:
            return
        self._taken = plant.time
        core = plant.core
        truth, state = core.truth[0], core.state[0]
        steps = max(int(truth["steps"]), 1)
        self.latest = TruthSample(
            self._clock(),
            core.positions()[0].copy(),
            core.velocities()[0].copy(),
            state["motor_torque"].copy(),
            state["gear_torque"].copy(),
            state["winding"].copy(),
            state["housing"].copy(),
            truth["force_sum"] / steps,
            truth["torque_sum"] / steps,
            truth["elsewhere_sum"] / steps,
            float(truth["band_sum"]) / steps,
        )
        for name in SUMS:
            truth[name] = 0.0
        truth["steps"] = 0
