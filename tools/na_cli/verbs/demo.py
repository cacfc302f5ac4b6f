# SPDX-License-Identifier: Apache-2.0
"""`./na demo`: an emulated leader drives an emulated follower; the recording is then examined."""

from __future__ import annotations

import argparse
import json
import os
import shutil
from dataclasses import asdict
from pathlib import Path

import numpy as np

from na_cli.demo_report import DemoFigures, figures, write_page
from na_cli.demo_run import DemoRun, teleoperate
from na_cli.demo_video import NoPictureError, record
from na_cli.environment import Workspace
from na_cli.live_force import LiveForce, live_force
from na_cli.registry import UsageError
from na_cli.report import print_table
from na_core.nad.arrays import Episode
from na_core.nad.reader import find_episodes, load_episode
from na_core.nad.validate import validate
from na_core.robot_spec import load_robot_spec
from na_inference.model_paths import committed_model

HELP = "watch an emulated leader drive an emulated follower; recorded, examined, reported"

#: The best of the classical observers on most recordings, with the settings tuned for it.
BASELINE = "gmo_memory"
SHORT, LONG = 20.0, 75.0  # s without and with a force to estimate


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seconds", type=float, help=f"length [s] (default {LONG:g}, no model: "
                        f"{SHORT:g})")  # fmt: skip
    parser.add_argument("--robot", default="omx", help="robot to emulate")
    parser.add_argument("--seed", type=int, default=0, help="seed of operator and sensor noise")
    parser.add_argument("--model", type=Path, metavar="FILE.onnx", help="default: the committed")
    parser.add_argument("--no-inference", action="store_true", help="no live force estimate")
    parser.add_argument("--out", type=Path, default=Path("out/demo"), help="where results go")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here")
    parser.add_argument("--record-video", action="store_true", help="render the arm and its force "
                        "arrows into OUT/demo.webp (needs an OpenGL: EGL or OSMesa)")  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """Run the demo; 0 when everything that it checks holds."""
    model = None if arguments.no_inference else arguments.model or committed_model(arguments.robot)
    seconds = arguments.seconds or (LONG if model else SHORT)
    if seconds < 4.0:
        raise UsageError(f"--seconds {seconds}: expected at least 4 (2 s are the ramp)")
    out: Path = (Workspace.here().root / arguments.out).resolve()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    words = [f"robot:={arguments.robot}", f"seed:={arguments.seed}"]
    if model is None:
        words.append("inference:=false")
    else:
        words += [f"model:={Path(model).resolve()}", "scene:=demo", f"baseline:={BASELINE}"]
        settings = Workspace.here().root / "models" / arguments.robot / "observers.json"
        if settings.is_file():
            words.append(f"baseline_settings:={settings}")
    result = teleoperate(words, out / "bags", seconds, out / "launch.log")
    if result.exit_code is None:
        print(f"the launch ended before anything was recorded; its last words ({result.log}):\n")
        print("\n".join(result.log.read_text(errors="replace").splitlines()[-25:]))
        return 1
    return _examine(arguments, out, result, with_force=model is not None)


def _examine(arguments: argparse.Namespace, out: Path, result: DemoRun, with_force: bool) -> int:
    episodes = {path: load_episode(path, use_cache=False) for path in find_episodes(out / "bags")}
    found = {path.name: figures(episode) for path, episode in episodes.items()}
    rate = load_robot_spec(arguments.robot).control_rate
    verdicts = [validate(path).verdict for path in episodes]
    forces = {path.name: live_force(episode, BASELINE) for path, episode in episodes.items()}
    checks = {
        f"rate within {rate:g} ± 1 Hz": all(abs(r.rate - rate) <= 1 for r in found.values()),
        "no telemetry lost": all(r.missed == 0 for r in found.values()),
        "an episode was recorded, and is valid": bool(episodes) and "refused" not in verdicts,
        "launch ended with exit code 0": result.exit_code == 0,
        "torque is off in every emulated servo": result.released == 2,
        "no process is left": result.left_over == 0,
    }
    if with_force:
        checks["the force was estimated live"] = any(
            force is not None and bool(force.valid.any()) for force in forces.values()
        )
    for path, episode in episodes.items():
        _print(path.name, found[path.name], forces[path.name])
        _report(out, episode, found[path.name], forces[path.name], checks, result)
    print_table("Checks", ["what", "holds"], [[what, holds] for what, holds in checks.items()])
    if arguments.json is not None:
        _write(arguments.json, found, forces, checks)
    for path in episodes:
        print(f"recorded: {os.path.relpath(path)}")
        print(f"report:   {os.path.relpath(out / 'report.html')}")
        if arguments.record_video:
            _record_video(path, out / "demo.webp", arguments.robot)
    print(
        "next: ./na ros2 launch na_bringup teleop.launch.py     # until Ctrl-C\n"
        "      ./na ros2 topic hz /follower/telemetry           # in a second terminal\n"
        f"      ./na bag info {os.path.relpath(next(iter(episodes), out))}"
    )
    return 0 if all(checks.values()) else 1


def _record_video(bag: Path, out: Path, robot: str) -> None:
    try:
        print(f"video:    {os.path.relpath(record(bag, out, robot))} (red: estimate, grey: truth)")
    except NoPictureError as error:
        print(error)


def _report(
    out: Path,
    episode: Episode,
    result: DemoFigures,
    force: LiveForce | None,
    checks: dict[str, bool],
    run: DemoRun,
) -> None:
    command = " ".join(["./na", *run.command])
    write_page(out, episode, result, force, checks, command)


def _print(name: str, result: DemoFigures, force: LiveForce | None) -> None:
    print_table(f"Episode {name} (emulated)", *result.summary())
    print_table("Tracking error, |position − leader's goal| while following", *result.tracking())
    print_table("Messages", ["topic", "messages"], [[k, v] for k, v in result.messages.items()])
    if force is not None:
        print_table("Force, mean |error| [N] against the emulated truth", *force.summary())


def _write(
    path: Path,
    results: dict[str, DemoFigures],
    forces: dict[str, LiveForce | None],
    checks: dict[str, bool],
) -> None:
    def plain(value: object) -> object:
        return value.tolist() if isinstance(value, np.ndarray) else value

    data = {
        "episodes": {
            name: {key: plain(value) for key, value in asdict(result).items()}
            for name, result in results.items()
        },
        "force": {name: force.table() for name, force in forces.items() if force is not None},
        "checks": checks,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
