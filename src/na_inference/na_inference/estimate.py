# SPDX-License-Identifier: Apache-2.0
"""Every output of one tick, in memory that is reused."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from na_inference.validity import Validity

Array = NDArray[np.float64]


class Estimate:
    """Outputs of one tick of an arm with n joints; NaN and False wherever it is not valid.

    The estimator has one of these and fills it anew at every tick.

    Attributes:
        stamp_ns, sequence: of the tick.
        validity: whether the values may be used; `reason`: why not, for people.
        force: on the end effector (3,) [N], base axes, zero while the gate is closed.
        force_tool: the same in end-effector axes.
        force_ungated: before the gate, after tare.
        covariance: of force_ungated (3, 3) [N²].
        rotation: of the end effector in the base (3, 3).
        effort_raw, effort_clipped: surrogate (n,) [N·m or N].
        probability, in_contact: gate.
        condition: (n,) in 0…1, NaN where unsupervised.
        distance: out-of-distribution score.
        observability: smallest singular value of the Jacobian [m].
    """

    def __init__(self, n: int) -> None:
        self.stamp_ns = 0
        self.sequence = 0
        self.validity = Validity.WARMING_UP
        self.reason = ""
        self.force = np.full(3, np.nan)
        self.force_tool = np.full(3, np.nan)
        self.force_ungated = np.full(3, np.nan)
        self.covariance = np.full((3, 3), np.nan)
        self.rotation = np.eye(3)
        self.effort_raw = np.full(n, np.nan)
        self.effort_clipped = np.full(n, np.nan)
        self.condition = np.full(n, np.nan)
        self.probability = float("nan")
        self.in_contact = False
        self.distance = float("nan")
        self.observability = float("nan")

    @property
    def valid(self) -> bool:
        """Whether the values may be used."""
        return self.validity is Validity.VALID

    def withhold(self, validity: Validity, reason: str) -> None:
        """Mark as not valid: every value becomes NaN; score and observability stay."""
        self.validity, self.reason = validity, reason
        for array in (
            self.force,
            self.force_tool,
            self.force_ungated,
            self.covariance,
            self.effort_raw,
            self.effort_clipped,
            self.condition,
        ):
            array.fill(np.nan)
        self.probability = float("nan")
        self.in_contact = False
