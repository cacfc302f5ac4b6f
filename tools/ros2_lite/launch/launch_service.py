# SPDX-License-Identifier: Apache-2.0
"""The loop that visits entities, handles events and waits for processes."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
import time
import traceback
from collections.abc import Iterable, Iterator
from typing import Any

from ros2_lite.refusal import refuse_keywords

from .action import LaunchDescriptionEntity
from .events import Event, Hurry, Shutdown, Visit
from .launch_context import LaunchContext
from .launch_description import LaunchDescription
from .logging import get_logger, open_log_file

# `timeout` and some terminals deliver one interrupt twice: to us and to our process group.
DOUBLE_SECONDS = 1.0


class LaunchService:
    """Runs launch descriptions until all processes have ended and nothing is left to do."""

    def __init__(
        self,
        *,
        argv: Iterable[str] | None = None,
        noninteractive: bool = False,
        debug: bool = False,
        **unknown: object,
    ) -> None:
        refuse_keywords(type(self), unknown)
        self.context = LaunchContext(argv=argv, noninteractive=noninteractive)
        self.event_loop: asyncio.AbstractEventLoop | None = None
        self.task: asyncio.Task[int] | None = None
        self._debug = debug
        self._logger = get_logger("launch")
        self._futures: list[asyncio.Future[None]] = []
        self._shutting_down = False
        self._shutdown_began = 0.0
        self._hurried = False
        self._return_code = 0

    # -- called from outside ----------------------------------------------------------------
    def emit_event(self, event: Event) -> None:
        """Queue an event, from any thread."""
        loop = self.event_loop
        if loop is None or threading.current_thread() is threading.main_thread():
            self.context.emit_event_sync(event)
        else:
            asyncio.run_coroutine_threadsafe(self.context.emit_event(event), loop).result()

    def include_launch_description(self, launch_description: LaunchDescription) -> None:
        """Visit a description as soon as the service runs."""
        self.emit_event(Visit(lambda context: launch_description))

    def shutdown(self, force_sync: bool = False) -> None:
        """Ask everything to end; nothing happens where the service does not run."""
        if self.event_loop is not None and not self._shutting_down:
            self._begin_shutdown("LaunchService.shutdown() called")

    def run(self, *, shutdown_when_idle: bool = True) -> int:
        """Run in a loop of its own; return 0, or 1 after an error or a SIGTERM."""
        loop = asyncio.new_event_loop()
        try:
            return loop.run_until_complete(self.run_async(shutdown_when_idle=shutdown_when_idle))
        finally:
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()

    async def run_async(self, *, shutdown_when_idle: bool = True) -> int:
        """Run in the current loop, which must be that of the main thread."""
        if threading.current_thread() is not threading.main_thread():
            raise RuntimeError("LaunchService can only be run in the main thread")
        if self.event_loop is not None:
            raise RuntimeError("LaunchService cannot be run multiple times concurrently")
        loop = asyncio.get_running_loop()
        self.event_loop = self.context.asyncio_loop = loop
        self.task = asyncio.current_task()
        self._return_code = 0
        folder = open_log_file()
        self._logger.info(f"All log files can be found below {folder or '(nowhere: not writable)'}")
        self._logger.info("Default logging verbosity is set to INFO")
        try:
            with self._signals(loop):
                await self._work(shutdown_when_idle)
        finally:
            self.event_loop = self.context.asyncio_loop = None
            self._shutting_down = False
        return self._return_code

    # -- the loop ---------------------------------------------------------------------------
    async def _work(self, shutdown_when_idle: bool) -> None:
        queue = self.context._event_queue
        next_event: asyncio.Task[Event] | None = None
        try:
            while True:
                try:
                    self._forget_done()
                    waiting = next_event is not None and next_event.done()
                    if not self._futures and queue.empty() and not waiting:
                        if self._shutting_down:
                            return
                        if shutdown_when_idle:
                            self._begin_shutdown("idle")
                    if next_event is None:
                        next_event = asyncio.ensure_future(queue.get())
                    waits: list[asyncio.Future[Any]] = [next_event, *self._futures]
                    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
                    if next_event.done():
                        event, next_event = next_event.result(), None
                        self._handle(event)
                except asyncio.CancelledError:  # our processes must not outlive us
                    if self._return_code:
                        raise
                    self._return_code = 1
                    self._begin_shutdown("run task was cancelled")
                except Exception as error:
                    self._fail(error)
        finally:
            if next_event is not None:
                next_event.cancel()

    def _forget_done(self) -> None:
        done = [future for future in self._futures if future.done()]
        self._futures = [future for future in self._futures if not future.done()]
        for future in done:
            if not future.cancelled() and future.exception() is not None:
                self._fail(future.exception())  # type: ignore[arg-type]

    def _fail(self, error: BaseException) -> None:
        self._return_code = 1
        self._logger.error(f"Caught exception in launch: {type(error).__name__}: {error}")
        if self._debug:
            traceback.print_exception(error)
        self._begin_shutdown(f"exception: {error}")

    def _handle(self, event: Event) -> None:
        if isinstance(event, Shutdown):
            if not self._shutting_down:
                self._shutdown_began = time.monotonic()
            self._shutting_down = self.context.is_shutdown = True
        if isinstance(event, Visit):
            self._visit_within(event.function(self.context))
            return
        for handler in tuple(self.context._event_handlers):
            if handler.matches(event):
                before = self.context._swap_locals(self.context.get_locals_as_dict())
                try:
                    self._visit_within(handler.handle(event, self.context))
                finally:
                    self.context._swap_locals(before)

    def _visit_within(
        self, entities: LaunchDescriptionEntity | Iterable[LaunchDescriptionEntity] | None
    ) -> None:
        if entities is None:
            return
        for entity in entities if isinstance(entities, Iterable) else [entities]:
            if entity is not None:
                self._visit(entity)

    def _visit(self, entity: LaunchDescriptionEntity) -> None:
        if not isinstance(entity, LaunchDescriptionEntity):
            raise RuntimeError(f"expected an action or a launch description, got {entity!r}")
        following = entity.visit(self.context)
        future = entity.get_asyncio_future()
        if future is not None:
            self._futures.append(future)
        for inner in following or ():
            self._visit(inner)

    # -- ending -----------------------------------------------------------------------------
    def _begin_shutdown(self, reason: str, *, due_to_sigint: bool = False) -> None:
        if not self._shutting_down:
            self._shutting_down = self.context.is_shutdown = True
            self._shutdown_began = time.monotonic()
            self.emit_event(Shutdown(reason=reason, due_to_sigint=due_to_sigint))

    def _on_interrupt(self) -> None:
        message = "user interrupted with ctrl-c (SIGINT)"
        now = time.monotonic()
        if not self._shutting_down:
            self._logger.warning(message)
            self._begin_shutdown("ctrl-c (SIGINT)", due_to_sigint=True)
        elif not self._hurried and now - self._shutdown_began >= DOUBLE_SECONDS:
            self._hurried = True
            self._logger.warning(f"{message} again, sending SIGTERM to what still runs")
            self.context.emit_event_sync(Hurry())
        else:
            self._logger.warning(f"{message} again, ignoring...")

    def _on_terminate(self, number: signal.Signals) -> None:
        self._return_code = 1
        self._logger.error(f"received {number.name}, ending all processes")
        self._begin_shutdown(number.name)

    @contextlib.contextmanager
    def _signals(self, loop: asyncio.AbstractEventLoop) -> Iterator[None]:
        ending = (signal.SIGTERM, signal.SIGQUIT, signal.SIGHUP)
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, *ending)}
        loop.add_signal_handler(signal.SIGINT, self._on_interrupt)
        for number in ending:
            if before[number] is not signal.SIG_IGN:  # e.g. under nohup
                loop.add_signal_handler(number, self._on_terminate, number)
        try:
            yield
        finally:
            for number, handler in before.items():
                loop.remove_signal_handler(number)
                signal.signal(number, handler)
