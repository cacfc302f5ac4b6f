# SPDX-License-Identifier: Apache-2.0
"""Samples of a faster sensor at the times of control ticks, without aliasing.

A tip that presses on something stiff chatters at 30 to 50 Hz. Ticks at 58.6 Hz cannot carry that:
the sample that happens to be the latest is off by the whole amplitude, and later than the tick by
up to two sample periods. A label is therefore the mean of the samples around the tick.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from na_core.nad.timeline import Int

Array = NDArray[np.float64]


def around(times: Array, values: Array, at: Array, period: float) -> Array:
    """Return the mean of samples around given times, weighted by a triangle.

    The triangle falls to zero one `period` before and after, or one sample period where that is
    longer: a fast sensor is low-pass filtered for the slower rate, a slow one interpolated.

    Args:
        times: of the samples (S,), ascending [s].
        values: the samples (S, d); rows with NaN are left out.
        at: times wanted (M,) [s].
        period: of the rate that is sampled to, e.g. of the control ticks [s].

    Returns:
        (M, d); NaN where no sample is near enough.

    Raises:
        ValueError: `period` is not positive, or `values` has not one row per time.
    """
    if not period > 0.0:
        raise ValueError(f"period {period} s; expected a positive one, e.g. that of the ticks")
    if len(values) != len(times):
        raise ValueError(f"{len(values)} samples at {len(times)} times; expected one row per time")
    whole = np.isfinite(values).all(axis=1)
    times, values = times[whole], values[whole]
    total = np.zeros((len(at), values.shape[1]))
    if not len(times):
        return np.full_like(total, np.nan)
    spacing = float(np.median(np.diff(times))) if len(times) > 1 else 0.0
    reach = max(period, spacing)
    first = np.searchsorted(times, at - reach)
    last = np.searchsorted(times, at + reach)
    weight = np.zeros(len(at))
    for k in range(int((last - first).max(initial=0))):
        index = np.minimum(first + k, len(times) - 1)
        share = np.where(first + k < last, 1.0 - np.abs(times[index] - at) / reach, 0.0)
        total += np.maximum(share, 0.0)[:, None] * values[index]
        weight += np.maximum(share, 0.0)
    known = weight > 1e-9
    return np.where(known[:, None], total / np.where(known, weight, 1.0)[:, None], np.nan)


def around_ns(times: Int, values: Array, at: Int, period: float) -> Array:
    """Return `around` for times in nanoseconds since the epoch, which seconds cannot resolve."""
    zero = times[0] if len(times) else 0
    return around((times - zero) * 1e-9, values, (at - zero) * 1e-9, period)
