# SPDX-License-Identifier: Apache-2.0
"""What a feature set is: a named, versioned transform whose memory is explicit and replayable."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from na_core.features.ticks import FeatureError, Ticks

Array = NDArray[np.float64]
State = dict[str, Array]
"""Memory of a feature set: arrays with the batch axis first."""


class FeatureSet(ABC):
    """Turns telemetry into feature vectors, tick by tick or over a whole recording.

    `step` is pure: it returns the next state and leaves the old one as it was. `replay` gives, row
    for row, what repeated `step` calls from `start` give. The first `basic` features are the ones
    that a simulated arm can produce too; the others exist only for measured telemetry.
    """

    name: str
    version: int
    #: Names of the features in order; set by the constructor.
    names: tuple[str, ...]
    #: Number of leading features, those without memory or model.
    basic: int

    @property
    def size(self) -> int:
        """Number of features."""
        return len(self.names)

    @property
    def extras(self) -> tuple[str, ...]:
        """Names of the features after the basic ones."""
        return self.names[self.basic :]

    @abstractmethod
    def start(self, first: Ticks) -> State:
        """Return the state before the first tick; `first` (batch, n) is that tick."""

    @abstractmethod
    def step(self, state: State, ticks: Ticks) -> tuple[Array, State]:
        """Take one tick (batch, n) into account.

        Returns:
            features (batch, size) and the next state.
        """

    @abstractmethod
    def rule(self) -> dict[str, Any]:
        """Return everything needed to rebuild this set, as JSON values (kept with the model)."""

    def replay(self, ticks: Ticks) -> Array:
        """Return the features (T, size) of one recording, or (T, batch, size) of several.

        Args:
            ticks: arrays (T, n), or (T, batch, n) for recordings of equal length.
        """
        single = len(ticks.shape) == 2
        if single:
            ticks = ticks[:, None]
        if len(ticks.shape) != 3:
            raise FeatureError(f"replay: shape {ticks.shape}, expected (T, n) or (T, batch, n)")
        length, batch, _ = ticks.shape
        out = np.empty((length, batch, self.size))
        if length:
            state = self.start(ticks[0])
            for index in range(length):
                out[index], state = self.step(state, ticks[index])
        return out[:, 0] if single else out

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name} v{self.version}, {self.size} features)"


def check_rule(rule: Mapping[str, Any], name: str, version: int) -> None:
    """Raise FeatureError unless `rule` was written by version `version` of the set `name`."""
    for key, expected in (("name", name), ("version", version)):
        if key not in rule:
            raise FeatureError(f"feature rule: key {key!r} is missing, expected {expected!r}")
        if rule[key] != expected:
            raise FeatureError(
                f"feature rule: {key} is {rule[key]!r}, expected {expected!r}; the model needs the "
                "software version that made it, or a new export"
            )
