# SPDX-License-Identifier: Apache-2.0
"""One child process: output, end, and escalation of signals with short time-outs."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from typing import Any

import pytest
from launch.child import Child

READY = "import signal,sys,time\n{setup}\nprint('ready', flush=True)\n{then}\n"
IGNORE = "signal.signal(signal.{0}, signal.SIG_IGN)"


class Watched:
    """A child that runs Python code, its output, and the escalations that were announced."""

    def __init__(self) -> None:
        self.out = b""
        self.err = b""
        self.said: list[tuple[str, str]] = []
        self._news = asyncio.Event()

    async def start(self, setup: str = "", then: str = "time.sleep(60)", **kwargs: Any) -> Child:
        def stdout(data: bytes) -> None:
            self.out += data
            self._news.set()

        def stderr(data: bytes) -> None:
            self.err += data

        code = READY.format(setup=setup, then=then)
        child = await Child.start(
            [sys.executable, "-S", "-c", code], on_stdout=stdout, on_stderr=stderr, **kwargs
        )

        async def ready() -> None:
            while b"ready" not in self.out:
                self._news.clear()
                await self._news.wait()

        await asyncio.wait_for(ready(), 20.0)
        return child

    def say(self, ignored: signal.Signals, following: signal.Signals, seconds: float) -> None:
        self.said.append((ignored.name, following.name))


def run(coroutine: Any) -> Any:
    """Run a test's coroutine, at most 30 s."""
    return asyncio.run(asyncio.wait_for(coroutine, 30.0))


@pytest.mark.parametrize(
    ("setup", "expected_code", "expected_said"),
    [
        ("", -signal.SIGINT, []),
        (IGNORE.format("SIGINT"), -signal.SIGTERM, [("SIGINT", "SIGTERM")]),
        (
            IGNORE.format("SIGINT") + ";" + IGNORE.format("SIGTERM"),
            -signal.SIGKILL,
            [("SIGINT", "SIGTERM"), ("SIGTERM", "SIGKILL")],
        ),
    ],
)
def test_escalation(setup: str, expected_code: int, expected_said: list[tuple[str, str]]) -> None:
    async def scenario() -> None:
        watched = Watched()
        default = "signal.signal(signal.SIGINT, signal.SIG_DFL);"
        child = await watched.start(default + setup)
        child.send(signal.SIGINT)
        patience = 20.0 if not expected_said else 0.05
        code = await child.stop(sigterm_after=patience, sigkill_after=0.05, say=watched.say)
        assert code == expected_code
        assert watched.said == expected_said

    run(scenario())


def test_a_child_that_ends_in_time_is_not_escalated_on() -> None:
    async def scenario() -> None:
        watched = Watched()
        handler = "signal.signal(signal.SIGINT, lambda *_: sys.exit(7))"
        child = await watched.start(handler)
        child.send(signal.SIGINT)
        assert await child.stop(sigterm_after=20.0, sigkill_after=20.0, say=watched.say) == 7
        assert watched.said == []
        assert child.send(signal.SIGTERM) is False

    run(scenario())


def test_hurry_cuts_the_first_wait_short() -> None:
    async def scenario() -> None:
        watched = Watched()
        child = await watched.start(IGNORE.format("SIGINT"))
        begin = time.monotonic()
        stopping = asyncio.ensure_future(
            child.stop(sigterm_after=600.0, sigkill_after=600.0, say=watched.say)
        )
        child.hurry()
        assert await stopping == -signal.SIGTERM
        assert time.monotonic() - begin < 20.0

    run(scenario())


def test_output_after_the_last_line_break_and_of_both_streams_arrives() -> None:
    async def scenario() -> None:
        watched = Watched()
        then = "print('x', end='', flush=True); print('e', file=sys.stderr); sys.exit(3)"
        child = await watched.start(then=then)
        assert await child.ended == 3
        assert watched.out.endswith(b"ready\nx")
        assert watched.err == b"e\n"

    run(scenario())


def test_a_descendant_that_keeps_the_pipe_does_not_delay_the_end_for_ever() -> None:
    async def scenario() -> None:
        watched = Watched()
        then = (
            "import subprocess\n"
            "p = subprocess.Popen(['sleep', '60'], start_new_session=True)\n"
            "print(p.pid, flush=True)"
        )
        child = await watched.start(then=then)
        try:
            assert await asyncio.wait_for(child.ended, 10.0) == 0
        finally:
            import os

            os.kill(int(watched.out.split()[1]), signal.SIGKILL)

    run(scenario())


def test_a_terminal_is_emulated_on_request() -> None:
    async def scenario() -> None:
        watched = Watched()
        then = "print(sys.stdout.isatty(), sys.stderr.isatty())"
        child = await watched.start(then=then, emulate_tty=True)
        assert await child.ended == 0
        assert b"True True" in watched.out
        piped = Watched()
        child = await piped.start(then=then)
        assert await child.ended == 0
        assert b"False False" in piped.out

    run(scenario())


def test_a_program_that_does_not_exist_leaves_nothing_open() -> None:
    async def scenario() -> None:
        import os

        before = len(os.listdir("/proc/self/fd"))
        with pytest.raises(FileNotFoundError, match="no/such"):
            await Child.start(["/no/such"], on_stdout=print, on_stderr=print)
        assert len(os.listdir("/proc/self/fd")) == before

    run(scenario())
