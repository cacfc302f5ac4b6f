# SPDX-License-Identifier: Apache-2.0
"""Conditions that decide whether an action is executed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ros2_lite.refusal import refusing_getattr

from .substitution import (
    SomeSubstitutionsType,
    normalize_to_list_of_substitutions,
    perform_substitutions,
)

if TYPE_CHECKING:
    from .launch_context import LaunchContext


class InvalidConditionExpressionError(Exception):
    """The text of a condition is neither true, false, 1 nor 0."""


def truth_of(text: str) -> bool:
    """Return the truth that `text` spells; InvalidConditionExpressionError where it spells none."""
    word = text.strip().lower()
    if word in ("true", "1"):
        return True
    if word in ("false", "0"):
        return False
    raise InvalidConditionExpressionError(
        f"condition {text!r} is neither of true, 1, false, 0; "
        "wrap other tests in launch.substitutions.PythonExpression"
    )


class Condition:
    """A question to the context."""

    def __init__(self, *, predicate: Callable[[LaunchContext], bool]) -> None:
        self._predicate = predicate

    def evaluate(self, context: LaunchContext) -> bool:
        """Return the answer."""
        return self._predicate(context)


class IfCondition(Condition):
    """Holds where the expression is true."""

    def __init__(self, predicate_expression: SomeSubstitutionsType) -> None:
        expression = normalize_to_list_of_substitutions(predicate_expression)
        super().__init__(
            predicate=lambda context: truth_of(perform_substitutions(context, expression))
        )


class UnlessCondition(Condition):
    """Holds where the expression is false."""

    def __init__(self, predicate_expression: SomeSubstitutionsType) -> None:
        expression = normalize_to_list_of_substitutions(predicate_expression)
        super().__init__(
            predicate=lambda context: not truth_of(perform_substitutions(context, expression))
        )


__all__ = ["IfCondition", "InvalidConditionExpressionError", "UnlessCondition"]
__getattr__ = refusing_getattr(__name__)
