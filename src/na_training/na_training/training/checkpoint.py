# SPDX-License-Identifier: Apache-2.0
"""Checkpoints that survive kill -9: written aside, forced to disk, renamed in one step."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import torch

NAME = "checkpoint.pt"
VERSION = 1


class CheckpointError(RuntimeError):
    """A checkpoint cannot be used; the text names the file and what to do."""


def save(folder: Path, state: dict[str, Any]) -> Path:
    """Write `state` (tensors and plain values) as the checkpoint of a run; returns its path."""
    path = folder / NAME
    buffer = io.BytesIO()
    torch.save({"version": VERSION, **state}, buffer)
    write_atomically(path, buffer.getvalue())
    return path


def write_atomically(path: Path, data: bytes) -> None:
    """Replace a file so that a crash at any moment leaves the old or the new content, whole."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with open(temporary, "wb") as handle:
        handle.write(data)
        handle.flush()
        os.fsync(handle.fileno())
    temporary.replace(path)


def load(folder: Path) -> dict[str, Any]:
    """Read the checkpoint of a run; no code in it is executed.

    Raises:
        CheckpointError: there is none, or it cannot be read, or another version wrote it.
    """
    path = folder / NAME if folder.is_dir() else folder
    if not path.is_file():
        raise CheckpointError(f"{path}: no checkpoint; expected a run made by ./na train --out")
    try:
        state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch reports damage in many kinds
        raise CheckpointError(f"{path}: cannot be read: {str(error).splitlines()[0]}") from error
    if state.get("version") != VERSION:
        raise CheckpointError(
            f"{path}: version {state.get('version')!r}, expected {VERSION}; train again"
        )
    return state
