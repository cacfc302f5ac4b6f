# SPDX-License-Identifier: Apache-2.0
"""`./na test`: lints and tests of the whole workspace."""

from __future__ import annotations

import argparse
import subprocess
import sys

from na_cli import train_packages
from na_cli.environment import Workspace

HELP = "run lints and tests (--all adds the slow ones; further arguments go to pytest)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--all", action="store_true", help="also run tests marked slow")
    parser.add_argument("pytest", nargs=argparse.REMAINDER, help="paths and options for pytest")


def run(arguments: argparse.Namespace) -> int:
    """Run pytest at the root of the workspace; its exit code is ours."""
    train_packages.ensure()
    command = [sys.executable, "-m", "pytest"]
    if not arguments.all:
        command += ["-m", "not slow"]
    rest = [word for word in arguments.pytest if word != "--"]
    return subprocess.run([*command, *rest], cwd=Workspace.here().root, check=False).returncode
