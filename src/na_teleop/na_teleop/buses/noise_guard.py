# SPDX-License-Identifier: Apache-2.0
"""A line that garbles is not believed at once: what it says must be said twice.

A checksum lets a share of damaged packets pass: one in 256 with Feetech's sum, one in 65536 with
Dynamixel's CRC. On a line where damage is seen, that share would show up as wrong positions within
minutes, so that two images of a servo have to agree before one is used.
"""

from __future__ import annotations

import math
from collections.abc import Callable

HOLD_S = 10.0  # a line counts as garbling until this long after the last damage

#: Whether two images of one servo, read within one tick, can both be true.
Agree = Callable[[bytes, bytes], bool]


class NoiseGuard:
    """Remembers damage and, while there was some lately, pairs images until two agree."""

    def __init__(self, agree: Agree) -> None:
        """`agree(earlier, later)` compares two images of one servo."""
        self._agree = agree
        self._last_corrupt = 0
        self._damaged_at = -math.inf
        self._heard: dict[int, list[bytes]] = {}

    def forget(self) -> None:
        """Start afresh, e.g. after the port was opened again."""
        self._damaged_at = -math.inf

    def noisy(self, corrupt_packets: int, now_s: float) -> bool:
        """Take note of the counter of damaged packets; return whether to ask twice now."""
        if corrupt_packets != self._last_corrupt:
            self._last_corrupt = corrupt_packets
            self._damaged_at = now_s
        return now_s - self._damaged_at < HOLD_S

    def begin(self) -> None:
        """Begin a tick: images of earlier ticks count no more."""
        self._heard.clear()

    def confirmed(self, id: int, image: bytes) -> bool:
        """Take an image of servo `id`; return whether an earlier one of this tick agrees."""
        heard = self._heard.setdefault(id, [])
        agrees = any(self._agree(earlier, image) for earlier in heard)
        heard.append(image)
        return agrees
