# SPDX-License-Identifier: Apache-2.0
"""
Waiting for processes: for a start, an end, or a text in their output.

Functions ending in `_sync` are for plain tests, the others for coroutines. All take the launch
context, the process action and a time-out in seconds (None: for ever). `wait_for_*` return
whether it happened; `assert_*` call the validator once more at the end, so that its own assertion
is the report. Output functions need an action with `cached_output=True`.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any, TypeAlias

from launch import LaunchContext
from launch.actions import ExecuteProcess
from launch.event_handlers import BaseEventHandler

Validator: TypeAlias = Callable[[str], Any]


def _handler(action: ExecuteProcess, notify: Callable[[], None]) -> BaseEventHandler:
    return BaseEventHandler(
        matcher=lambda event: getattr(event, "action", None) is action,
        reaction=lambda event, context: notify(),
    )


async def _until(
    context: LaunchContext,
    action: ExecuteProcess,
    happened: Callable[[], bool],
    timeout: float | None,
) -> bool:
    something = asyncio.Event()
    handler = _handler(action, something.set)
    context.register_event_handler(handler, append=True)

    async def wait() -> None:
        while not happened():
            something.clear()
            await something.wait()

    try:
        await asyncio.wait_for(wait(), timeout)
    except TimeoutError:
        return happened()
    finally:
        context.unregister_event_handler(handler)
    return True


def _until_sync(
    context: LaunchContext,
    action: ExecuteProcess,
    happened: Callable[[], bool],
    timeout: float | None,
) -> bool:
    something = threading.Event()
    handler = _handler(action, something.set)
    end = None if timeout is None else time.monotonic() + timeout
    context.register_event_handler(handler, append=True)
    try:
        while not happened():
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0.0:
                return False
            something.wait(left)
            something.clear()
    finally:
        context.unregister_event_handler(handler)
    return True


def _holds(read: Callable[[], str], validate: Validator) -> Callable[[], bool]:
    return lambda: bool(validate(read()))


def _raises_nothing(read: Callable[[], str], validate: Validator) -> Callable[[], bool]:
    def holds() -> bool:
        try:
            validate(read())
        except AssertionError:
            return False
        return True

    return holds


def _started(action: ExecuteProcess) -> Callable[[], bool]:
    return lambda: action.pid is not None


def _ended(action: ExecuteProcess) -> Callable[[], bool]:
    return lambda: action.return_code is not None


async def wait_for_output(
    launch_context: LaunchContext,
    execute_process_action: ExecuteProcess,
    validate_output: Validator,
    timeout: float | None = None,
) -> bool:
    """Wait until the validator returns true for all standard output so far."""
    condition = _holds(execute_process_action.get_stdout, validate_output)
    return await _until(launch_context, execute_process_action, condition, timeout)


def wait_for_output_sync(
    launch_context: LaunchContext,
    execute_process_action: ExecuteProcess,
    validate_output: Validator,
    timeout: float | None = None,
) -> bool:
    """Wait until the validator returns true for all standard output so far."""
    condition = _holds(execute_process_action.get_stdout, validate_output)
    return _until_sync(launch_context, execute_process_action, condition, timeout)


async def wait_for_stderr(
    launch_context: LaunchContext,
    execute_process_action: ExecuteProcess,
    validate_output: Validator,
    timeout: float | None = None,
) -> bool:
    """Wait until the validator returns true for all standard error so far."""
    condition = _holds(execute_process_action.get_stderr, validate_output)
    return await _until(launch_context, execute_process_action, condition, timeout)


def wait_for_stderr_sync(
    launch_context: LaunchContext,
    execute_process_action: ExecuteProcess,
    validate_output: Validator,
    timeout: float | None = None,
) -> bool:
    """Wait until the validator returns true for all standard error so far."""
    condition = _holds(execute_process_action.get_stderr, validate_output)
    return _until_sync(launch_context, execute_process_action, condition, timeout)


async def assert_output(
    launch_context: LaunchContext,
    execute_process_action: ExecuteProcess,
    validate_output: Validator,
    timeout: float | None = None,
) -> None:
    """Wait until the validator raises no AssertionError for the standard output."""
    read = execute_process_action.get_stdout
    condition = _raises_nothing(read, validate_output)
    if not await _until(launch_context, execute_process_action, condition, timeout):
        validate_output(read())


def assert_output_sync(
    launch_context: LaunchContext,
    execute_process_action: ExecuteProcess,
    validate_output: Validator,
    timeout: float | None = None,
) -> None:
    """Wait until the validator raises no AssertionError for the standard output."""
    read = execute_process_action.get_stdout
    condition = _raises_nothing(read, validate_output)
    if not _until_sync(launch_context, execute_process_action, condition, timeout):
        validate_output(read())


async def assert_stderr(
    launch_context: LaunchContext,
    execute_process_action: ExecuteProcess,
    validate_output: Validator,
    timeout: float | None = None,
) -> None:
    """Wait until the validator raises no AssertionError for the standard error."""
    read = execute_process_action.get_stderr
    condition = _raises_nothing(read, validate_output)
    if not await _until(launch_context, execute_process_action, condition, timeout):
        validate_output(read())


def assert_stderr_sync(
    launch_context: LaunchContext,
    execute_process_action: ExecuteProcess,
    validate_output: Validator,
    timeout: float | None = None,
) -> None:
    """Wait until the validator raises no AssertionError for the standard error."""
    read = execute_process_action.get_stderr
    condition = _raises_nothing(read, validate_output)
    if not _until_sync(launch_context, execute_process_action, condition, timeout):
        validate_output(read())


async def wait_for_start(
    launch_context: LaunchContext,
    execute_process_action: ExecuteProcess,
    timeout: float | None = None,
) -> bool:
    """Wait until the process has started."""
    condition = _started(execute_process_action)
    return await _until(launch_context, execute_process_action, condition, timeout)


def wait_for_start_sync(
    launch_context: LaunchContext,
    execute_process_action: ExecuteProcess,
    timeout: float | None = None,
) -> bool:
    """Wait until the process has started."""
    condition = _started(execute_process_action)
    return _until_sync(launch_context, execute_process_action, condition, timeout)


async def wait_for_exit(
    launch_context: LaunchContext,
    execute_process_action: ExecuteProcess,
    timeout: float | None = None,
) -> bool:
    """Wait until the process has ended."""
    condition = _ended(execute_process_action)
    return await _until(launch_context, execute_process_action, condition, timeout)


def wait_for_exit_sync(
    launch_context: LaunchContext,
    execute_process_action: ExecuteProcess,
    timeout: float | None = None,
) -> bool:
    """Wait until the process has ended."""
    condition = _ended(execute_process_action)
    return _until_sync(launch_context, execute_process_action, condition, timeout)
