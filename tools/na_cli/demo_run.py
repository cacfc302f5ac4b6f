# SPDX-License-Identifier: Apache-2.0
"""Runs the emulated pair for the demo: launch, wait while it records, interrupt, count remains."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import psutil
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from na_cli.ros_domain import own_domain

START_TIMEOUT = 120.0  # s; the first start may compile the physics
STOP_TIMEOUT = 40.0  # s
RELEASED = "torque is off in every emulated servo"


@dataclass(frozen=True)
class DemoRun:
    """What became of one launch.

    Attributes:
        command: what was run.
        exit_code: of the launch; None when it ended before anything was recorded.
        left_over: number of processes that outlived it.
        released: number of emulated arms that reported torque off at their end.
        log: path of the launch's output.

    """

    command: list[str]
    exit_code: int | None
    left_over: int
    released: int
    log: Path


def teleoperate(arguments: list[str], bags: Path, seconds: float, log: Path) -> DemoRun:
    """Launch teleop.launch.py with `arguments`, recording into `bags` for `seconds` [s]."""
    command = ["ros2", "launch", "na_bringup", "teleop.launch.py", *arguments]
    command += ["record:=true", f"bag_dir:={bags}"]
    with own_domain(), open(log, "wb") as output:
        launch = subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
        started: list[psutil.Process] = []
        recorded = False
        try:
            recorded = _watch(launch, bags, seconds)
            if launch.poll() is None:
                started = psutil.Process(launch.pid).children(recursive=True)
        finally:
            _interrupt(launch)
    _, left = psutil.wait_procs(started, timeout=1.0)
    return DemoRun(
        command,
        launch.returncode if recorded else None,
        len(left),
        log.read_text(errors="replace").count(RELEASED),
        log,
    )


def _watch(launch: subprocess.Popen[bytes], bags: Path, seconds: float) -> bool:
    """Show progress until enough is recorded; False when the launch ended before."""
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns) as progress:
        task = progress.add_task("starting the emulated arms", total=None)
        deadline = time.monotonic() + START_TIMEOUT
        while not any(bags.glob(".*.part")):
            if launch.poll() is not None or time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        progress.update(task, description="leader drives follower", total=seconds)
        begin = time.monotonic()
        while (passed := time.monotonic() - begin) < seconds:
            progress.update(task, completed=passed)
            if launch.poll() is not None:
                return False
            time.sleep(0.05)
        progress.update(task, completed=seconds)
    return True


def _interrupt(launch: subprocess.Popen[bytes]) -> None:
    if launch.poll() is None:
        launch.send_signal(signal.SIGINT)
    try:
        launch.wait(STOP_TIMEOUT)
    except subprocess.TimeoutExpired:
        os.killpg(launch.pid, signal.SIGKILL)
        launch.wait()
