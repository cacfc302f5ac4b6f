# SPDX-License-Identifier: Apache-2.0
"""What to draw for a force estimate: an arrow, a ball in the gate's colour, a text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Colour = tuple[float, float, float, float]

METRES_PER_NEWTON = 0.03
SMALLEST = 0.05  # N; below this an arrow says nothing
CLOSED: Colour = (0.4, 0.6, 0.9, 0.8)
OPEN: Colour = (0.95, 0.45, 0.1, 1.0)
INVALID: Colour = (0.5, 0.5, 0.5, 0.4)


@dataclass(frozen=True)
class ForceDrawing:
    """One drawing, in base axes.

    Attributes:
        origin: the end effector's origin (3,) [m].
        tip: the arrow's tip (3,) [m], None when there is nothing to draw.
        colour: of arrow and ball.
        text: beside them.
    """

    origin: Array
    tip: Array | None
    colour: Colour
    text: str


def force_drawing(origin: Array, force: Array, in_contact: bool, validity: str) -> ForceDrawing:
    """Return what to draw.

    Args:
        origin: of the end effector in the base (3,) [m].
        force: on the end effector (3,) [N], base axes.
        in_contact: the gate.
        validity: "valid", or why not, in words.
    """
    if validity != "valid" or not np.isfinite(force).all():
        return ForceDrawing(origin, None, INVALID, validity)
    size = float(np.linalg.norm(force))
    tip = origin + METRES_PER_NEWTON * force if size >= SMALLEST else None
    return ForceDrawing(origin, tip, OPEN if in_contact else CLOSED, f"{size:.1f} N")
