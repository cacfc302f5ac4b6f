# SPDX-License-Identifier: Apache-2.0
"""A line that garbles is not believed at once: what it says must be said again.

A checksum lets a share of damaged packets pass: one in 256 with Feetech's sum, one in 65536 with
Dynamixel's CRC. On a line where damage is seen, that share would show up as wrong positions within
minutes. Two equal images of a servo are believed; where the values flicker it takes three that
could all be true, of which the median of each field counts, so that a damaged one is outvoted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from na_teleop.buses.sign_magnitude import decode_array

HOLD_S = 10.0  # a line counts as garbling until this long after the last damage


@dataclass(frozen=True, slots=True)
class ImageField:
    """How far one field of two images of one servo, read within one tick, may be apart.

    Attributes:
        name: in the image's dtype.
        slack: raw units; 0: must be equal.
        per_speed: additional raw units per raw unit of the field `speed_of`.
        sign_bit: of a sign-magnitude field, None for plain numbers.
        speed_of: field that holds the rate at which this one changes.

    """

    name: str
    slack: int
    per_speed: float = 0.0
    sign_bit: int | None = None
    speed_of: str = "velocity"

    def values(self, rows: np.ndarray) -> np.ndarray:
        """Return the field of `rows` (k,) as signed integers (k,)."""
        if self.sign_bit is None:
            return np.asarray(rows[self.name].astype(np.int64))
        return np.asarray(decode_array(rows[self.name], self.sign_bit))


class NoiseGuard:
    """Remembers damage and, while there was some lately, believes only what was said again."""

    def __init__(self, dtype: np.dtype, fields: tuple[ImageField, ...]) -> None:  # type: ignore[type-arg]
        """Images have layout `dtype`; `fields` are those that are used or known to be steady."""
        self._dtype = dtype
        self._fields = fields
        self._by_name = {field.name: field for field in fields}
        self._last_damage = 0
        self._damaged_at = -math.inf
        self._heard: dict[int, list[bytes]] = {}

    def forget(self) -> None:
        """Start afresh, e.g. after the port was opened again."""
        self._damaged_at = -math.inf

    def noisy(self, damaged_packets: int, now_s: float) -> bool:
        """Take note of the counter of damaged packets; return whether to ask again now."""
        if damaged_packets != self._last_damage:
            self._last_damage = damaged_packets
            self._damaged_at = now_s
        return now_s - self._damaged_at < HOLD_S

    def begin(self) -> None:
        """Begin a tick: images of earlier ticks count no more."""
        self._heard.clear()

    def believe(self, id: int, image: bytes) -> bytes | None:
        """Take an image of servo `id`; return what this tick's images agree on, None so far."""
        heard = self._heard.setdefault(id, [])
        agreeing: list[bytes] = []
        for earlier in heard:
            apart, allowed = self._distances(earlier, image)
            if not apart.any():
                return image
            if (apart <= allowed).all():
                agreeing.append(earlier)
        heard.append(image)
        if len(agreeing) < 2:
            return None
        return self._median([*agreeing[-2:], image])

    def _distances(self, earlier: bytes, later: bytes) -> tuple[np.ndarray, np.ndarray]:
        rows = np.frombuffer(earlier + later, dtype=self._dtype)
        apart, allowed = [], []
        for field in self._fields:
            first, second = field.values(rows)
            apart.append(abs(int(second) - int(first)))
            room = float(field.slack)
            if field.per_speed:
                room += field.per_speed * abs(int(self._by_name[field.speed_of].values(rows)[0]))
            allowed.append(room)
        return np.array(apart), np.array(allowed)

    def _median(self, images: list[bytes]) -> bytes:
        rows = np.frombuffer(b"".join(images), dtype=self._dtype)
        chosen = rows[-1:].copy()
        for field in self._fields:
            if field.slack:
                middle = int(np.argsort(field.values(rows), kind="stable")[1])
                chosen[field.name] = rows[field.name][middle]
        return chosen.tobytes()
