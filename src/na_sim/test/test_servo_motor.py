# SPDX-License-Identifier: Apache-2.0
"""The servo against closed-form answers: DC motor step, stall, heating, supply sag."""

from __future__ import annotations

import numpy as np
import pytest

from na_sim.servo.catalogue import nominal
from na_sim.servo.records import STATE_DTYPE, SUPPLY_DTYPE
from na_sim.servo.rig import Pendulum, simulate
from na_sim.servo.supply import sag
from na_sim.servo.thermal import heat_step

IDEAL = {
    "friction_family": "m1",
    "coulomb": 0.0,
    "viscous": 0.02,
    "copper": 0.0,
    "magnet": 0.0,
    "friction_temperature": 0.0,
}


def test_voltage_step_follows_the_closed_form() -> None:
    p = nominal("xm430-w350", IDEAL)
    load, volts, duty = 0.004, 12.0, 0.5
    dt, count = 1e-4, 4000
    result = simulate(
        p,
        Pendulum(load, 0.0),
        np.full(count, duty * float(p["pwm_full"])),
        np.full(count, volts),
        mode=16,
        dt=dt,
    )
    r, k = float(p["resistance"]), float(p["torque_constant"])
    damping = 0.02 + k**2 / r
    final = k * duty * volts / r / damping
    constant = (float(p["inertia"]) + load) / damping
    times = dt * np.arange(count)
    expected = final * (1.0 - np.exp(-times / constant))
    assert np.max(np.abs(result.velocity - expected)) < 0.01 * final
    settled = result.current[-1]
    assert settled == pytest.approx(0.02 * final / k, rel=1e-3)


def test_stall_current_is_volts_over_ohms() -> None:
    p = nominal("xm430-w350", {**IDEAL, "coulomb": 50.0})
    result = simulate(p, Pendulum(0.01, 0.0), np.full(200, 885.0), np.full(200, 12.0), mode=16)
    assert result.current[-1] == pytest.approx(12.0 / float(p["resistance"]))
    assert result.velocity[-1] == 0.0


def test_step_size_does_not_matter() -> None:
    p = nominal("xm430-w350", {"friction_family": "m6", "quad_motor": 0.3, "load_external": 0.1})
    pendulum = Pendulum.point_mass(0.4, 0.2)
    times = np.arange(0.0, 3.0, 0.002)
    goal = 0.8 * np.sin(2.0 * times)
    runs = [
        simulate(p, pendulum, goal, np.full(len(goal), 12.0), dt=0.002 / n, substeps=n)
        for n in (2, 8)
    ]
    assert np.max(np.abs(runs[0].position - runs[1].position)) < 0.004


def test_geared_and_rigid_load_agree_when_gears_are_stiff_and_tight() -> None:
    p = nominal("xm430-w350", {"backlash": 0.0, "stiffness": 2000.0, "link_damping": 0.0})
    pendulum = Pendulum.point_mass(0.5, 0.2)
    goal = 0.6 * np.sin(2.0 * np.pi * 0.5 * np.arange(0.0, 4.0, 0.001))
    volts = np.full(len(goal), 12.0)
    rigid = simulate(p, pendulum, goal, volts, rigid=True)
    geared = simulate(p, pendulum, goal, volts, rigid=False, dt=0.0005, substeps=2)
    assert np.max(np.abs(rigid.position - geared.position)) < 0.01


def test_backlash_lets_the_link_move_freely_inside_its_width() -> None:
    wide = 0.05
    p = nominal("xm430-w350", {"backlash": wide, "link_damping": 0.0})
    free_fall = Pendulum(0.01, 0.05, offset=np.pi / 2.0)  # lying level
    result = simulate(
        p, free_fall, np.zeros(120), np.full(120, 12.0), rigid=False, enables=np.zeros(120, int)
    )
    moved = abs(result.position[-1])
    assert wide / 2.0 <= moved < wide / 2.0 + 0.01


def test_winding_settles_at_the_thermal_resistance() -> None:
    p = np.atleast_1d(nominal("xm430-w350"))
    state = np.zeros(1, STATE_DTYPE)
    s = state[0]
    s["winding"] = s["housing"] = float(p[0]["ambient"])
    loss = 2.0
    for _ in range(8000):
        heat_step(p[0], s, loss, 2.0)
    air, case = float(p[0]["heat_to_air"]), float(p[0]["heat_to_housing"])
    assert s["housing"] == pytest.approx(float(p[0]["ambient"]) + loss * air, rel=1e-3)
    assert s["winding"] == pytest.approx(s["housing"] + loss * case, rel=1e-3)


def test_hot_copper_carries_less_current() -> None:
    p = nominal("xm430-w350", {"coulomb": 50.0, "friction_family": "m1"})
    kwargs = {"mode": 16}
    cold = simulate(p, Pendulum(0.01, 0.0), np.full(5, 885.0), np.full(5, 12.0), **kwargs)
    hot = simulate(
        p, Pendulum(0.01, 0.0), np.full(5, 885.0), np.full(5, 12.0), temperature=75.0, **kwargs
    )
    ratio = hot.current[-1] / cold.current[-1]
    assert ratio == pytest.approx(1.0 / (1.0 + 0.00393 * 50.0), rel=1e-3)


def test_supply_sags_with_the_current_of_the_chain() -> None:
    supply = np.zeros(1, SUPPLY_DTYPE)
    supply["open_circuit"], supply["resistance"] = 12.1, 0.25
    sag(supply[0], 4.0)
    assert supply["voltage"][0] == pytest.approx(11.1)
    sag(supply[0], 1000.0)
    assert supply["voltage"][0] == pytest.approx(1.0)


def test_parameters_must_be_complete_and_known() -> None:
    with pytest.raises(ValueError, match=r"unknown \['stifness'\]"):
        nominal("xm430-w350", {"stifness": 3.0})
    with pytest.raises(ValueError, match="servo model 'mx28' has no physics; expected one of"):
        nominal("mx28")
