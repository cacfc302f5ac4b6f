# SPDX-License-Identifier: Apache-2.0
"""`./na docs`: make the reference pages and build the user guide."""

from __future__ import annotations

import argparse
import subprocess
import sys

from na_cli import parameter_reference
from na_cli.environment import Workspace
from na_cli.message_reference import reference

HELP = "make the reference pages and build the user guide into out/docs"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--serve", action="store_true", help="serve it on this machine instead")
    parser.add_argument(
        "--parameters",
        action="store_true",
        help="also ask the running nodes of an emulated pair for docs/parameters.md",
    )


def run(arguments: argparse.Namespace) -> int:
    """Write the reference pages, then run mkdocs; its exit code is ours."""
    root = Workspace.here().root
    (root / "docs" / "messages.md").write_text(reference(root / "src" / "na_msgs"))
    if arguments.parameters:
        model = any((root / "models" / "omx").glob("*.onnx"))
        (root / "docs" / "parameters.md").write_text(parameter_reference.reference(model))
    command = [sys.executable, "-m", "mkdocs"]
    command += ["serve"] if arguments.serve else ["build", "--strict", "--site-dir", "out/docs"]
    return subprocess.run(command, cwd=root, check=False).returncode
