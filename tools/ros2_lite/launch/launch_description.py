# SPDX-License-Identifier: Apache-2.0
"""The root of a launch file."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ros2_lite.refusal import refuse_keywords

from .action import LaunchDescriptionEntity

if TYPE_CHECKING:
    from .actions import DeclareLaunchArgument, IncludeLaunchDescription
    from .launch_context import LaunchContext

ArgumentAndIncludes = tuple["DeclareLaunchArgument", list["IncludeLaunchDescription"]]


class LaunchDescription(LaunchDescriptionEntity):
    """A list of entities."""

    def __init__(
        self,
        initial_entities: Iterable[LaunchDescriptionEntity] | None = None,
        **unknown: object,
    ) -> None:
        refuse_keywords(type(self), unknown)
        self.entities: list[LaunchDescriptionEntity] = []
        for entity in initial_entities or []:
            self.add_entity(entity)

    def add_entity(self, entity: LaunchDescriptionEntity) -> None:
        """Append an entity; TypeError for anything else."""
        if not isinstance(entity, LaunchDescriptionEntity):
            raise TypeError(f"a launch description takes actions, got {entity!r}")
        self.entities.append(entity)

    def add_action(self, action: LaunchDescriptionEntity) -> None:
        """Append an action."""
        self.add_entity(action)

    def visit(self, context: LaunchContext) -> Iterable[LaunchDescriptionEntity]:
        """Return the entities."""
        return self.entities

    def describe_sub_entities(self) -> Iterable[LaunchDescriptionEntity]:
        """Return the entities."""
        return self.entities

    def get_launch_arguments(self) -> list[DeclareLaunchArgument]:
        """Return the declared arguments, each name once, as far as they can be seen from here."""
        return [argument for argument, _ in self.get_launch_arguments_with_includes()]

    def get_launch_arguments_with_includes(self) -> list[ArgumentAndIncludes]:
        """Return the arguments with the include actions on the way to each."""
        from .actions import DeclareLaunchArgument, IncludeLaunchDescription

        found: dict[str, ArgumentAndIncludes] = {}

        def walk(
            entities: Iterable[LaunchDescriptionEntity],
            conditional: bool,
            includes: list[IncludeLaunchDescription],
        ) -> None:
            for entity in entities:
                if isinstance(entity, DeclareLaunchArgument) and entity.name not in found:
                    entity._conditionally_included = conditional or entity.condition is not None
                    found[entity.name] = (entity, includes)
                deeper = includes
                if isinstance(entity, IncludeLaunchDescription):
                    deeper = [*includes, entity]
                walk(entity.describe_sub_entities(), False, deeper)
                for _, inner in entity.describe_conditional_sub_entities():
                    walk(inner, True, deeper)

        walk(self.entities, False, [])
        return list(found.values())
