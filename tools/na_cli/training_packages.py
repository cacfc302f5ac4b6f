# SPDX-License-Identifier: Apache-2.0
"""Installs what training needs (requirements/train.txt) on first use: torch is large."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from na_cli.environment import Workspace
from na_cli.setup_steps import SetupError, Step, clean_environment, digest_of, run, venv_inputs
from na_cli.setup_workspace import only_one, run_steps

REQUIREMENTS = Path("requirements") / "train.txt"


def _inputs(workspace: Workspace) -> str:
    return venv_inputs(workspace) + digest_of([workspace.root / REQUIREMENTS], workspace.root)


def _install(workspace: Workspace) -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += ["-r", str(workspace.root / REQUIREMENTS)]
    try:
        run(command, workspace, f"installing {REQUIREMENTS}", clean_environment())
    except SetupError as error:
        raise SetupError(
            f"{error}\nFor torch without CUDA run: ./na shell pip install torch==2.13.0 "
            "--index-url https://download.pytorch.org/whl/cpu, then this command again"
        ) from error
    importlib.invalidate_caches()


STEP = Step("train", "packages for training (torch is large)", _install, _inputs)


def ensure_training_packages() -> None:
    """Install the packages unless these pins are installed already; SetupError says what failed."""
    workspace = Workspace.here()
    if not STEP.done(workspace):
        with only_one(workspace):
            run_steps(workspace, [STEP])
