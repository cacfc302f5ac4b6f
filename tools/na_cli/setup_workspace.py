# SPDX-License-Identifier: Apache-2.0
"""`./na setup`: virtual environment, ROS 2 (apt or wheels) and the built workspace."""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import shutil
import sys
import time
from collections.abc import Iterator

from na_cli import setup_steps
from na_cli.environment import Workspace
from na_cli.setup_steps import SetupError, Step

LOCK_NAME = ".na-setup.lock"


def is_due(workspace: Workspace) -> bool:
    """True when any step is missing or was done for other inputs (another folder, other pins)."""
    return any(not step.done(workspace) for step in setup_steps.steps(workspace))


def main(arguments: list[str]) -> int:
    """Run the steps that are due, printing progress; 0 when the environment is ready."""
    parser = argparse.ArgumentParser(prog="./na setup", description=__doc__)
    parser.add_argument("--force", action="store_true", help="start from an empty environment")
    options = parser.parse_args(arguments)
    workspace = Workspace.here()
    try:
        with only_one(workspace):
            if options.force:
                for path in (workspace.venv, workspace.install, workspace.root / "build"):
                    shutil.rmtree(path, ignore_errors=True)
            run_steps(workspace, setup_steps.steps(workspace))
    except SetupError as error:
        print(f"./na setup: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\n./na setup: interrupted; run it again to go on from here.", file=sys.stderr)
        return 130
    return 0


def run_steps(workspace: Workspace, steps: list[Step]) -> None:
    """Run every step that is not done yet, and mark it done."""
    start = time.monotonic()
    ran = 0
    for number, step in enumerate(steps, 1):
        if step.done(workspace):
            continue
        ran += 1
        print(f"[{number}/{len(steps)}] {step.title} …", flush=True)
        begin = time.monotonic()
        step.run(workspace)
        step.mark(workspace)
        print(f"[{number}/{len(steps)}] {step.title}: {time.monotonic() - begin:.0f} s", flush=True)
    if ran:
        print(f"set-up done in {time.monotonic() - start:.0f} s", flush=True)
    else:
        print("set-up: nothing to do")


@contextlib.contextmanager
def only_one(workspace: Workspace) -> Iterator[None]:
    """Two terminals may both find that set-up is due: the second waits for the first."""
    lock = workspace.root / LOCK_NAME
    with open(lock, "w", encoding="utf-8") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("./na: another set-up of this workspace is running; waiting for it …", flush=True)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
