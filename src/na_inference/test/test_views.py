# SPDX-License-Identifier: Apache-2.0
"""Drawings: an arrow along the force, the gate's colour, grey while nothing is known."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from na_core.kinematics import Kinematics
from na_core.robot_spec import RobotSpec
from na_inference.arm_skeleton import ArmSkeleton
from na_inference.force_markers import CLOSED, INVALID, METRES_PER_NEWTON, OPEN, force_drawing

ORIGIN = np.array([0.2, 0.0, 0.1])


def test_the_arrow_points_along_the_force() -> None:
    drawing = force_drawing(ORIGIN, np.array([0.0, 0.0, -2.0]), True, "valid")
    assert drawing.tip is not None
    assert drawing.tip - drawing.origin == pytest.approx([0.0, 0.0, -2.0 * METRES_PER_NEWTON])
    assert drawing.colour == OPEN
    assert drawing.text == "2.0 N"


def test_without_contact_there_is_no_arrow() -> None:
    drawing = force_drawing(ORIGIN, np.zeros(3), False, "valid")
    assert drawing.tip is None
    assert drawing.colour == CLOSED


@pytest.mark.parametrize("validity", ["stale", "valid"])
def test_an_unknown_force_is_grey_and_says_why(validity: str) -> None:
    drawing = force_drawing(ORIGIN, np.full(3, np.nan), False, validity)
    assert (drawing.tip, drawing.colour, drawing.text) == (None, INVALID, validity)


def test_the_skeleton_ends_at_the_end_effector_and_hangs_together(omx: RobotSpec) -> None:
    q = np.array([0.3, -0.4, 0.6, 0.2, 0.005])
    segments = ArmSkeleton(omx).segments(q)
    assert segments[-1][1] == pytest.approx(Kinematics(omx).fk(q).position)
    assert segments[0][0] == pytest.approx([0.0, 0.0, 0.0])
    for before, after in itertools.pairwise(segments[:4]):
        assert after[0] == pytest.approx(before[1])


def test_a_recording_is_saved(omx: RobotSpec, tmp_path: Path) -> None:
    pytest.importorskip("rerun", reason="needs rerun-sdk: requirements/view.txt")
    from na_inference.rerun_sink import RerunSink

    path = tmp_path / "a" / "force.rrd"
    sink = RerunSink(omx, path)
    for k in range(5):
        force = np.array([0.0, 0.0, -float(k)])
        sink.log(10**18 + k * 10**7, omx.names, np.array(omx.home), force, 0.9, k > 2, "valid")
    sink.close()
    assert sink.ticks == 5
    assert path.stat().st_size > 1000
