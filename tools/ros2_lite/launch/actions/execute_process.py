# SPDX-License-Identifier: Apache-2.0
"""The action that starts a process, shows its output and ends it again."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import shlex
import signal
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..action import Action, LaunchDescriptionEntity, SomeEntitiesType
from ..child import Child
from ..conditions import truth_of
from ..event_handlers import BaseEventHandler, OnProcessExit
from ..events import Hurry, Shutdown
from ..events.process import (
    ProcessExited,
    ProcessIO,
    ProcessStarted,
    ProcessStderr,
    ProcessStdout,
    ProcessTargetedEvent,
    SignalProcess,
)
from ..launch_context import LaunchContext
from ..logging import get_logger, output_writers
from ..substitution import SomeSubstitutionsType, perform_any
from ..substitutions import LaunchConfiguration

_numbers = itertools.count(1)
Environment = Mapping[Any, SomeSubstitutionsType]


class _Output:
    """Collects bytes of one stream, hands whole lines on, and remembers all where asked."""

    def __init__(self, write: Callable[[str], None], remember: bool) -> None:
        self._write = write
        self._remember = remember
        self._rest = b""
        self._all = bytearray()

    @property
    def text(self) -> str:
        return self._all.decode(errors="replace")

    def add(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        if self._remember:
            self._all += data
        for line in lines:
            self._write(line.removesuffix(b"\r").decode(errors="replace"))

    def flush(self) -> None:
        if self._rest:
            self._write(self._rest.decode(errors="replace"))
        self._rest = b""


class ExecuteProcess(Action):
    """
    Starts a process when visited.

    The environment is that of the launch context, replaced by `env`, extended by
    `additional_env`. `output` is 'log' (errors to the screen), 'screen' or 'both'. The two
    time-outs [s] lie between SIGINT, SIGTERM and SIGKILL. `respawn_delay` is in seconds.
    """

    def __init__(
        self,
        *,
        cmd: Iterable[SomeSubstitutionsType],
        name: SomeSubstitutionsType | None = None,
        prefix: SomeSubstitutionsType | None = None,
        cwd: SomeSubstitutionsType | None = None,
        env: Environment | None = None,
        additional_env: Environment | None = None,
        shell: bool = False,
        output: SomeSubstitutionsType = "log",
        emulate_tty: bool = False,
        cached_output: bool = False,
        sigterm_timeout: SomeSubstitutionsType | None = None,
        sigkill_timeout: SomeSubstitutionsType | None = None,
        on_exit: SomeEntitiesType | Callable[..., SomeEntitiesType | None] | None = None,
        respawn: bool | SomeSubstitutionsType = False,
        respawn_delay: float | None = None,
        respawn_max_retries: int = -1,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._cmd = list(cmd)
        self._name = name
        self._prefix: SomeSubstitutionsType = (
            LaunchConfiguration("launch-prefix", default="") if prefix is None else prefix
        )
        self._cwd = cwd
        self._env = env
        self._additional_env = additional_env
        self._shell = shell
        self._output = output
        self._emulate_tty = emulate_tty
        self._cached_output = cached_output
        self._timeouts = (
            sigterm_timeout or LaunchConfiguration("sigterm_timeout", default="5"),
            sigkill_timeout or LaunchConfiguration("sigkill_timeout", default="5"),
        )
        self._on_exit = on_exit
        self._respawn = respawn
        self._respawn_delay = respawn_delay or 0.0
        self._respawns_left = respawn_max_retries
        self.final_cmd: list[str] | None = None
        self.final_cwd: str | None = None
        self.final_env: dict[str, str] | None = None
        self.final_name: str | None = None
        self._child: Child | None = None
        self._returncode: int | None = None
        self._ending = asyncio.Event()
        self._stopping: asyncio.Future[int] | None = None
        self._seconds = [5.0, 5.0]
        self._future: asyncio.Future[None] | None = None
        self._stdout = self._stderr = _Output(lambda line: None, False)

    # -- what other code reads --------------------------------------------------------------
    @property
    def name(self) -> str:
        """The label before each line of output, e.g. `follower_node-2`."""
        return self.final_name or str(self._name)

    @property
    def cmd(self) -> list[Any]:
        """The command, performed once the action has been executed."""
        return self._cmd if self.final_cmd is None else self.final_cmd

    @property
    def pid(self) -> int | None:
        """The process id, None before the start."""
        return None if self._child is None else self._child.pid

    @property
    def return_code(self) -> int | None:
        """The exit code, negative where a signal ended the process, None while it runs."""
        return self._returncode

    @property
    def process_details(self) -> dict[str, Any] | None:
        """Name, pid, cmd, cwd and env; None before the start."""
        if self._child is None:
            return None
        return {
            "action": self, "name": self.name, "pid": self.pid,
            "cmd": self.final_cmd, "cwd": self.final_cwd, "env": self.final_env,
        }  # fmt: skip

    def get_stdout(self) -> str:
        """Return all standard output so far; needs `cached_output=True`."""
        return self._cached(self._stdout)

    def get_stderr(self) -> str:
        """Return all standard error so far; needs `cached_output=True`."""
        return self._cached(self._stderr)

    def _cached(self, output: _Output) -> str:
        if not self._cached_output:
            raise RuntimeError(f"process '{self.name}' keeps no output: pass cached_output=True")
        return output.text

    def get_sub_entities(self) -> Iterable[LaunchDescriptionEntity]:
        """Return the actions given as `on_exit`."""
        return self._on_exit if isinstance(self._on_exit, list) else []

    def get_asyncio_future(self) -> asyncio.Future[None] | None:
        """Return what is done when the process has ended for good."""
        return self._future

    # -- execution --------------------------------------------------------------------------
    def command(self, context: LaunchContext) -> list[str]:
        """Return the performed command, without prefix."""
        return [perform_any(context, word) for word in self._cmd]

    def prepare(self, context: LaunchContext) -> None:
        """Perform every substitution and number the process."""
        cmd = shlex.split(perform_any(context, self._prefix)) + self.command(context)
        label = os.path.basename(cmd[0]) if self._name is None else perform_any(context, self._name)
        self.final_cmd = cmd
        self.final_name = f"{label}-{next(_numbers)}"
        self.final_cwd = None if self._cwd is None else perform_any(context, self._cwd)
        self.final_env = {} if self._env is not None else dict(context.environment)
        for extra in (self._env or {}, self._additional_env or {}):
            for key, value in extra.items():
                self.final_env[perform_any(context, key)] = perform_any(context, value)
        if not isinstance(self._respawn, bool):
            self._respawn = truth_of(perform_any(context, self._respawn))
        if "emulate_tty" in context.launch_configurations:
            self._emulate_tty = truth_of(context.launch_configurations["emulate_tty"])

    def execute(self, context: LaunchContext) -> Iterable[LaunchDescriptionEntity] | None:
        """Start the process soon; nothing is started once a shutdown has begun."""
        if self.final_cmd is not None:
            raise RuntimeError(f"process action '{self.name}' was executed more than once")
        self.prepare(context)
        if context.is_shutdown or context.asyncio_loop is None:
            return None
        write_out, write_err = output_writers(
            self._output if isinstance(self._output, dict) else perform_any(context, self._output)
        )
        tag = f"[{self.name}] "
        self._stdout = _Output(lambda line: write_out(tag + line), self._cached_output)
        self._stderr = _Output(lambda line: write_err(tag + line), self._cached_output)
        self._seconds = [float(perform_any(context, timeout)) for timeout in self._timeouts]
        context.register_event_handler(
            BaseEventHandler(
                matcher=lambda event: isinstance(event, Shutdown | Hurry | ProcessTargetedEvent),
                reaction=self._on_request,
            )
        )
        if self._on_exit is not None:
            context.register_event_handler(OnProcessExit(target_action=self, on_exit=self._on_exit))
        self._ending = asyncio.Event()
        self._future = context.asyncio_loop.create_task(self._run(context))
        return None

    async def _run(self, context: LaunchContext) -> None:
        while not self._ending.is_set():
            if not await self._run_once(context):
                return
            if not self._respawn or self._respawns_left == 0 or self._ending.is_set():
                return
            self._respawns_left -= 1
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._ending.wait(), max(self._respawn_delay, 0.001))

    async def _run_once(self, context: LaunchContext) -> bool:
        """Run the process to its end; return False where it could not be started."""
        logger = get_logger(self.name)
        cmd = self.final_cmd or []

        def take(output: _Output, event: type[ProcessIO]) -> Callable[[bytes], None]:
            def sink(data: bytes) -> None:
                output.add(data)
                context.emit_event_sync(event(self, text=data))

            return sink

        try:
            child = await Child.start(
                cmd,
                on_stdout=take(self._stdout, ProcessStdout),
                on_stderr=take(self._stderr, ProcessStderr),
                cwd=self.final_cwd,
                env=self.final_env,
                shell=self._shell,
                emulate_tty=self._emulate_tty,
            )
        except (OSError, ValueError) as error:
            logger.error(f"could not be started: {error}; cmd {cmd}, cwd {self.final_cwd}")
            return False
        self._child, self._returncode = child, None
        logger.info(f"process started with pid [{child.pid}]")
        await context.emit_event(ProcessStarted(self))
        stopping = self._ending.is_set()
        if stopping:  # the wish to end came while it was being started
            self._begin_stop(interrupt=True)
        self._returncode = returncode = await asyncio.shield(child.ended)
        self._stdout.flush()
        self._stderr.flush()
        if returncode == 0:
            logger.info(f"process has finished cleanly [pid {child.pid}]")
        else:
            words = " ".join(word for word in cmd if word.strip())
            logger.error(
                f"process has died [pid {child.pid}, exit code {returncode}, cmd '{words}']."
            )
        await context.emit_event(ProcessExited(self, returncode=returncode))
        return True

    # -- ending -----------------------------------------------------------------------------
    def _on_request(self, event: Any, context: LaunchContext) -> None:
        if self._future is None or self._future.done():
            return
        if isinstance(event, Hurry):
            if self._child is not None:
                self._child.hurry()
        elif isinstance(event, Shutdown):
            self._stop(interrupt=not event.due_to_sigint or context.noninteractive)
        elif event.process_matcher(self):
            if isinstance(event, SignalProcess):
                self._tell(event.signal)
            else:
                self._stop(interrupt=True)

    def _tell(self, number: signal.Signals) -> None:
        if self._child is not None and self._child.returncode is None:
            get_logger(self.name).info(f"sending signal '{number.name}' to process[{self.name}]")
            self._child.send(number)

    def _stop(self, *, interrupt: bool) -> None:
        if not self._ending.is_set():
            self._ending.set()
            if self._child is not None and self._child.returncode is None:
                self._begin_stop(interrupt)

    def _begin_stop(self, interrupt: bool) -> None:
        if interrupt:
            self._tell(signal.SIGINT)

        def say(ignored: signal.Signals, following: signal.Signals, seconds: float) -> None:
            logger = get_logger(self.name)
            logger.error(
                f"process[{self.name}] failed to terminate '{seconds:g}' seconds after receiving "
                f"'{ignored.name}', escalating to '{following.name}'"
            )
            logger.info(f"sending signal '{following.name}' to process[{self.name}]")

        if self._child is not None:
            sigterm_after, sigkill_after = self._seconds
            self._stopping = asyncio.ensure_future(
                self._child.stop(sigterm_after=sigterm_after, sigkill_after=sigkill_after, say=say)
            )
