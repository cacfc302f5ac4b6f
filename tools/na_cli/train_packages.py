# SPDX-License-Identifier: Apache-2.0
"""Installs what training needs (requirements/train.txt) the first time something asks for it."""

from __future__ import annotations

import sys

from na_cli.environment import Workspace
from na_cli.setup_steps import Step, clean_environment, digest_of, run, venv_inputs
from na_cli.setup_workspace import only_one, run_steps


def _inputs(workspace: Workspace) -> str:
    train = workspace.root / "requirements" / "train.txt"
    return venv_inputs(workspace) + digest_of([train], workspace.root)


def _install(workspace: Workspace) -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += ["-r", str(workspace.root / "requirements" / "train.txt")]
    run(command, workspace, "installing what training needs", clean_environment())


STEP = Step("train", "packages for training (torch and friends; large)", _install, _inputs)


def ensure() -> None:
    """Install the packages unless that was done; SetupError says what failed."""
    workspace = Workspace.here()
    if not STEP.done(workspace):
        with only_one(workspace):
            run_steps(workspace, [STEP])
