# SPDX-License-Identifier: Apache-2.0
"""Motion and effort of an arm at some instants, and how to get them from a recording."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import PchipInterpolator
from scipy.signal import savgol_filter

Array = NDArray[np.float64]


class FitError(ValueError):
    """A fit cannot be made of these data; the text says what was found and expected."""


@dataclass(frozen=True)
class Samples:
    """N instants of n joints.

    Attributes:
        q: positions (N, n) [rad or m].
        qd: velocities (N, n) [per s].
        qdd: accelerations (N, n) [per s²].
        effort: what is to be explained (N, n) [N·m or N]; NaN where not measured.
    """

    q: Array
    qd: Array
    qdd: Array
    effort: Array

    def __post_init__(self) -> None:
        shape = self.q.shape
        for name in ("qd", "qdd", "effort"):
            if getattr(self, name).shape != shape:
                raise FitError(
                    f"samples: {name} has shape {getattr(self, name).shape}, expected {shape} as q"
                )

    def __len__(self) -> int:
        return len(self.q)

    def __getitem__(self, index: Any) -> Samples:
        """The same channels at some of the instants."""
        return Samples(self.q[index], self.qd[index], self.qdd[index], self.effort[index])


def joined(parts: Sequence[Samples]) -> Samples:
    """Return the samples of several recordings, one after the other."""
    if not parts:
        raise FitError("no samples; expected at least one recording")
    return Samples(
        *(
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("q", "qd", "qdd", "effort")
        )
    )


def uniform(time: ArrayLike, rate: float, **channels: Array) -> tuple[Array, dict[str, Array]]:
    """Resample channels (N, …) at times (N,) [s] on a uniform grid of `rate` [Hz].

    Monotone cubic interpolation; repeated stamps keep their first row.

    Returns:
        the grid (T,) [s], starting at 0, and the channels.
    """
    stamps = np.asarray(time, dtype=np.float64)
    keep = np.concatenate([[True], np.diff(stamps) > 0.0])
    stamps = stamps[keep] - stamps[0]
    grid = np.arange(0.0, stamps[-1], 1.0 / rate)
    return grid, {
        name: np.asarray(PchipInterpolator(stamps, values[keep], axis=0)(grid))
        for name, values in channels.items()
    }


def differentiated(q: Array, effort: Array, dt: float, seconds: float = 0.12) -> Samples:
    """Velocities and accelerations from positions without delay, effort smoothed alike.

    A Savitzky-Golay filter (cubic over `seconds`): for fitting only, as it looks ahead. The ends,
    half a window each, are dropped.

    Args:
        q: uniform positions (T, n).
        effort: (T, n).
        dt: seconds per row.
        seconds: length of the filter.

    Raises:
        FitError: the recording is shorter than two filters.
    """
    window = max(round(seconds / dt) // 2 * 2 + 1, 5)
    if len(q) < 2 * window:
        raise FitError(f"recording of {len(q)} rows, expected at least {2 * window}")
    order = 3
    parts = [
        savgol_filter(q, window, order, deriv=k, delta=dt, axis=0, mode="interp") for k in range(3)
    ]
    smooth = savgol_filter(effort, window, 1, axis=0, mode="interp")
    cut = slice(window // 2, len(q) - window // 2)
    return Samples(*(np.asarray(part)[cut] for part in (*parts, smooth)))
