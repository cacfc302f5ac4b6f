# SPDX-License-Identifier: Apache-2.0
"""One child process: started, listened to, signalled and outlived. Knows nothing of launching."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pty
import signal
from collections.abc import Callable, Mapping, Sequence
from typing import Any

# A child that has ended may have left descendants which hold its pipes open.
DRAIN_SECONDS = 0.5


class Child:
    """A running process; signals go through a pidfd, so they can never hit a stranger."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._pidfd: int | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._stdin_write = -1
        self._watch: asyncio.Task[None] | None = None
        self._readers: set[int] = set()
        self._drained = asyncio.Event()
        self._hurry = asyncio.Event()
        self.pid = 0
        self.returncode: int | None = None
        self.ended: asyncio.Future[int] = loop.create_future()

    @classmethod
    async def start(
        cls,
        cmd: Sequence[str],
        *,
        on_stdout: Callable[[bytes], None],
        on_stderr: Callable[[bytes], None],
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        shell: bool = False,
        emulate_tty: bool = False,
    ) -> Child:
        """Start `cmd` in our own process group, so that a terminal's Ctrl-C reaches it too."""
        self = cls(asyncio.get_running_loop())
        channels = [pty.openpty() if emulate_tty else os.pipe() for _ in range(2)]
        stdin_read, self._stdin_write = os.pipe()
        try:
            words: dict[str, Any] = {"cwd": cwd, "env": env, "stdin": stdin_read}
            words.update(stdout=channels[0][1], stderr=channels[1][1])
            if shell:
                self._process = await asyncio.create_subprocess_shell(" ".join(cmd), **words)
            else:
                self._process = await asyncio.create_subprocess_exec(*cmd, **words)
        except BaseException:
            for fd in (*(channel[0] for channel in channels), self._stdin_write):
                os.close(fd)
            raise
        finally:
            for fd in (*(channel[1] for channel in channels), stdin_read):
                os.close(fd)
        self.pid = self._process.pid
        with contextlib.suppress(OSError, AttributeError):
            self._pidfd = os.pidfd_open(self.pid)
        for (read_fd, _), sink in zip(channels, (on_stdout, on_stderr), strict=True):
            os.set_blocking(read_fd, False)
            self._readers.add(read_fd)
            self._loop.add_reader(read_fd, self._read, read_fd, sink)
        self._watch = self._loop.create_task(self._wait())
        return self

    def _read(self, fd: int, sink: Callable[[bytes], None]) -> None:
        try:
            data = os.read(fd, 65536)
        except BlockingIOError:
            return
        except OSError:  # a pseudo-terminal whose other side is gone
            data = b""
        if data:
            sink(data)
        else:
            self._close_reader(fd)

    def _close_reader(self, fd: int) -> None:
        if fd in self._readers:
            self._readers.discard(fd)
            self._loop.remove_reader(fd)
            os.close(fd)
        if not self._readers:
            self._drained.set()

    async def _wait(self) -> None:
        returncode = await self._process.wait()  # type: ignore[union-attr]
        os.close(self._stdin_write)
        if self._pidfd is not None:
            os.close(self._pidfd)
            self._pidfd = None
        self.returncode = returncode
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._drained.wait(), DRAIN_SECONDS)
        for fd in tuple(self._readers):
            self._close_reader(fd)
        if not self.ended.done():
            self.ended.set_result(returncode)

    def send(self, number: signal.Signals) -> bool:
        """Send a signal to this process and no other; False where it has already ended."""
        if self.returncode is not None or self._process is None:
            return False
        try:
            if self._pidfd is not None:
                signal.pidfd_send_signal(self._pidfd, number)
            else:
                self._process.send_signal(number)
        except ProcessLookupError:
            return False
        return True

    def hurry(self) -> None:
        """Cut the wait between SIGINT and SIGTERM short."""
        self._hurry.set()

    async def _ends_within(self, seconds: float, *, may_hurry: bool) -> bool:
        waits: list[asyncio.Future[Any]] = [asyncio.shield(self.ended)]
        if may_hurry:
            waits.append(asyncio.ensure_future(self._hurry.wait()))
        await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits[1:]:
            wait.cancel()
        return self.ended.done()

    async def stop(
        self,
        *,
        sigterm_after: float,
        sigkill_after: float,
        say: Callable[[signal.Signals, signal.Signals, float], None],
    ) -> int:
        """
        Escalate after SIGINT: SIGTERM after `sigterm_after` [s], SIGKILL `sigkill_after` [s] later.

        The SIGINT itself is the caller's: a terminal has sent it to the whole process group.
        `say(ignored signal, next signal, seconds waited)` is called before each escalation.
        Returns the exit code, negative where a signal ended the process.
        """
        steps = (
            (sigterm_after, signal.SIGINT, signal.SIGTERM),
            (sigkill_after, signal.SIGTERM, signal.SIGKILL),
        )
        for seconds, ignored, following in steps:
            began = self._loop.time()
            if await self._ends_within(seconds, may_hurry=ignored is signal.SIGINT):
                break
            say(ignored, following, min(seconds, round(self._loop.time() - began, 1)))
            self.send(following)
        return await asyncio.shield(self.ended)
