# SPDX-License-Identifier: Apache-2.0
"""Actions that are done in one step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..action import Action, LaunchDescriptionEntity
from ..event_handlers import BaseEventHandler
from ..events import Event
from ..events import Shutdown as ShutdownEvent
from ..events.process import ProcessExited
from ..launch_context import LaunchContext
from ..logging import get_logger
from ..substitution import (
    SomeSubstitutionsType,
    Substitution,
    normalize_to_list_of_substitutions,
    perform_any,
    perform_substitutions,
)


class DeclareLaunchArgument(Action):
    """Names an argument of the launch file, with default, description and allowed values."""

    def __init__(
        self,
        name: str,
        *,
        default_value: SomeSubstitutionsType | None = None,
        description: str | None = None,
        choices: Sequence[str] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.name = name
        self.default_value: list[Substitution] | None = (
            None if default_value is None else normalize_to_list_of_substitutions(default_value)
        )
        self.choices = None if choices is None else list(choices)
        if self.choices is not None and not self.choices:
            raise RuntimeError(f"argument '{name}': choices is empty; leave it out to allow all")
        if self.choices and isinstance(default_value, str) and default_value not in self.choices:
            raise RuntimeError(
                f"argument '{name}': default {default_value!r} is not among choices {self.choices}"
            )
        words = [] if description is None else [description.removesuffix(".") + "."]
        if self.choices is not None:
            words.append(f"{'Valid choices are' if words else 'One of'}: {self.choices}")
        elif description is not None:
            words = [description]
        self.description = " ".join(words) or "no description given"
        self._conditionally_included = False

    def execute(self, context: LaunchContext) -> None:
        """Set the default where no value was given; RuntimeError where none can be had."""
        if self.name not in context.launch_configurations:
            if self.default_value is None:
                raise RuntimeError(
                    f'Required launch argument "{self.name}" ({self.description}) was not '
                    f"provided; add {self.name}:=VALUE"
                )
            context.launch_configurations[self.name] = perform_substitutions(
                context, self.default_value
            )
        value = context.launch_configurations[self.name]
        if self.choices is not None and value not in self.choices:
            raise RuntimeError(
                f'Argument "{self.name}" provided value "{value}" is not valid. '
                f"Valid options are: {self.choices}"
            )


class SetLaunchConfiguration(Action):
    """Gives a launch configuration a value."""

    def __init__(
        self, name: SomeSubstitutionsType, value: SomeSubstitutionsType, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.name, self.value = name, value

    def execute(self, context: LaunchContext) -> None:
        """Set it."""
        name = perform_any(context, self.name)
        context.launch_configurations[name] = perform_any(context, self.value)


class SetEnvironmentVariable(Action):
    """Sets an environment variable for the processes started after it in the same scope."""

    def __init__(
        self, name: SomeSubstitutionsType, value: SomeSubstitutionsType, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.name, self.value = name, value

    def execute(self, context: LaunchContext) -> None:
        """Set it."""
        name = perform_any(context, self.name)
        context.environment[name] = perform_any(context, self.value)


class LogInfo(Action):
    """Writes a line."""

    def __init__(self, *, msg: SomeSubstitutionsType, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.msg = normalize_to_list_of_substitutions(msg)

    def execute(self, context: LaunchContext) -> None:
        """Write it."""
        get_logger("launch.user").info(perform_substitutions(context, self.msg))


class OpaqueFunction(Action):
    """Calls a function with the context; what it returns is visited next."""

    def __init__(
        self,
        *,
        function: Callable[..., Iterable[LaunchDescriptionEntity] | None],
        args: Iterable[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        **left_over: Any,
    ) -> None:
        super().__init__(**left_over)
        if not callable(function):
            raise TypeError(f"OpaqueFunction takes a function, got {function!r}")
        self._call = (function, tuple(args or ()), dict(kwargs or {}))

    def execute(self, context: LaunchContext) -> Iterable[LaunchDescriptionEntity] | None:
        """Call it."""
        function, args, kwargs = self._call
        return function(context, *args, **kwargs)


class RegisterEventHandler(Action):
    """Adds an event handler."""

    def __init__(self, event_handler: BaseEventHandler, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.event_handler = event_handler

    def execute(self, context: LaunchContext) -> None:
        """Add it."""
        context.register_event_handler(self.event_handler)

    def describe_conditional_sub_entities(
        self,
    ) -> Iterable[tuple[str, Iterable[LaunchDescriptionEntity]]]:
        """Return what the handler holds."""
        return [("event", self.event_handler.describe_entities())]


class EmitEvent(Action):
    """Emits an event."""

    def __init__(self, *, event: Event, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.event = event

    def execute(self, context: LaunchContext) -> None:
        """Emit it."""
        context.emit_event_sync(self.event)


class Shutdown(EmitEvent):
    """Ends the whole launch."""

    def __init__(self, *, reason: str = "reason not given", **kwargs: Any) -> None:
        super().__init__(event=ShutdownEvent(reason=reason), **kwargs)

    def execute(self, context: LaunchContext) -> None:
        """Say which process was needed, if one was, and emit the event."""
        event = context.get_locals_as_dict().get("event")
        if isinstance(event, ProcessExited):
            get_logger("launch").info(
                f"process[{event.process_name}] was required: shutting down launched system"
            )
        super().execute(context)
