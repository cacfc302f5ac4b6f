# SPDX-License-Identifier: Apache-2.0
"""State shared by everything that is visited during one launch."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, MutableMapping
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .event_handlers import BaseEventHandler
    from .events import Event
    from .substitution import Substitution


class LaunchContext:
    """Launch configurations, environment, locals, event queue and event handlers."""

    def __init__(self, *, argv: Iterable[str] | None = None, noninteractive: bool = False) -> None:
        self.argv = list(argv or [])
        self.noninteractive = noninteractive
        self.is_shutdown = False
        self.asyncio_loop: asyncio.AbstractEventLoop | None = None
        self.launch_configurations: dict[str, Any] = {}
        self.environment: MutableMapping[str, str] = os.environ
        self._locals: dict[str, Any] = {}
        self._scopes: list[tuple[dict[str, Any], dict[str, str]]] = []
        self._event_queue: asyncio.Queue[Event] = asyncio.Queue()
        self._event_handlers: list[BaseEventHandler] = []

    def perform_substitution(self, substitution: Substitution) -> str:
        """Return the value of `substitution` in this context."""
        return substitution.perform(self)

    # -- scopes -----------------------------------------------------------------------------
    def enter_scope(self) -> None:
        """Remember launch configurations and environment until `leave_scope`."""
        self._scopes.append((dict(self.launch_configurations), dict(os.environ)))

    def leave_scope(self) -> None:
        """Restore what the matching `enter_scope` remembered."""
        if not self._scopes:
            raise RuntimeError("leave_scope() without a matching enter_scope()")
        self.launch_configurations, environment = self._scopes.pop()
        os.environ.clear()
        os.environ.update(environment)

    # -- locals -----------------------------------------------------------------------------
    @property
    def locals(self) -> SimpleNamespace:
        """Names valid right now, e.g. `context.locals.event` inside an event handler."""
        return SimpleNamespace(**self._locals)

    def get_locals_as_dict(self) -> dict[str, Any]:
        """Return a copy of the locals."""
        return dict(self._locals)

    def extend_locals(self, extensions: dict[str, Any]) -> None:
        """Add names to the locals."""
        self._locals.update(extensions)

    def _swap_locals(self, new: dict[str, Any]) -> dict[str, Any]:
        old, self._locals = self._locals, new
        return old

    # -- events -----------------------------------------------------------------------------
    def emit_event_sync(self, event: Event) -> None:
        """Queue an event; it is handled when the launch service next looks at its queue."""
        self._event_queue.put_nowait(event)

    async def emit_event(self, event: Event) -> None:
        """Queue an event from a coroutine."""
        await self._event_queue.put(event)

    def register_event_handler(self, event_handler: BaseEventHandler, append: bool = False) -> None:
        """Add a handler in front of the others, or behind them with `append`."""
        self._event_handlers.insert(len(self._event_handlers) if append else 0, event_handler)

    def unregister_event_handler(self, event_handler: BaseEventHandler) -> None:
        """Remove a handler; ValueError where it is not registered."""
        self._event_handlers.remove(event_handler)
