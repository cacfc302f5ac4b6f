# SPDX-License-Identifier: Apache-2.0
"""Puts this source tree first on the path, or leaves all tests out where the real packages are."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

SOURCE = Path(__file__).resolve().parent.parent


def load_check() -> ModuleType:
    """Return ros2_lite.check without making the rest of this tree importable."""
    spec = importlib.util.spec_from_file_location("rl_check", SOURCE / "ros2_lite" / "check.py")
    if spec is None or spec.loader is None:
        raise RuntimeError(f"cannot load {SOURCE / 'ros2_lite' / 'check.py'}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


REAL = load_check().real_packages()
# Beside the real packages only the guard and the comparison are tested; these import nothing.
ALWAYS = ("test_check.py", "test_same_as_real.py")
collect_ignore = (
    [path.name for path in SOURCE.glob("test/test_*.py") if path.name not in ALWAYS] if REAL else []
)
if not REAL and "ros2_lite" not in sys.modules:
    sys.path.insert(0, str(SOURCE))


@pytest.fixture
def check() -> ModuleType:
    """The module ros2_lite.check."""
    return load_check()


def pytest_configure(config: pytest.Config) -> None:
    """Load the launch_pytest of this tree where it is not installed."""
    manager = config.pluginmanager
    if not REAL and not manager.has_plugin("launch_pytest"):
        from launch_pytest import plugin

        if not manager.is_registered(plugin):
            manager.register(plugin, "launch_pytest")


def _as_from_a_terminal() -> None:
    """Under nohup or in the background, tests would hand on ignored signals to what they start."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


class Running:
    """A process whose output lines are collected while tests wait for some of them."""

    def __init__(self, argv: list[str], env: dict[str, str], cwd: Path) -> None:
        self.process = subprocess.Popen(
            argv, env=env, cwd=cwd, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, start_new_session=True, preexec_fn=_as_from_a_terminal,
        )  # fmt: skip
        self.lines: list[str] = []
        self._queue: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self.process.stdout or ():
            self._queue.put(line.rstrip("\n"))
        self._queue.put(None)

    def wait_for(self, text: str, timeout: float = 60.0) -> str:
        """Return the first new line that contains `text`."""
        end = time.monotonic() + timeout
        while True:
            try:
                line = self._queue.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                line = None
            if line is None:
                raise AssertionError(f"{text!r} did not appear in:\n" + "\n".join(self.lines))
            self.lines.append(line)
            if text in line:
                return line

    def finish(self, timeout: float = 60.0) -> tuple[int, str]:
        """Return exit code and whole output, once it has ended."""
        code = self.process.wait(timeout)
        while (line := self._queue.get(timeout=5.0)) is not None:
            self.lines.append(line)
        return code, "\n".join(self.lines)


def environment() -> dict[str, str]:
    """Return an environment in which this source tree is importable."""
    path = os.pathsep.join(filter(None, [str(SOURCE), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path}


Start = Callable[..., Running]


@pytest.fixture(name="environment")
def environment_(tmp_path: Path) -> dict[str, str]:
    """An environment in which this source tree is importable and logs go to a temporary folder."""
    return {**environment(), "ROS_LOG_DIR": str(tmp_path / "log")}


@pytest.fixture
def start(tmp_path: Path, environment: dict[str, str]) -> Iterator[Start]:
    """Start `ros2 ARGS...` of this tree; what is left at the end of the test is killed."""
    started: list[Running] = []

    def run(*args: str, **env: str) -> Running:
        # AMENT_PREFIX_PATH may have been set by a fixture after `environment` was made.
        now = {**environment, "AMENT_PREFIX_PATH": os.environ.get("AMENT_PREFIX_PATH", ""), **env}
        running = Running([sys.executable, "-m", "ros2_lite", *args], now, tmp_path)
        started.append(running)
        return running

    yield run
    for running in started:
        with contextlib.suppress(ProcessLookupError):
            running.process.kill()
        running.process.wait()


@pytest.fixture
def launch_file(tmp_path: Path) -> Callable[[str], str]:
    """Write a launch file whose description holds the given entities; return its path."""

    def write(entities: str, name: str = "test.launch.py", before: str = "") -> str:
        path = tmp_path / name
        path.write_text(
            "import sys\n"
            "from launch import LaunchDescription\n"
            "from launch.actions import *\n"
            "from launch.event_handlers import *\n"
            "from launch.substitutions import *\n"
            "from launch_ros.actions import *\n"
            f"{before}\n"
            "def generate_launch_description():\n"
            f"    return LaunchDescription([{entities}])\n"
        )
        return str(path)

    return write


@pytest.fixture
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installation with one package `rl_demo`: executable `talker`, a launch and a YAML file."""
    root = tmp_path / "prefix"
    library, share = root / "lib" / "rl_demo", root / "share" / "rl_demo"
    index = root / "share" / "ament_index" / "resource_index" / "packages"
    for folder in (library, share / "launch", share / "config", index):
        folder.mkdir(parents=True)
    (index / "rl_demo").touch()
    talker = library / "talker"
    talker.write_text('#!/bin/sh\necho "talker got $*"\nexit ${TALKER_EXIT:-0}\n')
    talker.chmod(0o755)
    (share / "config" / "demo.yaml").write_text("/**:\n  ros__parameters:\n    a: 1\n")
    (share / "launch" / "demo.launch.py").write_text(
        "from launch import LaunchDescription\n"
        "from launch_ros.actions import Node\n"
        "def generate_launch_description():\n"
        "    return LaunchDescription([Node(package='rl_demo', executable='talker',\n"
        "                                   name='t', output='screen')])\n"
    )
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(root))
    return root
