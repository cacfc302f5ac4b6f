# SPDX-License-Identifier: Apache-2.0
"""Plain tables on the terminal, alike for every verb and bench."""

from __future__ import annotations

import math
from collections.abc import Sequence


def cell(value: object) -> str:
    """A number with about four significant digits; anything else as its text; None as a dash."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        if value != value:
            return "nan"
        return f"{value:,.0f}" if abs(value) >= 10000 else f"{value:.4g}"
    if isinstance(value, int):
        return f"{value:,}"
    return str(value)


def format_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A title, a header and aligned rows; numbers to the right, text to the left.

    Raises ValueError when a row has another number of cells than there are columns.
    """
    for row in rows:
        if len(row) != len(columns):
            raise ValueError(f"table {title!r}: row {row!r} has not {len(columns)} cells")
    texts = [[cell(value) for value in row] for row in rows]
    widths = [
        max([len(name), *(len(row[index]) for row in texts)]) for index, name in enumerate(columns)
    ]
    numeric = [
        bool(rows) and all(isinstance(row[index], (int, float, type(None))) for row in rows)
        for index in range(len(columns))
    ]

    def line(cells: Sequence[str]) -> str:
        padded = [
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(cells, widths, numeric, strict=True)
        ]
        return "  " + "  ".join(padded).rstrip()

    return "\n".join(
        [title, line(columns), line(["-" * width for width in widths]), *map(line, texts)]
    )


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print what format_table makes, with an empty line after it."""
    print(format_table(title, columns, rows) + "\n", flush=True)


def joint_unit(joint: str) -> tuple[float, str]:
    """Factor and unit in which people read a joint's position: a gripper's slide in mm."""
    return (1e3, "mm") if "gripper_left" in joint else (180.0 / math.pi, "deg")
