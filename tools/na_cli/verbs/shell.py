# SPDX-License-Identifier: Apache-2.0
"""`./na shell`: a shell, or one command, inside the environment."""

from __future__ import annotations

import os
import shutil
import sys

HELP = "open a shell inside the environment, or run a command in it: ./na shell python script.py"
PASS_THROUGH = True


def run(arguments: list[str]) -> int:
    """Replace this process by the command, or by the user's shell when none is given."""
    command = arguments or [os.environ.get("SHELL", "/bin/bash")]
    program = shutil.which(command[0])
    if program is None:
        print(f"./na shell: command {command[0]!r} not found", file=sys.stderr)
        return 127
    if not arguments:
        print("inside the NeuralActuator environment; leave with exit")
    os.execv(program, command)
