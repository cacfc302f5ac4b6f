# SPDX-License-Identifier: Apache-2.0
"""Arm k is one physical unit, drawn from seed k."""

from __future__ import annotations

import numpy as np
import pytest

from na_core.robot_spec import load_robot_spec
from na_sim.unit_parameters import SPREAD, draw_unit

ROBOT = load_robot_spec("omx")


def test_the_same_arm_is_always_the_same() -> None:
    first, again = draw_unit(ROBOT, 3), draw_unit(ROBOT, 3)
    assert np.array_equal(first.servos, again.servos)
    assert first.supply_voltage == again.supply_voltage
    assert not np.array_equal(first.servos, draw_unit(ROBOT, 4).servos)


def test_other_arms_have_more_friction_wider_backlash_and_are_hotter() -> None:
    base = draw_unit(ROBOT, 0).servos
    others = [draw_unit(ROBOT, k).servos for k in range(1, 16)]
    friction = np.mean([s["coulomb"].mean() for s in others]) / base["coulomb"].mean()
    assert friction == pytest.approx(1.45, abs=0.25)
    assert np.mean([s["backlash"].mean() for s in others]) > 1.4 * base["backlash"].mean()
    assert all(np.all(s["ambient"] > base["ambient"]) for s in others)


def test_spread_touches_every_listed_parameter() -> None:
    first, second = draw_unit(ROBOT, 1).servos, draw_unit(ROBOT, 2).servos
    for name in SPREAD:
        if np.any(first[name] != 0.0):
            assert not np.array_equal(first[name], second[name]), name


def test_friction_family_can_be_chosen_by_name() -> None:
    unit = draw_unit(ROBOT, 0, overrides={"friction_family": "m6"})
    assert np.all(unit.servos["friction_family"] == 6)
    with pytest.raises(ValueError, match="'m9' is unknown"):
        draw_unit(ROBOT, 0, overrides={"friction_family": "m9"})


def test_joint_scale_and_sign_come_from_the_robot_file() -> None:
    servos = draw_unit(ROBOT, 0).servos
    assert servos["scale"][4] == pytest.approx(0.0114908, rel=1e-3)
    assert servos["sign"][4] == -1.0


def test_negative_arm_is_refused() -> None:
    with pytest.raises(ValueError, match="arm -1: expected a unit number"):
        draw_unit(ROBOT, -1)
