# SPDX-License-Identifier: Apache-2.0
"""Contact gate: two thresholds and a time that a change must last."""

from __future__ import annotations

import math

CLOSING = 2.0 / 3.0  # of `clear`, below which an open gate closes


class ContactGate:
    """Opens when the probability has stayed at or above `on` for `dwell` ticks, closes when it has
    stayed below `off` for as long.

    With `clear`, a force that does not stand out of its own uncertainty is no contact either: the
    gate opens only while the force is at least `clear` times its predicted deviation, and closes
    below two thirds of that.

    Attributes:
        on, off: probabilities.
        dwell: ticks; 0 and 1 both mean at once.
        clear: force over its deviation; 0: not asked for.
        is_open: the gate.
    """

    def __init__(self, on: float, off: float, dwell: int, clear: float = 0.0) -> None:
        """Raises ValueError unless 0 < off <= on < 1, dwell >= 0 and clear >= 0."""
        if not clear >= 0.0:
            raise ValueError(f"gate clear {clear}: expected 0 or more")
        self.is_open = False
        self.clear = clear
        self._against = 0
        self.set(on, off, dwell)

    def set(self, on: float, off: float, dwell: int) -> None:
        """Change thresholds and dwell; the gate keeps its state."""
        if not 0.0 < off <= on < 1.0:
            raise ValueError(f"gate on {on}, off {off}: expected 0 < off <= on < 1")
        if dwell < 0:
            raise ValueError(f"gate dwell {dwell} ticks: expected 0 or more")
        self.on, self.off, self.dwell = on, off, dwell

    def step(self, probability: float, ratio: float = math.inf) -> bool:
        """Take one tick into account; returns whether the gate is open.

        Args:
            probability: of contact.
            ratio: force over its predicted deviation.
        """
        if self.is_open:
            against = probability < self.off or ratio < self.clear * CLOSING
        else:
            against = probability >= self.on and ratio >= self.clear
        self._against = self._against + 1 if against else 0
        if against and self._against >= self.dwell:
            self.is_open = not self.is_open
            self._against = 0
        return self.is_open

    def reset(self) -> None:
        """Close."""
        self.is_open = False
        self._against = 0


def sigmoid(logit: float) -> float:
    """Probability of a logit, without overflow."""
    if logit >= 0.0:
        return 1.0 / (1.0 + math.exp(-logit))
    grown = math.exp(logit)
    return grown / (1.0 + grown)
