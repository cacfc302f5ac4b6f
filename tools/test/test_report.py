# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from na_cli.report import cell, format_table


def test_numbers_stand_right_and_text_left() -> None:
    text = format_table("T", ["name", "rate"], [["a", 1.5], ["long name", 123456.0]])
    assert text.splitlines() == [
        "T",
        "  name          rate",
        "  ---------  -------",
        "  a              1.5",
        "  long name  123,456",
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (float("nan"), "nan"), (True, "yes"), (60.0123, "60.01"), (12345, "12,345")],
)
def test_cell(value: object, text: str) -> None:
    assert cell(value) == text


def test_a_ragged_row_is_refused() -> None:
    with pytest.raises(ValueError, match="has not 2 cells"):
        format_table("T", ["a", "b"], [[1]])
