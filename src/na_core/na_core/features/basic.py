# SPDX-License-Identifier: Apache-2.0
"""Feature set `basic35`: seven numbers per joint, the reproduction of the paper's input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from na_core.features.base import Array, FeatureSet, State, check_rule
from na_core.features.ticks import Ticks

CHANNELS = ("q", "qd", "goal", "error", "current", "voltage", "temperature")
"""Per joint, in this order; error is goal − position."""


class BasicFeatures(FeatureSet):
    """Seven features per joint, joint by joint; no memory. Five joints make 35.

    Args:
        joints: joint names in canonical order.
    """

    name = "basic35"
    version = 1

    def __init__(self, joints: Sequence[str]) -> None:
        self.joints = tuple(joints)
        self.names = tuple(f"{joint}.{channel}" for joint in self.joints for channel in CHANNELS)
        self.basic = len(self.names)

    def start(self, first: Ticks) -> State:
        return {}

    def step(self, state: State, ticks: Ticks) -> tuple[Array, State]:
        return basic_features(ticks), state

    def replay(self, ticks: Ticks) -> Array:
        return basic_features(ticks)

    def rule(self) -> dict[str, Any]:
        return {"name": self.name, "version": self.version, "joints": list(self.joints)}

    @classmethod
    def from_rule(cls, rule: Mapping[str, Any]) -> BasicFeatures:
        """Rebuild from `rule()`; raises FeatureError when name or version differ."""
        check_rule(rule, cls.name, cls.version)
        return cls(rule["joints"])


def basic_features(ticks: Ticks) -> Array:
    """Return (..., 7 n): for each joint the channels of `CHANNELS`."""
    stacked = np.stack(
        [
            ticks.position,
            ticks.velocity,
            ticks.goal,
            ticks.goal - ticks.position,
            ticks.current,
            ticks.voltage,
            ticks.temperature,
        ],
        axis=-1,
    )
    return stacked.reshape(*ticks.shape[:-1], -1)
