# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin: runs tests marked `launch` while the launch service runs."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import pytest
from ros2_lite.refusal import FeatureRefusedError

from .fixture import finish, function_scope

event_loop = function_scope["event_loop"]
launch_service = function_scope["launch_service"]
launch_context = function_scope["launch_context"]


def pytest_configure(config: pytest.Config) -> None:
    """Declare the mark."""
    config.addinivalue_line(
        "markers", "launch(fixture, shutdown=False): run the test while that fixture's launch runs"
    )


def _fixture_of(mark: pytest.Mark, where: str) -> Any:
    found = mark.kwargs.get("fixture")
    if not hasattr(found, "launch_pytest_scope"):
        raise pytest.UsageError(
            f"{where}: pytest.mark.launch needs fixture=FUNCTION, a launch_pytest.fixture; "
            f"got {found!r}"
        )
    return found


def _needs_two_halves(function: Any) -> bool:
    return inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(
    collector: pytest.Module | pytest.Class, name: str, obj: Any
) -> list[pytest.Function] | None:
    """Collect launch tests, also those that yield, and let them use their fixture."""
    if not collector.funcnamefilter(name) or not inspect.isroutine(obj):
        return None
    own = [mark for mark in getattr(obj, "pytestmark", []) if mark.name == "launch"]
    mark = own[0] if own else collector.get_closest_marker("launch")
    if mark is None:
        return None
    where = f"{collector.nodeid}::{name}"
    found = _fixture_of(mark, where)
    if _needs_two_halves(obj) and (
        found.launch_pytest_scope != "function" or mark.kwargs.get("shutdown")
    ):
        raise FeatureRefusedError(
            f"tests that yield with a fixture of scope {found.launch_pytest_scope} or "
            f"shutdown=True ({where}); write a second test marked shutdown=True"
        )
    pytest.mark.usefixtures(found.__name__, "launch_service", "event_loop")(obj)
    return list(collector._genfunctions(name, obj))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Move tests marked shutdown=True behind the others of their fixture."""

    def key(item: pytest.Item) -> Any:
        mark = item.get_closest_marker("launch")
        return None if mark is None else (item.getparent(pytest.Module), mark.kwargs.get("fixture"))

    def after_shutdown(item: pytest.Item) -> bool:
        mark = item.get_closest_marker("launch")
        return mark is not None and bool(mark.kwargs.get("shutdown"))

    last = {key(item): item for item in items if not after_shutdown(item)}
    late: dict[int, list[pytest.Item]] = {}
    rest: list[pytest.Item] = []
    for item in items:
        before = last.get(key(item)) if after_shutdown(item) else None
        if before is None:
            rest.append(item)
        else:
            late.setdefault(id(before), []).append(item)
    items[:] = [x for item in rest for x in (item, *late.get(id(item), ()))]


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run the test in the loop, or in a thread beside it."""
    mark = pyfuncitem.get_closest_marker("launch")
    if mark is None:
        return None
    function = pyfuncitem.obj
    names = pyfuncitem._fixtureinfo.argnames
    arguments = {name: pyfuncitem.funcargs[name] for name in names}
    loop: Any = pyfuncitem.funcargs["event_loop"]
    service: Any = pyfuncitem.funcargs["launch_service"]

    def end() -> None:
        finish(service, loop, service.launch_pytest_auto_shutdown)

    def in_thread(call: Callable[[], Any]) -> Any:
        return loop.run_until_complete(loop.run_in_executor(None, call))

    if mark.kwargs.get("shutdown"):
        end()
    if inspect.iscoroutinefunction(function):
        loop.run_until_complete(function(**arguments))
    elif inspect.isasyncgenfunction(function):
        steps = function(**arguments)
        loop.run_until_complete(anext(steps, None))
        end()
        if loop.run_until_complete(anext(steps, steps)) is not steps:
            pytest.fail("a launch test may yield only once", pytrace=False)
    elif inspect.isgeneratorfunction(function):
        steps = function(**arguments)
        in_thread(functools.partial(next, steps, None))
        end()
        if in_thread(functools.partial(next, steps, steps)) is not steps:
            pytest.fail("a launch test may yield only once", pytrace=False)
    else:
        in_thread(functools.partial(function, **arguments))
    return True
