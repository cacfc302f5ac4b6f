# SPDX-License-Identifier: Apache-2.0
"""Errors of NAD bags; each keeps the path it is about."""

from __future__ import annotations

from pathlib import Path


class NadError(Exception):
    """Base of everything that goes wrong with a bag; `path` is the file or directory concerned."""

    def __init__(self, path: Path | str, message: str) -> None:
        """Keep `path` and prefix the message with it."""
        super().__init__(f"{path}: {message}")
        self.path = Path(path)


class EpisodeExistsError(NadError):
    """An episode of that name is finished, being recorded, or was left unfinished."""


class DiskReserveError(NadError):
    """Free space fell below the reserve; what was written is intact, the writer can be closed."""

    def __init__(self, path: Path | str, free: int, reserve: int, detail: str) -> None:
        """Keep `free` and `reserve` [bytes]."""
        super().__init__(
            path,
            f"{free / 1e6:.1f} MB free, the reserve is {reserve / 1e6:.1f} MB; {detail}",
        )
        self.free = free
        self.reserve = reserve


class EpisodeWriteError(NadError):
    """The operating system refused a write; complete chunks stay in the unfinished directory."""


class BagFormatError(NadError):
    """A file is not what its name says, is damaged, or is of a kind that we do not read."""


class SchemaError(NadError):
    """A message definition is missing, cannot be parsed, or is not the one expected."""
