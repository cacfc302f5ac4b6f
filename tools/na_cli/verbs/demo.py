# SPDX-License-Identifier: Apache-2.0
"""`./na demo`: an emulated leader drives an emulated follower; the recording is then examined."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import time
from dataclasses import asdict
from pathlib import Path
from typing import IO

import numpy as np
import psutil
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from na_cli.demo_report import DemoFigures, figures
from na_cli.environment import Workspace
from na_cli.registry import UsageError
from na_cli.report import print_table
from na_cli.ros_domain import own_domain
from na_core.nad.reader import find_episodes, load_episode
from na_core.robot_spec import load_robot_spec

HELP = "watch an emulated leader drive an emulated follower, recorded and examined"

START_TIMEOUT = 120.0  # s; the first start compiles the physics
STOP_TIMEOUT = 40.0  # s
RELEASED = "torque is off in every emulated servo"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seconds", type=float, default=20.0, help="length of the recording [s]")
    parser.add_argument("--robot", default="omx", help="robot to emulate")
    parser.add_argument("--seed", type=int, default=0, help="seed of operator and sensor noise")
    parser.add_argument("--out", type=Path, default=Path("out/demo"), help="where results go")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here")


def run(arguments: argparse.Namespace) -> int:
    """Run the demo; 0 when everything that it checks holds."""
    if arguments.seconds < 4.0:
        raise UsageError(f"--seconds {arguments.seconds}: expected at least 4 (2 s are the ramp)")
    out: Path = (Workspace.here().root / arguments.out).resolve()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    log = out / "launch.log"
    with own_domain(), open(log, "wb") as output:
        code, left = _teleoperate(arguments, out / "bags", output)
    if code is None:
        print(f"the launch ended before anything was recorded; its last words ({log}):\n")
        print("\n".join(log.read_text(errors="replace").splitlines()[-25:]))
        return 1
    episodes = list(find_episodes(out / "bags"))
    results = {path.name: figures(load_episode(path, use_cache=False)) for path in episodes}
    for name, result in results.items():
        _print(name, result)
    rate = load_robot_spec(arguments.robot).control_rate
    released = log.read_text(errors="replace").count(RELEASED)
    checks = {
        f"rate within {rate:g} ± 1 Hz": all(abs(r.rate - rate) <= 1 for r in results.values()),
        "no telemetry lost": all(r.missed == 0 for r in results.values()),
        "an episode was recorded": bool(episodes),
        "launch ended with exit code 0": code == 0,
        "torque is off in every emulated servo": released == 2,
        "no process is left": not left,
    }
    print_table("Checks", ["what", "holds"], [[what, holds] for what, holds in checks.items()])
    if arguments.json is not None:
        _write(arguments.json, results, checks)
    for path in episodes:
        print(f"recorded: {os.path.relpath(path)}")
    print(
        "next: ./na ros2 launch na_bringup teleop.launch.py     # until Ctrl-C\n"
        "      ./na ros2 topic hz /follower/telemetry           # in a second terminal\n"
        f"      ./na bag info {os.path.relpath(episodes[0] if episodes else out)}"
    )
    return 0 if all(checks.values()) else 1


def _teleoperate(
    arguments: argparse.Namespace, bags: Path, output: IO[bytes]
) -> tuple[int | None, list[psutil.Process]]:
    """Launch, wait while it records, interrupt; (exit code or None, processes left over)."""
    command = ["ros2", "launch", "na_bringup", "teleop.launch.py", "inference:=false"]
    command += [f"robot:={arguments.robot}", f"seed:={arguments.seed}"]
    command += ["record:=true", f"bag_dir:={bags}"]
    launch = subprocess.Popen(
        command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
    )
    started: list[psutil.Process] = []
    try:
        with Progress(
            TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn()
        ) as progress:
            task = progress.add_task("starting the emulated arms", total=None)
            deadline = time.monotonic() + START_TIMEOUT
            while not any(bags.glob(".*.part")):
                if launch.poll() is not None or time.monotonic() > deadline:
                    return None, []
                time.sleep(0.05)
            progress.update(task, description="leader drives follower", total=arguments.seconds)
            begin = time.monotonic()
            while (passed := time.monotonic() - begin) < arguments.seconds:
                progress.update(task, completed=passed)
                if launch.poll() is not None:
                    return None, []
                time.sleep(0.05)
            progress.update(task, completed=arguments.seconds)
        started = psutil.Process(launch.pid).children(recursive=True)
    finally:
        if launch.poll() is None:
            launch.send_signal(signal.SIGINT)
        try:
            launch.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            os.killpg(launch.pid, signal.SIGKILL)
            launch.wait()
    _, left = psutil.wait_procs(started, timeout=1.0)
    return launch.returncode, left


def _print(name: str, result: DemoFigures) -> None:
    print_table(
        f"Episode {name} (emulated)",
        ["figure", "value", "unit"],
        [
            ["follower telemetry", result.rate, "Hz"],
            ["period jitter, p99", 1e3 * result.jitter_p99, "ms"],
            ["longest period", 1e3 * result.period_max, "ms"],
            ["telemetry lost (by sequence)", result.missed, "messages"],
            ["stale ticks", 100 * result.stale, "%"],
            ["length", result.seconds, "s"],
        ],
    )
    print_table(
        "Tracking error, |position − leader's goal| while following",
        ["joint", "mean", "max", "unit"],
        [
            [joint, scale * mean, scale * most, unit]
            for joint, mean, most in zip(
                result.names, result.tracking_mean, result.tracking_max, strict=True
            )
            for scale, unit in [(1e3, "mm") if "gripper_left" in joint else (np.rad2deg(1), "deg")]
        ],
    )
    print_table("Messages", ["topic", "messages"], [[k, v] for k, v in result.messages.items()])


def _write(path: Path, results: dict[str, DemoFigures], checks: dict[str, bool]) -> None:
    def plain(value: object) -> object:
        return value.tolist() if isinstance(value, np.ndarray) else value

    data = {
        "episodes": {
            name: {key: plain(value) for key, value in asdict(result).items()}
            for name, result in results.items()
        },
        "checks": checks,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
