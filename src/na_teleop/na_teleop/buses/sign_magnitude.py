# SPDX-License-Identifier: Apache-2.0
"""Numbers as Feetech writes them: a magnitude, and one bit that says "negative"."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def encode(value: int, sign_bit: int) -> int:
    """Return the unsigned register value of `value`; ValueError when its magnitude does not fit."""
    _check_bit(sign_bit)
    most = (1 << sign_bit) - 1
    if not -most <= value <= most:
        raise ValueError(
            f"{value} does not fit a sign-magnitude number with sign bit {sign_bit}, expected "
            f"{-most} to {most}"
        )
    return -value | 1 << sign_bit if value < 0 else value


def decode(raw: int, sign_bit: int) -> int:
    """Return the number in `raw`; ValueError when bits above the sign bit are set."""
    _check_bit(sign_bit)
    if not 0 <= raw < 1 << (sign_bit + 1):
        raise ValueError(
            f"register value {raw} has bits above sign bit {sign_bit}, expected 0 to "
            f"{(1 << (sign_bit + 1)) - 1}"
        )
    magnitude = raw & ((1 << sign_bit) - 1)
    return -magnitude if raw >> sign_bit else magnitude


def decode_array(raw: ArrayLike, sign_bit: int) -> NDArray[np.int64]:
    """Decode unsigned values of any shape; bits above the sign bit are ignored (servo flags)."""
    _check_bit(sign_bit)
    values = np.asarray(raw).astype(np.int64)
    magnitude = values & ((1 << sign_bit) - 1)
    return np.where(values >> sign_bit & 1, -magnitude, magnitude)


def _check_bit(sign_bit: int) -> None:
    if not 1 <= sign_bit <= 15:
        raise ValueError(f"sign bit {sign_bit}, expected 1 to 15")
