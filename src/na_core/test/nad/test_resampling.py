# SPDX-License-Identifier: Apache-2.0
"""A force sensor at the times of ticks: no aliasing, no delay, nothing where it was silent."""

from __future__ import annotations

import numpy as np
import pytest

from na_core.nad.resampling import around

PERIOD = 1.0 / 58.6
TICKS = np.arange(0.1, 2.0, PERIOD)


def sensor(rate: float, force: object, until: float = 2.2) -> tuple[np.ndarray, np.ndarray]:
    times = np.arange(0.0, until, 1.0 / rate)
    return times, np.asarray(force(times))[:, None]  # type: ignore[operator]


@pytest.mark.parametrize("rate", [100.0, 800.0])
def test_chatter_above_the_tick_rate_does_not_become_force(rate: float) -> None:
    times, chatter = sensor(rate, lambda t: 5.0 + 2.0 * np.sin(2 * np.pi * 43.0 * t))
    latest = chatter[np.searchsorted(times, TICKS, side="right") - 1, 0]
    mean = around(times, chatter, TICKS, PERIOD)[:, 0]
    assert np.std(latest) > 1.2
    assert np.std(mean) < 0.35 and np.mean(mean) == pytest.approx(5.0, abs=0.05)


@pytest.mark.parametrize("rate", [30.0, 100.0, 1000.0])
def test_a_ramp_comes_without_delay(rate: float) -> None:
    times, ramp = sensor(rate, lambda t: 10.0 * t)
    read = around(times, ramp, TICKS, PERIOD)[:, 0]
    assert np.abs(read - 10.0 * TICKS).max() < 0.04
    assert abs(np.mean(read - 10.0 * TICKS)) < 0.005


def test_nothing_is_known_where_the_sensor_was_silent() -> None:
    times, force = sensor(100.0, np.ones_like, until=1.0)
    force[20:40] = np.nan
    read = around(times, force, np.array([0.1, 0.3, 0.9, 1.5]), PERIOD)[:, 0]
    assert read[[0, 2]].tolist() == [1.0, 1.0]
    assert np.isnan(read[[1, 3]]).all()
    assert np.isnan(around(np.zeros(0), np.zeros((0, 3)), TICKS, PERIOD)).all()


def test_refuses_a_period_or_samples_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="period 0"):
        around(TICKS, np.ones((len(TICKS), 3)), TICKS, 0.0)
    with pytest.raises(ValueError, match="one row per time"):
        around(TICKS, np.ones((3, 3)), TICKS, PERIOD)
