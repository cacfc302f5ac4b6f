# SPDX-License-Identifier: Apache-2.0
"""Why an estimate may or may not be used; numbers are those of na_msgs/NeuralActuatorState."""

from __future__ import annotations

from enum import IntEnum


class Validity(IntEnum):
    """Checked in the order BAD_INPUT, STALE, WARMING_UP, RATE_MISMATCH, OVER_TEMPERATURE,
    OUT_OF_DISTRIBUTION, UNOBSERVABLE: the first that applies is reported.
    """

    VALID = 0
    WARMING_UP = 1
    STALE = 2
    OUT_OF_DISTRIBUTION = 3
    UNOBSERVABLE = 4
    OVER_TEMPERATURE = 5
    RATE_MISMATCH = 6
    BAD_INPUT = 7

    @property
    def text(self) -> str:
        """The name in words, for example "warming up"."""
        return self.name.lower().replace("_", " ")
