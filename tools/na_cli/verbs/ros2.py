# SPDX-License-Identifier: Apache-2.0
"""`./na ros2 …`: the ros2 command inside the environment, real or from tools/ros2_lite."""

from __future__ import annotations

import os
import shutil
import sys

HELP = "run the ros2 command inside the environment (launch, topic, node, service, param, bag …)"
PASS_THROUGH = True


def run(arguments: list[str]) -> int:
    """Replace this process by `ros2`, so that signals and exit codes are its own."""
    command = shutil.which("ros2")
    if command is None:
        print(
            "./na ros2: no ros2 command in the environment. Run ./na setup --force.",
            file=sys.stderr,
        )
        return 1
    os.execv(command, ["ros2", *arguments])
