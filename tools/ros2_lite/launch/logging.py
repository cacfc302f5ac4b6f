# SPDX-License-Identifier: Apache-2.0
"""Lines on the screen and in launch.log, worded as `ros2 launch` words them."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TextIO

from ros2_lite.refusal import FeatureRefusedError, refusing_getattr

SCREEN, LOG = "screen", "log"
_DESTINATIONS = {
    "screen": ({SCREEN}, {SCREEN}),
    "log": ({LOG}, {LOG, SCREEN}),
    "both": ({LOG, SCREEN}, {LOG, SCREEN}),
}
_log_file: TextIO | None = None


def log_directory() -> Path:
    """Return the folder for log files: $ROS_LOG_DIR, $ROS_HOME/log or ~/.ros/log."""
    folder = os.environ.get("ROS_LOG_DIR")
    if folder:
        return Path(folder).expanduser()
    return Path(os.environ.get("ROS_HOME") or "~/.ros").expanduser() / "log"


def open_log_file() -> Path | None:
    """Open a new launch.log once per process; return its folder, None where it cannot be made."""
    global _log_file
    if _log_file is None:
        stamp = time.strftime("%Y-%m-%d-%H-%M-%S")
        folder = log_directory() / f"{stamp}-{time.time_ns() % 10**9:09d}-{os.getpid()}"
        try:
            folder.mkdir(parents=True)
            _log_file = (folder / "launch.log").open("w", encoding="utf-8", buffering=1)
        except OSError:
            return None
    return Path(_log_file.name).parent


def write(destinations: Iterable[str], line: str) -> None:
    """Write one line to the screen, the log file, or both; a closed screen is no error."""
    if SCREEN in destinations:
        encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
        try:
            printable = line.encode(encoding, "replace").decode(encoding)
            sys.stdout.write(printable + "\n")
            sys.stdout.flush()
        except (OSError, ValueError):  # e.g. `ros2 launch ... | head`: children still need us
            pass
    if LOG in destinations and _log_file is not None:
        _log_file.write(f"{time.time():.7f} {line}\n")


def output_writers(config: object) -> tuple[Callable[[str], None], Callable[[str], None]]:
    """Return functions that take lines of standard output and of standard error."""
    config = os.environ.get("OVERRIDE_LAUNCH_PROCESS_OUTPUT", config)
    if not isinstance(config, str) or config not in _DESTINATIONS:
        raise FeatureRefusedError(
            f"output={config!r} of a process (it has 'screen', 'log' and 'both')"
        )
    out, err = _DESTINATIONS[config]
    return lambda line: write(out, line), lambda line: write(err, line)


class Logger:
    """Writes `[LEVEL] [name]: message` to the screen and the log file."""

    def __init__(self, name: str) -> None:
        self.name = name

    def _write(self, level: str, message: str) -> None:
        write((SCREEN, LOG), f"[{level}] [{self.name}]: {message}")

    def info(self, message: str) -> None:
        """Write news."""
        self._write("INFO", message)

    def warning(self, message: str) -> None:
        """Write a warning."""
        self._write("WARNING", message)

    def error(self, message: str) -> None:
        """Write an error."""
        self._write("ERROR", message)


def get_logger(name: str | None = None) -> Logger:
    """Return the logger called `name`, by default `launch`."""
    return Logger(name or "launch")


__all__ = ["get_logger"]
__getattr__ = refusing_getattr(__name__)
