# SPDX-License-Identifier: Apache-2.0
"""Run an executable of a package."""

from __future__ import annotations

import argparse
import os
import shlex

from launch.substitution import SubstitutionFailure
from launch_ros.substitutions import executable_path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument("--prefix", default="", help="words to put before the command")
    parser.add_argument("package")
    parser.add_argument("executable")
    parser.add_argument("argv", nargs=argparse.REMAINDER, help="passed on as they are")
    parser.set_defaults(main=main)


def main(args: argparse.Namespace) -> int:
    """Become that process, so that signals and exit code are its own."""
    try:
        path = executable_path(args.package, args.executable)
    except SubstitutionFailure as error:
        raise RuntimeError(str(error)) from error
    cmd = [*shlex.split(args.prefix), path, *args.argv]
    os.execvp(cmd[0], cmd)
