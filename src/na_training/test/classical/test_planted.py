# SPDX-License-Identifier: Apache-2.0
"""Every method that claims to identify finds what was planted; the toolbox refuses bad input."""

from __future__ import annotations

import numpy as np
import pytest

from na_core.robot_spec import load_robot_spec
from na_training.classical import mujoco_sysid as toolbox
from na_training.classical.planted import Recovery, motor_rows, rigid_body_rows, toolbox_rows
from na_training.classical.samples import FitError

SPEC = load_robot_spec("omx")


@pytest.mark.parametrize(
    "row", [*motor_rows(SPEC), *rigid_body_rows(SPEC)], ids=lambda r: f"{r.method}: {r.parameter}"
)
def test_planted_parameters_are_found(row):
    assert abs(row.error) < (0.15 if "offset" in row.parameter else 0.05)


def test_mujoco_toolbox_finds_mass_friction_damping_and_delay():
    rows = toolbox_rows()
    assert {row.parameter.split()[0] for row in rows} == {"mass", "damping", "friction", "delay"}
    for row in rows:
        assert abs(row.error) < 0.03, row
        assert row.deviation > 0.0


def test_error_is_relative_to_what_was_planted():
    assert Recovery("m", "p", 2.0, 1.5).error == pytest.approx(-0.25)
    assert Recovery("m", "p", 0.0, 0.1).error == pytest.approx(0.1)


def test_guess_outside_its_bounds_is_refused():
    with pytest.raises(FitError, match="unknown mass: guess 3 kg"):
        toolbox.Unknown("mass", "kg", 0.1, 1.0, 3.0)


def test_no_run_is_refused():
    with pytest.raises(FitError, match="no runs"):
        toolbox.identify(None, [], [])


def test_simulation_sees_positions_late():
    values = {"armature": 0.002, "damping": 0.02, "friction": 0.0, "length": 0.1, "mass": 0.5}
    time = np.arange(0.0, 1.0, 0.002)
    control = 0.3 * np.sin(3.0 * time)[:, None]
    now = toolbox.simulate(toolbox.pendulum(values), time, control).position[:, 0]
    late = toolbox.simulate(toolbox.pendulum(values), time, control, delay=0.01).position[:, 0]
    assert np.allclose(late[5:], now[:-5], atol=1e-9)
