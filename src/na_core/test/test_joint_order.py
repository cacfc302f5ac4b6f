# SPDX-License-Identifier: Apache-2.0
"""Joint order: messages may come in any order, with too many or too few names."""

from __future__ import annotations

import numpy as np
import pytest

from na_core.joint_order import JointOrder

ORDER = JointOrder(["a", "b", "c"])


def test_values_follow_their_names() -> None:
    result = ORDER.reorder(["c", "a", "b"], [3.0, 1.0, 2.0])
    np.testing.assert_array_equal(result.values, [1.0, 2.0, 3.0])
    assert result.complete and result.unknown == ()


def test_absent_names_are_nan_and_listed_and_strangers_are_listed() -> None:
    result = ORDER.reorder(["b", "elbow"], [2.0, 9.0])
    np.testing.assert_array_equal(result.values, [np.nan, 2.0, np.nan])
    assert result.missing == ("a", "c")
    assert result.unknown == ("elbow",)
    assert not result.complete


def test_an_empty_message_is_all_missing() -> None:
    assert ORDER.reorder([], []).missing == ("a", "b", "c")


@pytest.mark.parametrize(
    ("names", "values", "text"),
    [
        (["a", "b"], [1.0], "2 joint names but 1 values: expected one value per name"),
        (["a", "a"], [1.0, 2.0], "joint names repeated: a; expected each once"),
    ],
)
def test_malformed_input_is_refused(names: list[str], values: list[float], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        ORDER.reorder(names, values)


def test_an_unknown_name_error_lists_the_joints() -> None:
    assert ORDER.index("c") == 2
    with pytest.raises(KeyError, match="joint 'd' is unknown: expected one of a, b, c"):
        ORDER.index("d")


@pytest.mark.parametrize("names", [["a", "a"], ["a", ""]])
def test_canonical_names_are_distinct_and_non_empty(names: list[str]) -> None:
    with pytest.raises(ValueError, match="expected distinct non-empty names"):
        JointOrder(names)
