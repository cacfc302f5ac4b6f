# SPDX-License-Identifier: Apache-2.0
"""One place that compiles numeric kernels: numba's `njit`, cached per version of our sources.

numba notices a change in a function's own file but not in the functions that it calls. Our kernels
call each other across files, so the cache folder is named after a hash of all their sources: an
edited file never runs as an old kernel. The first run after a change compiles for some seconds.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])

PACKAGE = Path(__file__).resolve().parents[1]
KERNEL_SOURCES = ("servo/*.py", "arm_kernel.py", "forces.py", "native.py")


@cache
def _cache_folder() -> str:
    """Folder for compiled kernels of these sources, or "" when none can be written."""
    digest = hashlib.sha256(numba.__version__.encode())
    for pattern in KERNEL_SOURCES:
        for path in sorted(PACKAGE.glob(pattern)):
            digest.update(path.read_bytes())
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = root / "neural_actuator" / f"kernels-{digest.hexdigest()[:16]}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return ""
    return str(folder) if os.access(folder, os.W_OK) else ""


def compiled(function: F) -> F:
    """Compile `function` with numba in nopython mode; IEEE semantics, cached where possible."""
    folder = _cache_folder()
    before = numba.config.CACHE_DIR
    if folder:
        numba.config.CACHE_DIR = folder
    try:
        wrap = numba.njit(cache=bool(folder), error_model="numpy", nogil=True)
        return cast(F, wrap(function))
    finally:
        numba.config.CACHE_DIR = before


def intrinsic(function: Callable[..., Any]) -> Any:
    """numba's `intrinsic`: code generation for what Python cannot say, such as raw pointers."""
    return numba.extending.intrinsic(function)
