# SPDX-License-Identifier: Apache-2.0
"""Where tests find optional material that is not part of the repository."""

from __future__ import annotations

import os
from pathlib import Path


def source_root() -> Path | None:
    """Return the top of the source tree (the folder holding `urdf/robots`), or None if installed.

    With a symlink install the module's real path still lies in the source tree.
    """
    for parent in Path(__file__).resolve().parents:
        if (parent / "urdf" / "robots").is_dir() and (parent / "src" / "na_core").is_dir():
            return parent
    return None


def shared_data() -> Path | None:
    """Return the folder of optional reference data, or None where it is absent.

    `NA_SHARED_DATA` wins; otherwise `../shared/data` beside the source tree. A test that needs it
    must skip with a reason when this is None.
    """
    named = os.environ.get("NA_SHARED_DATA")
    if named:
        return Path(named) if Path(named).is_dir() else None
    root = source_root()
    if root is None:
        return None
    folder = root.parent / "shared" / "data"
    return folder if folder.is_dir() else None
