# SPDX-License-Identifier: Apache-2.0
"""Lints are tests: style and types hold in the whole workspace."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def run(root: Path, *words: str) -> str:
    """Output of a lint; empty when it found nothing."""
    process = subprocess.run(
        [sys.executable, "-m", *words], cwd=root, capture_output=True, text=True, check=False
    )
    return process.stdout + process.stderr if process.returncode else ""


def test_ruff_finds_nothing(workspace_root: Path) -> None:
    assert run(workspace_root, "ruff", "check", "--no-cache", ".") == ""


def test_ruff_would_format_nothing(workspace_root: Path) -> None:
    assert run(workspace_root, "ruff", "format", "--no-cache", "--check", ".") == ""


def test_mypy_finds_nothing(workspace_root: Path) -> None:
    packages = [f"src/{name}/{name}" for name in ("na_core", "na_inference", "na_sim", "na_teleop")]
    packages.append("tools")
    assert run(workspace_root, "mypy", *packages) == ""


def test_every_python_file_names_its_licence(workspace_root: Path) -> None:
    files = subprocess.run(
        ["git", "ls-files", "*.py", "na"], cwd=workspace_root, capture_output=True, text=True
    ).stdout.split()
    missing = [
        name
        for name in files
        if "SPDX-License-Identifier: Apache-2.0" not in (workspace_root / name).read_text()[:300]
    ]
    assert not missing
