# SPDX-License-Identifier: Apache-2.0
"""Events about one process, and requests to one process."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import TYPE_CHECKING

from ros2_lite.refusal import refusing_getattr

from . import Event

if TYPE_CHECKING:
    from ..actions.execute_process import ExecuteProcess


class RunningProcessEvent(Event):
    """Something happened to the process of an action."""

    def __init__(self, action: ExecuteProcess) -> None:
        self.action = action
        self.process_name = action.name
        self.cmd = action.cmd
        self.cwd = action.final_cwd
        self.env = action.final_env
        self.pid = action.pid


class ProcessStarted(RunningProcessEvent):
    """The process runs."""

    name = "launch.events.process.ProcessStarted"


class ProcessExited(RunningProcessEvent):
    """The process ended; `returncode` is negative where a signal ended it."""

    name = "launch.events.process.ProcessExited"

    def __init__(self, action: ExecuteProcess, *, returncode: int) -> None:
        super().__init__(action)
        self.returncode = returncode


class ProcessIO(RunningProcessEvent):
    """The process wrote `text` (bytes) to one of its outputs."""

    from_stdin = from_stdout = from_stderr = False

    def __init__(self, action: ExecuteProcess, *, text: bytes) -> None:
        super().__init__(action)
        self.text = text


class ProcessStdout(ProcessIO):
    """The process wrote to its standard output."""

    name = "launch.events.process.ProcessStdout"
    from_stdout = True


class ProcessStderr(ProcessIO):
    """The process wrote to its standard error."""

    name = "launch.events.process.ProcessStderr"
    from_stderr = True


class ProcessTargetedEvent(Event):
    """A request to every process whose action the matcher accepts."""

    def __init__(self, *, process_matcher: Callable[[ExecuteProcess], bool]) -> None:
        self.process_matcher = process_matcher


class ShutdownProcess(ProcessTargetedEvent):
    """Please end: SIGINT, then SIGTERM, then SIGKILL."""

    name = "launch.events.process.ShutdownProcess"


class SignalProcess(ProcessTargetedEvent):
    """Please take this signal."""

    name = "launch.events.process.SignalProcess"

    def __init__(
        self,
        *,
        signal_number: str | int | signal.Signals,
        process_matcher: Callable[[ExecuteProcess], bool],
    ) -> None:
        super().__init__(process_matcher=process_matcher)
        self.signal = (
            signal.Signals[signal_number]
            if isinstance(signal_number, str)
            else signal.Signals(signal_number)
        )
        self.signal_name = self.signal.name


__all__ = [
    "ProcessExited",
    "ProcessIO",
    "ProcessStarted",
    "ProcessStderr",
    "ProcessStdout",
    "ProcessTargetedEvent",
    "RunningProcessEvent",
    "ShutdownProcess",
    "SignalProcess",
]
__getattr__ = refusing_getattr(__name__)
