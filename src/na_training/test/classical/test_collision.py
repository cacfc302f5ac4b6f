# SPDX-License-Identifier: Apache-2.0
"""Collision detection: onsets, thresholds chosen on free motion, delays measured from the touch."""

from __future__ import annotations

import numpy as np
import pytest

from na_core.features import Ticks
from na_training.classical import collision
from na_training.classical.samples import FitError
from na_training.data import Episode

DT = 0.02


def episode(force, name="made up"):
    """An episode with this force along z (T,) [N]."""
    length = len(force)
    arrays = {k: np.zeros((length, 2)) for k in Ticks.__dataclass_fields__}
    label = np.zeros((length, 3))
    label[:, 2] = force
    contact = np.where(force >= 0.35, 1.0, np.where(force < 0.2, 0.0, np.nan))
    return Episode(
        name, "made_up", "force_labelled", "push", "", "", "", DT * np.arange(length),
        Ticks.of(**arrays), np.array([[0, length]]), label, contact, np.full(2, np.nan), label,
    )  # fmt: skip


def step(at, length=400, size=3.0):
    force = np.zeros(length)
    force[at:] = size
    return force


def test_onset_is_where_the_force_begins():
    assert collision.onsets(episode(step(100))).tolist() == [100]
    assert collision.onsets(episode(step(5))).tolist() == []  # no quiet time before


def test_delay_counts_from_the_touch():
    score = np.zeros(400)
    score[110:] = 2.0
    found = collision.judge([score], [episode(step(100))], 1.0)
    assert (found.touches, found.recall, found.alarms) == (1, 1.0, 0.0)
    assert found.delay == pytest.approx((10 + collision.DWELL - 1) * DT)


def test_late_detection_is_a_miss_and_early_one_a_false_alarm():
    late = np.zeros(400)
    late[300:] = 2.0
    assert collision.judge([late], [episode(step(100))], 1.0).recall == 0.0
    early = np.zeros(400)
    early[20:30] = 2.0
    assert collision.judge([early], [episode(step(100))], 1.0).alarms > 0.0


def test_threshold_keeps_to_the_allowed_alarms():
    rng = np.random.default_rng(0)
    free = episode(np.zeros(6000))
    score = rng.normal(0.0, 1.0, 6000)
    threshold = collision.choose_threshold([score], [free])
    assert collision.judge([score], [free], threshold).alarms <= collision.ALARMS_PER_MINUTE
    lower = collision.judge([score], [free], threshold - 1.0).alarms
    assert lower > collision.ALARMS_PER_MINUTE


def test_threshold_needs_free_motion():
    with pytest.raises(FitError, match="no tick without contact"):
        collision.choose_threshold([np.zeros(50)], [episode(np.full(50, 2.0))])


def test_causal_acceleration_of_a_parabola_looks_only_back():
    time = DT * np.arange(60)
    q = 0.5 * 3.0 * time[:, None] ** 2
    found = collision.causal_acceleration(q, DT)
    assert np.allclose(found[9:], 3.0)
    changed = q.copy()
    changed[40:] += 1.0
    assert np.array_equal(collision.causal_acceleration(changed, DT)[:40], found[:40])
