# SPDX-License-Identifier: Apache-2.0
"""`./na view`: robot, force arrow and plots of a running arm in Rerun, or saved as .rrd."""

from __future__ import annotations

import argparse
import importlib.util
import subprocess
import sys
from pathlib import Path

from na_cli.environment import Workspace
from na_cli.registry import UsageError

HELP = "watch robot and force of a running arm in Rerun, or save them (--save FILE.rrd)"
REQUIREMENTS = Path("requirements") / "view.txt"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--save", type=Path, metavar="FILE.rrd", help="save instead of a window")
    parser.add_argument("--seconds", type=float, default=0.0, help="end after this time; 0: Ctrl-C")
    parser.add_argument("--robot", default="omx", help="robot name or file (default omx)")
    parser.add_argument("--namespace", default="", help="prefix of the arm's topics")


def run(arguments: argparse.Namespace) -> int:
    """Install the viewer on first use, then run the node until Ctrl-C."""
    ensure_viewer()
    command = [sys.executable, "-m", "na_inference.force_view_node", "--ros-args"]
    values = {"robot": arguments.robot, "seconds": arguments.seconds}
    if arguments.save is not None:
        values["save"] = arguments.save.absolute()
    for name, value in values.items():
        command += ["-p", f"{name}:={value}"]
    if arguments.namespace:
        command += ["-r", f"__ns:=/{arguments.namespace.strip('/')}"]
    process = subprocess.Popen(command)
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            continue  # the node was interrupted too, and closes its file


def ensure_viewer() -> None:
    """Install requirements/view.txt when Rerun cannot be imported; UsageError when pip fails."""
    if importlib.util.find_spec("rerun") is not None:
        return
    path = Workspace.here().root / REQUIREMENTS
    print(f"the viewer is not installed: installing {REQUIREMENTS} (once; 170 MB) …", flush=True)
    command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "-r"]
    if subprocess.run([*command, str(path)], check=False).returncode:
        raise UsageError(f"pip could not install {REQUIREMENTS}; run it by hand to see why")
    importlib.invalidate_caches()
