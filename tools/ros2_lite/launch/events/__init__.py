# SPDX-License-Identifier: Apache-2.0
"""Events that reach the event handlers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ros2_lite.refusal import refusing_getattr

if TYPE_CHECKING:
    from ..action import Action, SomeEntitiesType
    from ..launch_context import LaunchContext


class Event:
    """Something that happened."""

    name = "launch.Event"


class Shutdown(Event):
    """Everything is asked to end."""

    name = "launch.events.Shutdown"

    def __init__(self, *, reason: str = "reason not given", due_to_sigint: bool = False) -> None:
        self.reason = reason
        self.due_to_sigint = due_to_sigint


class Hurry(Event):
    """Ours alone: a second interrupt; processes that still run get their SIGTERM now."""

    name = "ros2_lite.Hurry"


class Visit(Event):
    """Ours alone: call a function inside the launch service and visit what it returns."""

    name = "ros2_lite.Visit"

    def __init__(self, function: Callable[[LaunchContext], SomeEntitiesType | None]) -> None:
        self.function = function


def matches_action(target_action: Action) -> Callable[[Action], bool]:
    """Return a matcher for events aimed at one process action."""
    return lambda action: action is target_action


from . import process  # noqa: E402 - needs Event

__all__ = ["Event", "Shutdown", "matches_action", "process"]
__getattr__ = refusing_getattr(__name__)
