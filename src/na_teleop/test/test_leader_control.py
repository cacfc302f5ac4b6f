# SPDX-License-Identifier: Apache-2.0
"""The leader is only read: its torque stays off and an old position is never published."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from na_teleop.buses.dynamixel_settings import Role
from na_teleop.buses.errors import PortError
from na_teleop.leader_control import LeaderControl

Maker = Callable[..., Any]
DT = 1 / 60


def started(arm: Any) -> LeaderControl:
    control = LeaderControl(arm.bus(role=Role.LEADER), clock=arm.clock)
    control.start()
    return control


def tick(arm: Any, control: LeaderControl) -> Any:
    arm.clock.sleep(DT)
    return control.tick()


def test_start_releases_an_arm_left_under_torque(arm: Any) -> None:
    arm.emulator.servo(12).registers.put("torque_enable", 1)
    started(arm)
    assert not any(arm.emulator.torque_enabled().values())
    assert {value for _, value in arm.log.torque_writes()} == {0}


def test_fresh_reads_are_published_in_joint_units(arm: Any) -> None:
    control = started(arm)
    arm.change(position=2048 + 1024)
    result = tick(arm, control)
    assert result.publish
    np.testing.assert_allclose(result.telemetry.position[:4], np.pi / 2)
    assert np.isnan(result.telemetry.goal_sent).all()
    assert not result.telemetry.torque_enabled
    assert {value for _, value in arm.log.torque_writes()} <= {0}


def test_an_incomplete_read_is_not_published_and_is_reported_once(arm: Any) -> None:
    control = started(arm)
    tick(arm, control)
    arm.log.mute = {14}
    results = [tick(arm, control) for _ in range(20)]
    assert not any(result.publish for result in results)
    texts = [text for result in results for text in result.changes]
    assert len(texts) == 1 and "[14]" in texts[0] and arm.path in texts[0]
    arm.log.mute = set()
    back = tick(arm, control)
    assert back.publish and "answers again" in back.changes[0]


def test_a_vanished_port_is_stale_and_comes_back(make_arm: Maker, tmp_path: Any) -> None:
    arm = make_arm(link=tmp_path / "leader")
    control = started(arm)
    good = tick(arm, control)
    arm.port.close()
    lost = tick(arm, control)
    assert not lost.publish and lost.telemetry.stale
    assert lost.telemetry.stamp_ns == good.telemetry.stamp_ns
    assert "was lost" in lost.changes[0]
    arm.port.open()
    arm.clock.sleep(1.0)
    assert control.tick().publish
    assert control.bus.counters.reopened == 1


def test_a_silent_servo_at_start_is_refused(make_arm: Maker) -> None:
    arm = make_arm({13: {"connected": False}})
    with pytest.raises(PortError, match=r"torque off NOT confirmed by ids \[13\]"):
        started(arm)
