# SPDX-License-Identifier: Apache-2.0
"""The keyboard front end in a terminal, against a recorder in another process."""

from __future__ import annotations

import os
import pty
import random
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from na_core.nad.reader import find_episodes, read_episode

pytestmark = pytest.mark.slow

TIMEOUT = 20.0


class Terminal:
    """A pseudo-terminal with the front end in it."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._main, other = pty.openpty()
        command = [sys.executable, "-m", "na_teleop.recorder_keyboard"]
        self.process = subprocess.Popen(
            command, stdin=other, stdout=other, stderr=other, env=environment
        )
        os.close(other)
        self._text = ""

    def expect(self, pattern: str) -> str:
        """Read until `pattern` appears; what came before it is dropped."""
        deadline = time.monotonic() + TIMEOUT
        while not (found := re.search(pattern, self._text)):
            assert time.monotonic() < deadline, f"no {pattern!r} in {self._text!r}"
            if select.select([self._main], [], [], 0.1)[0]:
                self._text += os.read(self._main, 4096).decode()
        self._text = self._text[found.end() :]
        return found.group(0)

    def press(self, keys: str) -> None:
        os.write(self._main, keys.encode())

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._main)


@pytest.fixture
def environment() -> dict[str, str]:
    domain = str(random.SystemRandom().randrange(100, 200))
    paths = os.pathsep.join(path for path in sys.path if path)
    return {**os.environ, "ROS_DOMAIN_ID": domain, "PYTHONPATH": paths}


@pytest.fixture
def recorder(tmp_path: Path, environment: dict[str, str]) -> Iterator[None]:
    command = [sys.executable, "-m", "na_teleop.recorder_node", "--ros-args", "-p"]
    command += [f"out_dir:={tmp_path}", "-p", "disk_reserve_mb:=0.0", "-p", "payload:=0.1"]
    process = subprocess.Popen(command, env=environment)
    yield
    process.kill()
    process.wait()


def test_a_session_at_the_keyboard(
    tmp_path: Path, environment: dict[str, str], recorder: None
) -> None:
    terminal = Terminal(environment)
    try:
        terminal.expect("q +quit")
        terminal.press("s")
        terminal.expect("done, .*omx_")
        terminal.press("l")
        terminal.expect("field=value: ")
        terminal.press("task=push\n")
        terminal.expect("task = push")
        terminal.press("f")
        terminal.expect("or none: ")
        terminal.press("0.2\n")
        terminal.expect("done")
        terminal.press("r")
        terminal.expect("omx_")
        terminal.press("k")
        terminal.expect("messages, ")
        terminal.press("k")
        terminal.expect("refused: no episode is being recorded")
        terminal.press("q")
        assert terminal.process.wait(TIMEOUT) == 0
    finally:
        terminal.close()
    (path,) = find_episodes(tmp_path)
    episode = read_episode(path)
    assert (episode.info.task, episode.info.payload) == ("push", 0.1)
    assert episode.labels is not None and episode.labels.mass.tolist() == [0.2]
