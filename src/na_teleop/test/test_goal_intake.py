# SPDX-License-Identifier: Apache-2.0
"""A goal message is taken whole or refused whole, with a counted reason that names joints."""

from __future__ import annotations

import numpy as np
import pytest

from na_teleop import goal_intake as intake
from na_teleop.goal_intake import GoalIntake

NAMES = ("a", "b", "c")


def test_order_is_by_name() -> None:
    goal = GoalIntake(NAMES).take(["c", "a", "b"], [3.0, 1.0, 2.0])
    assert goal is not None
    np.testing.assert_array_equal(goal, [1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("names", "positions", "reason", "words"),
    [
        ([], [], intake.EMPTY, "no joint"),
        (["a", "b", "c"], [1.0], intake.LENGTH, "3 names but 1 positions"),
        (["a", "b", "c"], [], intake.LENGTH, "3 names but 0 positions"),
        (["a", "b", "b"], [1.0, 2.0, 3.0], intake.REPEATED, "b more than once"),
        (["a", "b", "x"], [1.0, 2.0, 3.0], intake.UNKNOWN, "unknown joints x; expected a, b, c"),
        (["a", "b", "c", "y"], [1.0] * 4, intake.UNKNOWN, "y"),
        (["a", "b"], [1.0, 2.0], intake.MISSING, "joints c are missing"),
        (["a", "b", "c"], [1.0, float("nan"), 3.0], intake.NOT_FINITE, "positions of b"),
        (["a", "b", "c"], [float("inf"), 2.0, 3.0], intake.NOT_FINITE, "positions of a"),
    ],
)
def test_bad_messages_are_refused_counted_and_explained(
    names: list[str], positions: list[float], reason: str, words: str
) -> None:
    made = GoalIntake(NAMES)
    assert made.take(names, positions) is None
    assert made.take(names, positions) is None
    assert made.refused == {reason: 2}
    assert made.total_refused == 2 and made.accepted == 0
    assert words in made.last_refusal


def test_partial_goals_keep_the_rest_where_it_is() -> None:
    made = GoalIntake(NAMES, partial=True)
    goal = made.take(["b"], [5.0], rest=np.array([1.0, 2.0, 3.0]))
    assert goal is not None
    np.testing.assert_array_equal(goal, [1.0, 5.0, 3.0])
    assert made.take(["b"], [float("nan")], rest=np.zeros(3)) is None
    assert made.refused[intake.NOT_FINITE] == 1


@pytest.mark.parametrize("rest", [None, np.array([1.0, 2.0, np.nan])])
def test_a_partial_goal_whose_rest_is_unknown_is_refused(rest: np.ndarray | None) -> None:
    made = GoalIntake(NAMES, partial=True)
    assert made.take(["a"], [1.0], rest=rest) is None
    assert made.refused == {intake.MISSING: 1}


def test_the_rest_does_not_complete_a_goal_that_must_be_whole() -> None:
    assert GoalIntake(NAMES).take(["a"], [1.0], rest=np.zeros(3)) is None
