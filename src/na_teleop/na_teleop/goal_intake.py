# SPDX-License-Identifier: Apache-2.0
"""The border where goals by joint name come in: checked whole, refused with a counted reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from na_core.joint_order import JointOrder

Array = NDArray[np.float64]

EMPTY = "empty"
LENGTH = "length mismatch"
REPEATED = "repeated name"
UNKNOWN = "unknown name"
MISSING = "missing joint"
NOT_FINITE = "not finite"


class GoalIntake:
    """Turns named positions into a goal in canonical order, or refuses the message as a whole.

    Attributes:
        accepted: number of messages taken.
        refused: number of messages refused, by reason.
        last_refusal: text of the latest refusal, naming the joints concerned.

    """

    def __init__(self, names: Sequence[str], *, partial: bool = False) -> None:
        """`partial`: messages need not name every joint; see `take`."""
        self._order = JointOrder(names)
        self._partial = partial
        self.accepted = 0
        self.refused: Counter[str] = Counter()
        self.last_refusal = ""

    def take(
        self, names: Sequence[str], positions: Sequence[float], rest: Array | None = None
    ) -> Array | None:
        """Return the goal (n,) [rad or m] in canonical order, or None when refused.

        Values outside the joint limits are accepted here; shaping clamps them. `rest` (n,): goals
        that joints without a name in a partial message keep.
        """
        known = self._order.names
        if len(names) == 0:
            return self._refuse(EMPTY, "it names no joint")
        if len(names) != len(positions):
            return self._refuse(LENGTH, f"{len(names)} names but {len(positions)} positions")
        if len(set(names)) != len(names):
            twice = sorted(name for name, count in Counter(names).items() if count > 1)
            return self._refuse(REPEATED, f"it names {', '.join(twice)} more than once")
        found = self._order.reorder(names, positions)
        if found.unknown:
            expected = ", ".join(known)
            return self._refuse(
                UNKNOWN, f"unknown joints {', '.join(found.unknown)}; expected {expected}"
            )
        values = found.values
        named = [name for name in known if name not in found.missing]
        bad = [name for name in named if not np.isfinite(values[self._order.index(name)])]
        if bad:
            return self._refuse(NOT_FINITE, f"positions of {', '.join(bad)} are not finite")
        if found.missing:
            filled = values if rest is None else np.where(np.isnan(values), rest, values)
            if not self._partial or not np.isfinite(filled).all():
                return self._refuse(MISSING, f"joints {', '.join(found.missing)} are missing")
            values = filled
        self.accepted += 1
        return values

    def _refuse(self, reason: str, detail: str) -> Array | None:
        self.refused[reason] += 1
        self.last_refusal = f"goal ignored ({reason}): {detail}"
        return None

    @property
    def total_refused(self) -> int:
        """Number of messages refused so far, all reasons together."""
        return sum(self.refused.values())
