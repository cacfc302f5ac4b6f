# SPDX-License-Identifier: Apache-2.0
"""Where the committed model of a robot lies."""

from __future__ import annotations

import os
from pathlib import Path

from na_core.onnx_metadata import STREAM_SUFFIX
from na_core.testing import source_root

MODEL_DIR = "NA_MODEL_DIR"
"""Environment variable naming a folder with one folder per robot."""


def model_folders() -> list[Path]:
    """Folders searched, in order: NA_MODEL_DIR, then models/ at the root of the source tree."""
    folders = [Path(os.environ[MODEL_DIR])] if os.environ.get(MODEL_DIR) else []
    root = source_root()
    if root is not None and (root / "models").is_dir():
        folders.append(root / "models")
    return folders


def committed_model(robot: str) -> Path | None:
    """Return the model of a robot: default.onnx, else the first by name; None without one."""
    for folder in model_folders():
        found = sorted(
            path
            for path in (folder / robot).glob("*.onnx")
            if not path.name.endswith(STREAM_SUFFIX)
        )
        for path in found:
            if path.name == "default.onnx":
                return path
        if found:
            return found[0]
    return None


def robots_with_models() -> list[str]:
    """Names of the robots that have a committed model, sorted."""
    names = {path.name for folder in model_folders() for path in folder.glob("*") if path.is_dir()}
    return sorted(name for name in names if committed_model(name) is not None)
