# SPDX-License-Identifier: Apache-2.0
"""Actions that hold other actions: in a scope, in another file, or for later."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Iterable, Mapping
from typing import Any

from ..action import Action, LaunchDescriptionEntity
from ..conditions import truth_of
from ..event_handlers import OnShutdown
from ..events import Visit
from ..launch_context import LaunchContext
from ..launch_description_sources import LaunchDescriptionSource, PythonLaunchDescriptionSource
from ..substitution import SomeSubstitutionsType, perform_any
from .basic import OpaqueFunction, SetLaunchConfiguration

LaunchArguments = Iterable[tuple[SomeSubstitutionsType, SomeSubstitutionsType]]


class GroupAction(Action):
    """Runs actions, by default in a scope of launch configurations and environment."""

    def __init__(
        self,
        actions: Iterable[LaunchDescriptionEntity],
        *,
        scoped: bool = True,
        launch_configurations: Mapping[Any, SomeSubstitutionsType] | None = None,
        **kwargs: Any,
    ) -> None:
        if kwargs.get("forwarding") is True:  # the default of the real one
            kwargs.pop("forwarding")
        super().__init__(**kwargs)
        settings = [SetLaunchConfiguration(k, v) for k, v in (launch_configurations or {}).items()]
        self._entities: list[LaunchDescriptionEntity] = [*settings, *actions]
        self._scoped = scoped

    def get_sub_entities(self) -> Iterable[LaunchDescriptionEntity]:
        """Return the actions, between those that open and close the scope."""
        if not self._scoped:
            return self._entities
        enter = OpaqueFunction(function=lambda context: context.enter_scope())
        leave = OpaqueFunction(function=lambda context: context.leave_scope())
        return [enter, *self._entities, leave]

    def execute(self, context: LaunchContext) -> Iterable[LaunchDescriptionEntity]:
        """Yield the actions."""
        return self.get_sub_entities()


class IncludeLaunchDescription(Action):
    """Runs another launch file; its launch configurations are shared with this one."""

    def __init__(
        self,
        launch_description_source: LaunchDescriptionSource | SomeSubstitutionsType,
        *,
        launch_arguments: LaunchArguments | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if not isinstance(launch_description_source, LaunchDescriptionSource):
            launch_description_source = PythonLaunchDescriptionSource(launch_description_source)
        self.launch_description_source = launch_description_source
        self.launch_arguments = tuple(launch_arguments or ())

    def get_sub_entities(self) -> Iterable[LaunchDescriptionEntity]:
        """Return the description, where the path is known before launching."""
        found = self.launch_description_source.try_get_launch_description_without_context()
        return [] if found is None else [found]

    def execute(self, context: LaunchContext) -> Iterable[LaunchDescriptionEntity]:
        """Load the file, check that required arguments are given, and yield its contents."""
        description = self.launch_description_source.get_launch_description(context)
        location = self.launch_description_source.location
        path = os.path.abspath(location)
        context.extend_locals(
            {
                "current_launch_file_path": path,
                "current_launch_file_directory": (
                    os.path.dirname(path) if os.path.exists(path) else location
                ),
            }
        )
        given = [perform_any(context, name) for name, _ in self.launch_arguments]
        for argument, includes in description.get_launch_arguments_with_includes():
            if argument._conditionally_included or argument.default_value is not None:
                continue
            inner = [name for include in includes for name, _ in include.launch_arguments]
            if argument.name not in [*given, *(n for n in inner if isinstance(n, str))]:
                raise RuntimeError(
                    f"Included launch description missing required argument '{argument.name}' "
                    f"(description: '{argument.description}'), given: [{', '.join(given)}]"
                )
        return [*(SetLaunchConfiguration(n, v) for n, v in self.launch_arguments), description]


class TimerAction(Action):
    """Runs actions after `period` [s], unless a shutdown comes first."""

    def __init__(
        self,
        *,
        period: float | SomeSubstitutionsType,
        actions: Iterable[LaunchDescriptionEntity],
        cancel_on_shutdown: bool | SomeSubstitutionsType = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.period = period
        self.actions = list(actions)
        self._cancel_on_shutdown = cancel_on_shutdown
        self._canceled = asyncio.Event()
        self._future: asyncio.Future[None] | None = None

    def cancel(self) -> None:
        """Do not fire; no matter whether the timer has started or fired."""
        self._canceled.set()

    def describe_conditional_sub_entities(
        self,
    ) -> Iterable[tuple[str, Iterable[LaunchDescriptionEntity]]]:
        """Return the actions that follow when the time is over."""
        return [(f"{self.period} seconds pass without being canceled", self.actions)]

    def get_asyncio_future(self) -> asyncio.Future[None] | None:
        """Return what is done when the timer has fired or has been cancelled."""
        return self._future

    def execute(self, context: LaunchContext) -> None:
        """Start the clock."""
        number = isinstance(self.period, int | float)
        seconds = float(self.period if number else perform_any(context, self.period))  # type: ignore[arg-type]
        cancel = self._cancel_on_shutdown
        if cancel if isinstance(cancel, bool) else truth_of(perform_any(context, cancel)):
            context.register_event_handler(OnShutdown(on_shutdown=lambda *_: self.cancel()))
        if context.asyncio_loop is not None:
            self._future = context.asyncio_loop.create_task(self._wait(context, seconds))

    async def _wait(self, context: LaunchContext, seconds: float) -> None:
        remembered = context.get_locals_as_dict()

        def fire(context: LaunchContext) -> Iterable[LaunchDescriptionEntity]:
            context.extend_locals(remembered)
            return self.actions

        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._canceled.wait(), seconds)
        if not self._canceled.is_set():
            await context.emit_event(Visit(fire))
