# SPDX-License-Identifier: Apache-2.0
"""Counts messages lost on the way, from the `sequence` field, without deserialising."""

from __future__ import annotations

import struct
from dataclasses import dataclass

_LENGTH = struct.Struct("<I")
_SEQUENCE = struct.Struct("<Q")
_BODY = 4  # CDR encapsulation header; alignment counts from here
_FRAME_ID = _BODY + 8  # after the stamp (int32, uint32)


def peek_sequence(cdr: bytes) -> int:
    """Return `sequence` of a message that starts with std_msgs/Header and uint64 sequence.

    Raises ValueError for big-endian or truncated data.
    """
    if len(cdr) < _FRAME_ID + 4 or cdr[1] != 1:
        raise ValueError(
            f"expected little-endian CDR of at least 16 bytes, got {bytes(cdr[:16])!r}"
        )
    (length,) = _LENGTH.unpack_from(cdr, _FRAME_ID)
    end = _FRAME_ID + 4 + length - _BODY
    offset = _BODY + (end + 7) // 8 * 8
    if offset + 8 > len(cdr):
        raise ValueError(f"message of {len(cdr)} bytes ends before its sequence at {offset}")
    return int(_SEQUENCE.unpack_from(cdr, offset)[0])


@dataclass
class SequenceCounter:
    """Gap counter of one publisher.

    `missed` counts the numbers skipped; `restarts` counts steps backwards (the publisher started
    again, or a message came twice), which say nothing about loss.
    """

    last: int | None = None
    missed: int = 0
    restarts: int = 0

    def see(self, sequence: int) -> int:
        """Take the next number; returns how many were skipped just before it."""
        gap = 0
        if self.last is not None:
            if sequence > self.last:
                gap = sequence - self.last - 1
                self.missed += gap
            else:
                self.restarts += 1
        self.last = sequence
        return gap
