# SPDX-License-Identifier: Apache-2.0
"""Warnings appear beyond their thresholds, name the joints, and go away again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from na_core.robot_spec import RobotSpec
from na_teleop.arm_health import ArmHealth, HealthThresholds
from na_teleop.buses.base import BusSample

DT = 1 / 60


def good(spec: RobotSpec) -> BusSample:
    n = spec.n
    return replace(
        BusSample.nothing(n, 1),
        voltage=np.full(n, 12.0),
        temperature=np.full(n, 35.0),
        valid=np.ones(n, dtype=bool),
        fresh=True,
    )


def live(health: ArmHealth, sample: BusSample, seconds: float, since: float = 0.0) -> float:
    for k in range(round(seconds / DT)):
        health.update(sample, since + k * DT)
    return since + seconds


def test_a_healthy_arm_has_no_warnings_and_known_figures(omx: RobotSpec) -> None:
    health = ArmHealth(omx)
    assert health.values()["lowest_voltage"] == "unknown"
    live(health, good(omx), 1.0)
    assert health.warnings() == ()
    assert health.values() == {
        "lowest_voltage": "12.00 V",
        "highest_temperature": "35 °C",
        "worst_missed_share": "0.00 %",
        "worst_repeated_share": "0.00 %",
    }


def test_a_lasting_sag_warns_a_dip_does_not(omx: RobotSpec) -> None:
    health = ArmHealth(omx)
    now = live(health, good(omx), 1.0)
    low = good(omx)
    low.voltage[1] = 10.0
    now = live(health, low, 2 * DT, now)
    assert health.warnings() == ()
    now = live(health, low, 20.0, now)
    (text,) = health.warnings()
    assert "below 11.0 V" in text and "joint2 10.0 V" in text and "joint1" not in text
    live(health, good(omx), 20.0, now)
    assert health.warnings() == ()


def test_heat_names_the_joint_at_once(omx: RobotSpec) -> None:
    health = ArmHealth(omx, HealthThresholds(temperature=50.0))
    hot = good(omx)
    hot.temperature[3] = 51.0
    health.update(hot, 0.0)
    (text,) = health.warnings()
    assert text == "warmer than 50 °C: joint4 51 °C"


def test_missed_and_repeated_reads_are_shares_over_time(omx: RobotSpec) -> None:
    health = ArmHealth(omx)
    bad = good(omx)
    bad.valid[0] = False
    bad.repeated[2] = True
    for k in range(1200):
        health.update(bad if k % 20 == 0 else good(omx), k * DT)
    assert 0.03 < health.missed[0] < 0.07 and health.missed[1] == 0.0
    texts = health.warnings()
    assert any("unanswered: joint1" in text for text in texts)
    assert any("repeat old values: joint3" in text for text in texts)


def test_silent_servos_keep_their_last_figures(omx: RobotSpec) -> None:
    health = ArmHealth(omx)
    now = live(health, good(omx), 1.0)
    live(health, BusSample.nothing(omx.n, 1), 1.0, now)
    assert health.values()["lowest_voltage"] == "12.00 V"
