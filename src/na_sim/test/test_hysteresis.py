# SPDX-License-Identifier: Apache-2.0
"""A static push reads differently on the way in and on the way out: that is what makes it hard."""

from __future__ import annotations

import numpy as np

from na_core.robot_spec import load_robot_spec
from na_sim.hysteresis import push_cycle

ROBOT = load_robot_spec("omx")
POSE = np.array([0.0, -0.6, 0.3, 0.6, 0.005])


def test_the_same_newton_reads_differently_loading_and_unloading() -> None:
    readings = {(r.force, r.branch): r for r in push_cycle(ROBOT, POSE, "-z")}
    loading, unloading = readings[1.0, "loading"], readings[1.0, "unloading"]
    apart = np.abs(np.array(loading.current) - np.array(unloading.current))[:4]
    assert apart.max() > 0.05


def test_one_newton_at_rest_moves_a_joint_by_about_one_count_or_less() -> None:
    readings = {(r.force, r.branch): r for r in push_cycle(ROBOT, POSE, "-z")}
    assert np.abs(readings[1.0, "loading"].counts)[:4].max() <= 2.0
