# SPDX-License-Identifier: Apache-2.0
"""What is to be done when something happens."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

from ros2_lite.refusal import public_name, refuse_keywords, refusing_getattr

from .action import LaunchDescriptionEntity, SomeEntitiesType
from .events import Event, Shutdown
from .events.process import ProcessExited, ProcessIO, ProcessStarted

if TYPE_CHECKING:
    from .actions.execute_process import ExecuteProcess
    from .launch_context import LaunchContext

Reaction: TypeAlias = SomeEntitiesType | Callable[..., SomeEntitiesType | None]
Target: TypeAlias = "ExecuteProcess | Callable[[ExecuteProcess], bool] | None"


class BaseEventHandler:
    """A matcher and what follows where it matches: entities, or a function returning them."""

    def __init__(
        self, *, matcher: Callable[[Any], bool], reaction: Reaction, **unknown: object
    ) -> None:
        refuse_keywords(type(self), unknown)
        if not callable(reaction):
            items = reaction if isinstance(reaction, Iterable) else [reaction]
            reaction = list(items)
            for item in reaction:
                if not isinstance(item, LaunchDescriptionEntity):
                    raise TypeError(
                        f"{public_name(type(self))} takes actions or a function, got {item!r}"
                    )
        self._matcher = matcher
        self._reaction = reaction

    def matches(self, event: Event) -> bool:
        """Return whether this handler wants the event."""
        return self._matcher(event)

    def handle(self, event: Event, context: LaunchContext) -> SomeEntitiesType | None:
        """Return what to visit because of the event."""
        context.extend_locals({"event": event})
        return self._reaction(event, context) if callable(self._reaction) else self._reaction

    def describe_entities(self) -> Iterable[LaunchDescriptionEntity]:
        """Return the entities known without an event."""
        if callable(self._reaction) or isinstance(self._reaction, LaunchDescriptionEntity):
            return []
        return self._reaction


class _OnProcessEvent(BaseEventHandler):
    """Matches one kind of event of one action, of those a function accepts, or of all."""

    def __init__(
        self, kind: type[Event], target: Target, reaction: Reaction, **unknown: object
    ) -> None:
        from .actions.execute_process import ExecuteProcess

        if not (target is None or isinstance(target, ExecuteProcess) or callable(target)):
            raise TypeError(f"target_action must be a process action or a function, got {target!r}")

        def matcher(event: Any) -> bool:
            if not isinstance(event, kind):
                return False
            action = event.action  # type: ignore[attr-defined]
            if isinstance(target, ExecuteProcess):
                return action is target
            return target is None or target(action)

        super().__init__(matcher=matcher, reaction=reaction, **unknown)


class OnProcessStart(_OnProcessEvent):
    """When a process has started; a function gets (event, context)."""

    def __init__(
        self, *, on_start: Reaction, target_action: Target = None, **unknown: object
    ) -> None:
        super().__init__(ProcessStarted, target_action, on_start, **unknown)


class OnProcessExit(_OnProcessEvent):
    """When a process has ended; a function gets (event, context)."""

    def __init__(
        self, *, on_exit: Reaction, target_action: Target = None, **unknown: object
    ) -> None:
        super().__init__(ProcessExited, target_action, on_exit, **unknown)


class OnProcessIO(_OnProcessEvent):
    """When a process has written something; the functions get (event)."""

    def __init__(
        self,
        *,
        target_action: Target = None,
        on_stdout: Callable[[ProcessIO], SomeEntitiesType | None] | None = None,
        on_stderr: Callable[[ProcessIO], SomeEntitiesType | None] | None = None,
        **unknown: object,
    ) -> None:
        def react(event: ProcessIO, _: LaunchContext) -> SomeEntitiesType | None:
            function = on_stdout if event.from_stdout else on_stderr
            return None if function is None else function(event)

        super().__init__(ProcessIO, target_action, react, **unknown)


class OnShutdown(BaseEventHandler):
    """When everything is asked to end; a function gets (event, context)."""

    def __init__(self, *, on_shutdown: Reaction, **unknown: object) -> None:
        super().__init__(
            matcher=lambda event: isinstance(event, Shutdown), reaction=on_shutdown, **unknown
        )


__all__ = ["OnProcessExit", "OnProcessIO", "OnProcessStart", "OnShutdown"]
__getattr__ = refusing_getattr(__name__)
