# SPDX-License-Identifier: Apache-2.0
"""What the servos put on the wire: answers in time slots, and what a shared slot makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reply:
    """A status packet: put it on the wire `return_delay` seconds after the wire falls silent."""

    id: int
    data: bytes
    return_delay: float


@dataclass(frozen=True, slots=True)
class Exchange:
    """What one instruction packet of `request_bytes` wire bytes led to, in wire order."""

    request_bytes: int
    replies: tuple[Reply, ...]


def collide(frames: Sequence[bytes]) -> bytes:
    """Return the bytes that arrive when `frames` begin together; a single one survives.

    Open-drain wires carry the AND of all drivers, and no two clocks agree: each later talker is
    turned by one more bit, so that even equal frames garble each other.
    """
    if len(frames) == 1:
        return frames[0]
    garbled = bytearray(b"\xff" * max(len(frame) for frame in frames))
    for turn, frame in enumerate(frames):
        shift = turn % 8
        for i, byte in enumerate(frame):
            garbled[i] &= (byte << shift | byte >> (8 - shift)) & 0xFF
    return bytes(garbled)
