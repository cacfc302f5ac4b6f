# SPDX-License-Identifier: Apache-2.0
"""The action that says when tests may begin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from launch.action import Action
from launch.launch_context import LaunchContext
from ros2_lite.refusal import refusing_getattr


class ReadyToTest(Action):
    """Tests begin once this action has been visited."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._callbacks: list[Callable[[], None]] = []

    def _add_callback(self, callback: Callable[[], None]) -> None:
        self._callbacks.append(callback)

    def execute(self, context: LaunchContext) -> None:
        """Tell the fixture."""
        for callback in self._callbacks:
            callback()


__all__ = ["ReadyToTest"]
__getattr__ = refusing_getattr(__name__)
