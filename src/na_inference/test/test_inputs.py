# SPDX-License-Identifier: Apache-2.0
"""Readings from telemetry and from any driver's joint states: by name, nothing guessed."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from na_core.robot_spec import RobotSpec
from na_inference.joint_state_input import JointStateInput, JointStateSettings
from na_inference.telemetry_input import TelemetryInput

SETTINGS = JointStateSettings("A", 12.0, 35.0)


def message(spec: RobotSpec, order: list[int] | None = None, **changes: Any) -> SimpleNamespace:
    order = order or list(range(spec.n))
    columns = {
        field: [base + float(k) for k in order]
        for base, field in (
            (0.0, "position"),
            (10.0, "velocity"),
            (20.0, "goal_sent"),
            (30.0, "goal_register"),
            (40.0, "current"),
            (50.0, "load"),
            (60.0, "voltage"),
            (70.0, "temperature"),
        )
    }
    values = {"name": [spec.names[k] for k in order], "sequence": 7, "stale": False, **columns}
    return SimpleNamespace(**{**values, **changes})


def test_permuted_joints_give_the_same_reading(omx: RobotSpec) -> None:
    source = TelemetryInput(omx)
    straight = source.reading(message(omx), 1)
    crossed = source.reading(message(omx, [4, 2, 0, 1, 3]), 1)
    for field in ("position", "velocity", "goal", "current", "voltage", "temperature"):
        mine = getattr(straight.ticks, field)
        assert np.array_equal(mine, getattr(crossed.ticks, field))
    assert straight.ticks.goal.tolist() == [20.0, 21.0, 22.0, 23.0, 24.0]
    assert straight.trouble == ""


def test_a_goal_that_was_not_sent_is_taken_from_the_register(omx: RobotSpec) -> None:
    nan = [float("nan")] * 5
    reading = TelemetryInput(omx).reading(message(omx, goal_sent=nan), 1)
    assert reading.ticks.goal.tolist() == [30.0, 31.0, 32.0, 33.0, 34.0]
    reading = TelemetryInput(omx).reading(message(omx, goal_sent=nan, goal_register=nan), 1)
    assert "goal of joint1, joint2" in reading.trouble
    assert "torque off?" in reading.trouble


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"current": [0, float("nan"), 0, 0, 0]}, "current of joint2 is not a number"),
        ({"name": ["joint1", "joint2", "joint3", "joint4", "grip"]}, "lacks joint gripper_left"),
        ({"position": [0.0] * 4}, "position has 4 values for 5 joint names"),
    ],
)
def test_what_cannot_be_used_is_named(omx: RobotSpec, changes: dict[str, Any], words: str) -> None:
    assert words in TelemetryInput(omx).reading(message(omx, **changes), 1).trouble


def test_stale_telemetry_is_stale_whatever_it_holds(omx: RobotSpec) -> None:
    reading = TelemetryInput(omx).reading(message(omx, stale=True, current=[float("nan")] * 5), 1)
    assert reading.stale
    assert reading.trouble == ""


def test_joint_states_are_mapped_scaled_and_joined_with_the_goal(omx: RobotSpec) -> None:
    names = {f"arm/{k}": name for k, name in enumerate(omx.names)}
    settings = replace(SETTINGS, effort_unit="mA", names=names)
    source = JointStateInput(omx, settings)
    theirs = list(names)[::-1]
    assert source.goal(theirs, [4.0, 3.0, 2.0, 1.0, 0.0]) == ""
    reading = source.reading(theirs, [4, 3, 2, 1, 0], [0] * 5, [400, 300, 200, 100, 0], 9)
    assert reading.trouble == ""
    assert reading.ticks.position.tolist() == [0, 1, 2, 3, 4]
    assert reading.ticks.goal.tolist() == [0, 1, 2, 3, 4]
    assert reading.ticks.current == pytest.approx([0.0, 0.1, 0.2, 0.3, 0.4])
    assert reading.ticks.voltage.tolist() == [12.0] * 5


def test_without_a_goal_or_an_effort_it_says_so(omx: RobotSpec) -> None:
    source = JointStateInput(omx, SETTINGS)
    names = list(omx.names)
    reading = source.reading(names, [0.0] * 5, [0.0] * 5, [0.0] * 5, 1)
    assert "goal of joint1" in reading.trouble and "(none heard)" in reading.trouble
    assert source.goal([], [0.0] * 5) == ""
    assert source.reading(names, [0.0] * 5, [0.0] * 5, [0.0] * 5, 2).trouble == ""
    reading = source.reading(names, [0.0] * 5, [0.0] * 5, [], 3)
    assert reading.trouble == "effort of the joint states: is empty"


def test_a_partial_goal_keeps_the_rest_and_a_bad_one_is_refused(omx: RobotSpec) -> None:
    source = JointStateInput(omx, SETTINGS)
    source.goal([], [1.0, 2.0, 3.0, 4.0, 5.0])
    assert source.goal(["joint2"], [9.0]) == ""
    names = list(omx.names)
    reading = source.reading(names, [0.0] * 5, [0.0] * 5, [0.0] * 5, 1)
    assert reading.ticks.goal.tolist() == [1.0, 9.0, 3.0, 4.0, 5.0]
    assert "has 2 values, expected 5" in source.goal([], [1.0, 2.0])
    assert "goal names none of" in source.goal(["wrist"], [1.0])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"effort_unit": ""}, "effort_unit is ''"),
        ({"effort_unit": "Nm"}, "must be declared"),
        ({"effort_unit": "factor", "effort_factor": (1.0,)}, "expected 5 numbers other than 0"),
        ({"voltage": float("nan")}, "assumed_voltage is nan"),
        ({"temperature": float("nan")}, "assumed_temperature is nan"),
        ({"names": {"a": "elbow"}}, "joint_names maps to elbow"),
    ],
)
def test_nothing_is_guessed(omx: RobotSpec, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        JointStateInput(omx, replace(SETTINGS, **changes))
