# SPDX-License-Identifier: Apache-2.0
"""Constants per joint that are kept with a model or in a settings file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from na_core.features.ticks import FeatureError


@dataclass(frozen=True)
class JointConstants:
    """A dataclass whose fields are arrays (n,) of finite numbers; subclasses name the fields."""

    what: ClassVar[str]

    def __post_init__(self) -> None:
        shape = next(iter(self._arrays().values())).shape
        for name, array in self._arrays().items():
            if array.shape != shape or not np.isfinite(array).all():
                raise FeatureError(
                    f"{self.what}: {name} = {array!r}, expected {shape} finite numbers"
                )

    def _arrays(self) -> dict[str, NDArray[np.float64]]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def to_json(self) -> dict[str, list[float]]:
        """Return the constants as lists."""
        return {name: array.tolist() for name, array in self._arrays().items()}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Rebuild from `to_json()`; raises FeatureError naming a missing constant."""
        names = [field.name for field in fields(cls)]
        missing = [name for name in names if name not in values]
        if missing:
            raise FeatureError(f"{cls.what}: {missing} missing, expected one number per joint")
        return cls(**{name: np.asarray(values[name], dtype=float) for name in names})
