# SPDX-License-Identifier: Apache-2.0
"""Values known only while launching: the base class, plain text, and lists of both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from .launch_context import LaunchContext


class Substitution:
    """Something that becomes a string when it is performed with a context."""

    def perform(self, context: LaunchContext) -> str:
        """Return the value of this moment."""
        raise NotImplementedError(f"{type(self).__name__} does not define perform()")

    def describe(self) -> str:
        """Return the text that `ros2 launch --show-args` prints for a default."""
        return f"{type(self).__name__}()"


class SubstitutionFailure(Exception):  # noqa: N818 - the name of the real class
    """A substitution has no value: what was looked for is in the message."""


SomeSubstitutionsType: TypeAlias = str | Substitution | Iterable[str | Substitution]
SomeSubstitutionsType_types_tuple = (str, Substitution, Iterable)


class TextSubstitution(Substitution):
    """Plain text."""

    def __init__(self, *, text: str) -> None:
        if not isinstance(text, str):
            raise TypeError(f"TextSubstitution text must be a str, got {text!r}")
        self.text = text

    def perform(self, context: LaunchContext) -> str:
        """Return the text."""
        return self.text

    def describe(self) -> str:
        """Return the text in quotes."""
        return f"'{self.text}'"


def normalize_to_list_of_substitutions(subs: SomeSubstitutionsType) -> list[Substitution]:
    """Return `subs` as a list in which every string has become a TextSubstitution."""
    if isinstance(subs, str | Substitution):
        subs = [subs]
    normal: list[Substitution] = []
    for item in subs:
        if not isinstance(item, str | Substitution):
            raise TypeError(
                f"expected a str or a Substitution, got {item!r} of type {type(item).__name__}; "
                "numbers and paths must be written as str(...)"
            )
        normal.append(TextSubstitution(text=item) if isinstance(item, str) else item)
    return normal


def perform_substitutions(context: LaunchContext, subs: Sequence[Substitution]) -> str:
    """Return the performed substitutions joined to one string."""
    return "".join(sub.perform(context) for sub in subs)


def perform_any(context: LaunchContext, subs: SomeSubstitutionsType) -> str:
    """Return the string that `subs`, in any of the accepted forms, stands for."""
    return perform_substitutions(context, normalize_to_list_of_substitutions(subs))


def describe_all(subs: SomeSubstitutionsType) -> str:
    """Return the descriptions of `subs` joined by plus signs."""
    return " + ".join(sub.describe() for sub in normalize_to_list_of_substitutions(subs))
