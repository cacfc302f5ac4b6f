# SPDX-License-Identifier: Apache-2.0
"""Fixtures that run a launch description around tests."""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from launch import LaunchContext, LaunchDescription, LaunchService
from launch.action import LaunchDescriptionEntity

from .actions import ReadyToTest

HELPERS = ("launch_service", "event_loop", "launch_context")


def finish(service: LaunchService, loop: asyncio.AbstractEventLoop, auto_shutdown: bool) -> None:
    """End the launch, or wait for its own end; fail the test where it returned not 0."""
    task = service.task
    if task is None or task.done():
        return
    if auto_shutdown:
        service.shutdown()
    code = loop.run_until_complete(task)
    if code != 0:
        pytest.fail(f"the launch service ended with return code {code}", pytrace=False)


def _helper_fixtures(scope: Any) -> dict[str, Any]:
    @pytest.fixture(scope=scope)
    def event_loop() -> Iterator[asyncio.AbstractEventLoop]:
        """The loop in which launch service and coroutine tests run."""
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        yield loop
        loop.run_until_complete(loop.shutdown_default_executor())
        asyncio.set_event_loop(None)
        loop.close()

    @pytest.fixture(scope=scope)
    def launch_service(event_loop: asyncio.AbstractEventLoop) -> Iterator[LaunchService]:
        """The service that runs the description."""
        service = LaunchService(noninteractive=True)
        yield service
        finish(service, event_loop, auto_shutdown=True)

    @pytest.fixture(scope=scope)
    def launch_context(launch_service: LaunchService) -> LaunchContext:
        """The context of the service, which the functions of `launch_pytest.tools` take."""
        return launch_service.context

    return {
        "event_loop": event_loop,
        "launch_service": launch_service,
        "launch_context": launch_context,
    }


function_scope = _helper_fixtures("function")


def _ready_actions(entity: LaunchDescriptionEntity) -> Iterator[ReadyToTest]:
    if isinstance(entity, ReadyToTest):
        yield entity
    for inner in entity.describe_sub_entities():
        yield from _ready_actions(inner)
    for _, entities in entity.describe_conditional_sub_entities():
        for inner in entities:
            yield from _ready_actions(inner)


def _ready_action(description: LaunchDescription) -> ReadyToTest:
    found = list(_ready_actions(description))
    if len(found) > 1:
        raise RuntimeError(f"a launch description may hold one ReadyToTest, got {len(found)}")
    if not found:
        found = [ReadyToTest()]
        description.add_action(found[0])
    return found[0]


def _description_in(result: Any, name: str) -> LaunchDescription:
    first = result[0] if isinstance(result, list | tuple) and result else result
    if not isinstance(first, LaunchDescription):
        raise TypeError(
            f"launch_pytest fixture '{name}' must return a LaunchDescription, or a sequence "
            f"that begins with one, got {result!r}"
        )
    return first


def _run_until_ready(
    service: LaunchService, loop: asyncio.AbstractEventLoop, description: LaunchDescription,
    shutdown_when_idle: bool,
) -> None:  # fmt: skip
    ready = asyncio.Event()
    _ready_action(description)._add_callback(ready.set)
    service.include_launch_description(description)
    task = loop.create_task(service.run_async(shutdown_when_idle=shutdown_when_idle))

    async def wait() -> None:
        waiting = asyncio.ensure_future(ready.wait())
        await asyncio.wait([waiting, task], return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()

    loop.run_until_complete(wait())
    if not ready.is_set():
        pytest.fail("the launch ended before it was ready to test; its output tells why", False)


def fixture(
    decorated: Callable[..., Any] | None = None,
    *,
    shutdown_when_idle: bool = True,
    auto_shutdown: bool = True,
    **kwargs: Any,
) -> Any:
    """
    Turn a function that returns a LaunchDescription into a fixture that runs it.

    Without `auto_shutdown` the end of the test waits for the launch to end by itself. Other
    keywords go to `pytest.fixture`.
    """
    scope = kwargs.get("scope", "function")
    if scope != "function":  # the helpers must live as long as the description
        names = sys._getframe(1).f_globals
        for name, helper in _helper_fixtures(scope).items():
            names.setdefault(name, helper)

    def decorate(function: Callable[..., Any]) -> Any:
        signature = inspect.signature(function)
        own = list(signature.parameters)

        def launched(**given: Any) -> Iterator[Any]:
            service, loop = given["launch_service"], given["event_loop"]
            result = function(**{name: given[name] for name in own})
            generator = result if inspect.isgenerator(result) else None
            if generator is not None:
                result = next(generator)
            service.launch_pytest_auto_shutdown = auto_shutdown
            _run_until_ready(
                service, loop, _description_in(result, function.__name__), shutdown_when_idle
            )
            yield result
            finish(service, loop, auto_shutdown)
            if generator is not None:
                next(generator, None)

        parameters = [signature.parameters[name] for name in own]
        for name in ("launch_service", "event_loop"):
            if name not in own:
                parameters.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY))
        launched.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        for name in ("__name__", "__qualname__", "__doc__", "__module__"):
            setattr(launched, name, getattr(function, name))
        launched.launch_pytest_scope = scope  # type: ignore[attr-defined]
        return pytest.fixture(**kwargs)(launched)

    return decorate if decorated is None else decorate(decorated)
