# SPDX-License-Identifier: Apache-2.0
"""One place that compiles numeric kernels: numba's `njit`, cached beside the source."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Compile `function` with numba in nopython mode; IEEE semantics, cached on disk."""
    return cast(F, numba.njit(cache=True, error_model="numpy", nogil=True)(function))


def intrinsic(function: Callable[..., Any]) -> Any:
    """numba's `intrinsic`: code generation for what Python cannot say, such as raw pointers."""
    return numba.extending.intrinsic(function)
