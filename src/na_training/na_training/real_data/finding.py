# SPDX-License-Identifier: Apache-2.0
"""One line of the real-data table: a figure, the trivial figure beside it, and what it proves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class RecordingError(ValueError):
    """A recording is absent or not what its description says; the text names it."""


@dataclass(frozen=True)
class Finding:
    """A figure on held-out data.

    Attributes:
        data: recording and split.
        method: what made the estimate; "ours" where it is this project's network.
        figure: what is measured.
        unit: of value and trivial.
        value: the figure.
        trivial: what a predictor without any insight gets.
        trivial_name: which predictor that is.
        ours: whether the method is this project's learned one.
    """

    data: str
    method: str
    figure: str
    unit: str
    value: float
    trivial: float
    trivial_name: str
    ours: bool = False

    def to_json(self) -> dict[str, Any]:
        """The attributes as JSON values."""
        return asdict(self)


@dataclass(frozen=True)
class Study:
    """All findings on one data set.

    Attributes:
        name: of the data set.
        findings: lines of the table.
        proves: what the study shows.
        does_not: what it does not show.
        facts: further lines of text, such as fitted parameters.
    """

    name: str
    findings: tuple[Finding, ...]
    proves: str
    does_not: str
    facts: tuple[str, ...] = ()


def rmse(estimate: Array, truth: Array) -> float:
    """Root mean square of the difference where both are known."""
    error = (estimate - truth)[np.isfinite(estimate) & np.isfinite(truth)]
    return float(np.sqrt(np.mean(error**2))) if error.size else float("nan")


def mae(estimate: Array, truth: Array) -> float:
    """Mean absolute difference where both are known."""
    error = (estimate - truth)[np.isfinite(estimate) & np.isfinite(truth)]
    return float(np.mean(np.abs(error))) if error.size else float("nan")


def relative_rmse(estimate: Array, truth: Array, deviation: Array) -> float:
    """RMSE of each joint over that joint's deviation, then the mean over joints [1]."""
    columns = range(truth.shape[1])
    return float(np.mean([rmse(estimate[:, j], truth[:, j]) / deviation[j] for j in columns]))


def lines(
    data: str,
    figure: str,
    unit: str,
    values: Sequence[tuple[str, float]],
    trivial: tuple[str, float],
    ours: Sequence[str] = (),
) -> list[Finding]:
    """Findings of several methods on the same data and figure."""
    return [
        Finding(data, name, figure, unit, value, trivial[1], trivial[0], name in ours)
        for name, value in values
    ]
