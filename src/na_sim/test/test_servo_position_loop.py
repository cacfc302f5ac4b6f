# SPDX-License-Identifier: Apache-2.0
"""The servo's controller in register units: gains, limits, profile, modes."""

from __future__ import annotations

import numpy as np
import pytest

from na_sim.servo.catalogue import nominal
from na_sim.servo.position_loop import controller_step
from na_sim.servo.profile import profile_step
from na_sim.servo.records import COMMAND_DTYPE, COUNTS_PER_RADIAN, STATE_DTYPE

DT = 0.001


def servo(model: str = "xm430-w350", **overrides: float) -> tuple[np.ndarray, np.ndarray]:
    p = np.atleast_1d(nominal(model, {"encoder_amplitude": 0.0, **overrides}))
    state = np.zeros(1, STATE_DTYPE)
    for name in ("count", "count_lag", "trajectory"):
        state[name] = p["zero_count"]
    state["enabled"] = 1
    return p, state


def command(**values: float) -> np.ndarray:
    c = np.zeros(1, COMMAND_DTYPE)
    defaults = {
        "mode": 3,
        "torque_enable": 1,
        "goal_position": 2048,
        "pwm_limit": 885,
        "current_limit": 1193,
        "velocity_limit": 200,
    }
    for name, value in {**defaults, **values}.items():
        c[name] = value
    return c


def pwm(p: np.ndarray, state: np.ndarray, c: np.ndarray, steps: int = 1) -> float:
    for _ in range(steps):
        controller_step(p[0], state[0], c[0], 12.0, 2.35, 5.2, DT)
    return float(state["pwm"][0])


def test_p_gain_is_divided_by_128() -> None:
    p, state = servo()
    assert pwm(p, state, command(p=800, goal_position=2058)) == pytest.approx(10 * 800 / 128)


def test_i_gain_adds_up_the_error_every_millisecond() -> None:
    p, state = servo()
    assert pwm(p, state, command(i=6554, goal_position=2053), steps=200) == pytest.approx(
        200 * 5 * 6554 / 65536, rel=1e-6
    )


def test_integral_does_not_wind_up_beyond_the_pwm_limit() -> None:
    p, state = servo()
    c = command(i=65536, goal_position=2148, pwm_limit=300)
    assert pwm(p, state, c, steps=2000) == 300.0
    c["goal_position"] = 1948
    assert pwm(p, state, c, steps=8) < 0.0


def test_sign_turns_counts_against_the_joint() -> None:
    p, state = servo(sign=-1.0)
    state["link_angle"] = 10.0 / COUNTS_PER_RADIAN  # the joint moved up: counts go down
    assert pwm(p, state, command(p=128, goal_position=2048)) == pytest.approx(10.0)


def test_torque_off_opens_the_bridge_and_forgets_the_integral() -> None:
    p, state = servo()
    c = command(p=800, i=1000, goal_position=2148)
    assert pwm(p, state, c, steps=50) > 0.0
    c["torque_enable"] = 0
    assert pwm(p, state, c) == 0.0
    c["torque_enable"], c["p"] = 1, 0
    assert abs(pwm(p, state, c)) < 5.0


def test_current_position_mode_limits_the_duty_by_the_current() -> None:
    p, state = servo()
    c = command(mode=5, p=800, goal_position=3000, goal_current=100)
    amperes = pwm(p, state, c) / 885.0 * 12.0 / 5.2
    assert amperes == pytest.approx(100 * 2.69e-3)


def test_current_mode_drives_the_current_asked_for() -> None:
    p, state = servo()
    amperes = pwm(p, state, command(mode=0, goal_current=-200)) / 885.0 * 12.0 / 5.2
    assert amperes == pytest.approx(-200 * 2.69e-3)


def test_pwm_mode_is_clipped_by_the_pwm_limit() -> None:
    p, state = servo()
    assert pwm(p, state, command(mode=16, goal_pwm=-700, pwm_limit=400)) == -400.0


def test_velocity_mode_pushes_towards_the_goal_velocity() -> None:
    p, state = servo()
    assert pwm(p, state, command(mode=1, goal_velocity=100, velocity_p=100)) > 0.0


def test_feetech_duty_is_0_166_per_radian_and_gain_unit() -> None:
    p, state = servo("sts3215")
    value = pwm(p, state, command(p=1, goal_position=2048 + 652, pwm_limit=1000))
    assert value / 1000.0 == pytest.approx(0.166 * 652 / COUNTS_PER_RADIAN, rel=1e-6)


def profile(goal: float, velocity: float, acceleration: float, seconds: float) -> np.ndarray:
    p, state = servo()
    state["trajectory"] = 0.0
    c = command(goal_position=goal, profile_velocity=velocity, profile_acceleration=acceleration)
    out = np.zeros(round(seconds / DT))
    for k in range(len(out)):
        profile_step(p[0], state[0], c[0], DT)
        out[k] = state["trajectory"][0]
    return out


def test_no_profile_follows_the_goal_at_once() -> None:
    assert profile(1000.0, 0.0, 0.0, 0.002)[0] == 1000.0


def test_profile_keeps_velocity_and_acceleration_and_arrives() -> None:
    p = nominal("xm430-w350")
    path = profile(2000.0, 100.0, 10.0, 3.0)
    speed = np.diff(path) / DT
    top = 100.0 * float(p["velocity_unit"]) * COUNTS_PER_RADIAN
    limit = 10.0 * float(p["acceleration_unit"]) * COUNTS_PER_RADIAN
    assert path[-1] == 2000.0
    assert np.max(path) <= 2000.0 + 1e-9
    assert np.max(speed) == pytest.approx(top, rel=1e-6)
    assert np.max(np.abs(np.diff(speed) / DT)) < 1.6 * limit


def test_time_based_profile_arrives_in_about_its_duration() -> None:
    p, state = servo()
    state["trajectory"] = 0.0
    c = command(goal_position=1000.0, profile_velocity=500, time_based=1)
    steps = 0
    while state["trajectory"][0] != 1000.0 and steps < 3000:
        profile_step(p[0], state[0], c[0], DT)
        steps += 1
    assert 0.2 < steps * DT < 1.5
