# SPDX-License-Identifier: Apache-2.0
"""Force labels are checked before anybody sees them."""

from __future__ import annotations

import math

import pytest

from na_teleop.recorder.labels import check_label

NAN3 = (math.nan,) * 3


@pytest.mark.parametrize(
    ("label", "words"),
    [
        ((7, (0, 0, 0), 0.0, "link1"), "source = 7: expected one of 0 NONE, 1 PAYLOAD"),
        ((1, NAN3, 0.2, "link1"), "expected finite values for source PAYLOAD"),
        ((1, (0, 0, -2), math.nan, "link1"), "mass = nan kg: expected 0 or more"),
        ((3, (0, 0, -2), math.nan, ""), "header.frame_id is empty"),
    ],
)
def test_refusals(label: tuple[int, tuple[float, float, float], float, str], words: str) -> None:
    assert words in check_label(*label)


def test_good_labels() -> None:
    assert check_label(0, NAN3, math.nan, "") == ""
    assert check_label(1, (0.0, 0.0, -1.96), 0.2, "link1") == ""
    assert check_label(3, (1.0, 0.0, 0.0), math.nan, "link1") == ""
