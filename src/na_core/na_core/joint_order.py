# SPDX-License-Identifier: Apache-2.0
"""Joint order by name: nothing in this workspace may trust the order of a message."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Reordered:
    """Values in canonical order, and the names that did not fit.

    Attributes:
        values: (n,) in canonical order, NaN where the name was absent.
        missing: canonical names absent from the input.
        unknown: input names that the robot does not have.
    """

    values: NDArray[np.float64]
    missing: tuple[str, ...]
    unknown: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Whether every canonical joint was given (unknown extras do not matter)."""
        return not self.missing


class JointOrder:
    """The canonical order of a robot's joints.

    Args:
        names: canonical joint names, without repetition.

    Raises:
        ValueError: a name is empty or repeated.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._index = {name: i for i, name in enumerate(self.names)}
        if len(self._index) != len(self.names) or "" in self._index:
            raise ValueError(f"joint names {list(self.names)}: expected distinct non-empty names")

    def __len__(self) -> int:
        return len(self.names)

    def index(self, name: str) -> int:
        """Return the canonical position of `name`; KeyError names the known joints."""
        try:
            return self._index[name]
        except KeyError:
            raise KeyError(
                f"joint '{name}' is unknown: expected one of {', '.join(self.names)}"
            ) from None

    def reorder(self, names: Sequence[str], values: Sequence[float]) -> Reordered:
        """Put `values` (named by `names`) into canonical order.

        Args:
            names: names as received, any order, possibly too many or too few.
            values: one value per name.

        Raises:
            ValueError: lengths differ, or a name comes twice.
        """
        if len(names) != len(values):
            raise ValueError(
                f"{len(names)} joint names but {len(values)} values: expected one value per name"
            )
        if len(set(names)) != len(names):
            repeated = sorted({name for name in names if list(names).count(name) > 1})
            raise ValueError(f"joint names repeated: {', '.join(repeated)}; expected each once")
        result = np.full(len(self.names), np.nan)
        unknown = []
        for name, value in zip(names, values, strict=True):
            position = self._index.get(name)
            if position is None:
                unknown.append(name)
            else:
                result[position] = value
        given = set(names)
        missing = tuple(name for name in self.names if name not in given)
        return Reordered(result, missing, tuple(unknown))

    def __repr__(self) -> str:
        return f"JointOrder({', '.join(self.names)})"
