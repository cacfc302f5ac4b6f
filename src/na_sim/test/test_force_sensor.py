# SPDX-License-Identifier: Apache-2.0
"""The emulated six-axis sensor: close to the truth, never equal to it."""

from __future__ import annotations

import numpy as np
import pytest

from na_sim.nad_generator.force_sensor import FORCE_NOISE, ForceSensor

TIMES = np.arange(0.0, 20.0, 0.01)


def test_reads_a_force_with_noise_and_small_bias() -> None:
    truth = np.tile([3.0, 0.0, -2.0, 0.0, 0.1, 0.0], (len(TIMES), 1))
    read = ForceSensor(np.random.default_rng(1)).measure(truth, TIMES)
    assert np.abs(read.mean(axis=0) - truth[0])[:3].max() < 0.3
    assert read.std(axis=0)[:3] == pytest.approx(FORCE_NOISE, rel=0.3)


def test_is_linear_in_the_truth_and_leaks_between_axes() -> None:
    zero = np.zeros((len(TIMES), 6))
    pull = zero.copy()
    pull[:, 0] = 10.0
    answers = [ForceSensor(np.random.default_rng(4)).measure(w, TIMES) for w in (zero, pull)]
    change = answers[1] - answers[0]
    assert np.ptp(change, axis=0).max() < 1e-9
    assert change[0, 0] == pytest.approx(10.0, rel=0.05)
    assert 0.0 < np.abs(change[0, 1]) < 0.5


def test_two_sensors_differ_and_one_is_repeatable() -> None:
    wrench = np.ones((5, 6))
    first, again, other = (
        ForceSensor(np.random.default_rng(s)).measure(wrench, TIMES[:5]) for s in (1, 1, 2)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
