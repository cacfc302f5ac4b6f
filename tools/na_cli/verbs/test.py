# SPDX-License-Identifier: Apache-2.0
"""`./na test`: lints and tests of the whole workspace."""

from __future__ import annotations

import subprocess
import sys

from na_cli.environment import Workspace
from na_cli.training_packages import ensure_training_packages

HELP = "run lints and tests (--all adds the slow ones; further arguments go to pytest)"
PASS_THROUGH = True


def run(arguments: list[str]) -> int:
    """Run pytest at the root of the workspace; its exit code is ours."""
    if arguments in (["-h"], ["--help"]):
        print(f"usage: ./na test [--all] [arguments of pytest]\n\n{HELP}")
        return 0
    ensure_training_packages()
    command = [sys.executable, "-m", "pytest"]
    if "--all" not in arguments:
        command += ["-m", "not slow"]
    command += [word for word in arguments if word != "--all"]
    return subprocess.run(command, cwd=Workspace.here().root, check=False).returncode
