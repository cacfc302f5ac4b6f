# SPDX-License-Identifier: Apache-2.0
"""Installs what training needs on first use; the set-up leaves it out because of its size."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

from na_cli.environment import Workspace
from na_cli.registry import UsageError

MODULES = ("torch", "sklearn", "tensorboard", "matplotlib", "onnx", "onnxruntime")
REQUIREMENTS = Path("requirements") / "train.txt"


def missing_modules() -> list[str]:
    """Modules of `MODULES` that cannot be imported here."""
    return [name for name in MODULES if importlib.util.find_spec(name) is None]


def ensure_training_packages() -> None:
    """Install requirements/train.txt into the environment when a module is missing.

    Raises:
        UsageError: pip failed; the text says what to run by hand.
    """
    missing = missing_modules()
    if not missing:
        return
    path = Workspace.here().root / REQUIREMENTS
    print(
        f"training needs {', '.join(missing)}: installing {REQUIREMENTS} into the environment "
        "(once; torch is large, this can take minutes) …",
        flush=True,
    )
    command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check"]
    command += ["--progress-bar", "on" if sys.stdout.isatty() else "off", "-r", str(path)]
    code = subprocess.run(command, check=False).returncode
    importlib.invalidate_caches()
    if code != 0 or missing_modules():
        raise UsageError(
            f"installing {REQUIREMENTS} failed (pip exit code {code}). For torch without CUDA "
            "run: ./na shell pip install torch==2.13.0 --index-url "
            "https://download.pytorch.org/whl/cpu, then this command again"
        )
    print("training packages installed", flush=True)
