# SPDX-License-Identifier: Apache-2.0
"""What a launch description is made of."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeAlias

from ros2_lite.refusal import refuse_keywords

if TYPE_CHECKING:
    from .conditions import Condition
    from .launch_context import LaunchContext


class LaunchDescriptionEntity:
    """A node of the tree which the launch service visits, depth first."""

    def visit(self, context: LaunchContext) -> Iterable[LaunchDescriptionEntity] | None:
        """Do what is to be done now; return entities to visit next."""
        raise NotImplementedError(f"{type(self).__name__} does not define visit()")

    def describe_sub_entities(self) -> Iterable[LaunchDescriptionEntity]:
        """Return entities that are known to follow without launching anything."""
        return []

    def describe_conditional_sub_entities(
        self,
    ) -> Iterable[tuple[str, Iterable[LaunchDescriptionEntity]]]:
        """Return (reason, entities) pairs that follow only when something happens."""
        return []

    def get_asyncio_future(self) -> asyncio.Future[None] | None:
        """Return what the launch service must wait for before it may end, if anything."""
        return None


SomeEntitiesType: TypeAlias = LaunchDescriptionEntity | Iterable[LaunchDescriptionEntity]


class Action(LaunchDescriptionEntity):
    """An entity that does something, unless its condition says no."""

    def __init__(self, *, condition: Condition | None = None, **unknown: object) -> None:
        refuse_keywords(type(self), unknown)
        self.condition = condition

    def visit(self, context: LaunchContext) -> Iterable[LaunchDescriptionEntity] | None:
        """Execute when there is no condition or the condition holds."""
        if self.condition is None or self.condition.evaluate(context):
            return self.execute(context)
        return None

    def execute(self, context: LaunchContext) -> Iterable[LaunchDescriptionEntity] | None:
        """Do it; return entities to visit next."""
        return None

    def get_sub_entities(self) -> Iterable[LaunchDescriptionEntity]:
        """Return the entities inside this action."""
        return []

    def describe_sub_entities(self) -> Iterable[LaunchDescriptionEntity]:
        """Return the entities inside, where no condition guards them."""
        return self.get_sub_entities() if self.condition is None else []

    def describe_conditional_sub_entities(
        self,
    ) -> Iterable[tuple[str, Iterable[LaunchDescriptionEntity]]]:
        """Return the entities inside, where a condition guards them."""
        return [] if self.condition is None else [("condition", self.get_sub_entities())]
