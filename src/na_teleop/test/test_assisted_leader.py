# SPDX-License-Identifier: Apache-2.0
"""A driven leader on emulated servos: off until asked, bounded, and off on any doubt."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from na_core.robot_spec import RobotSpec
from na_teleop.assisted_leader import AssistedLeader, DeadMan
from na_teleop.buses.dynamixel_current import CurrentControl, current_control_obstacle
from na_teleop.buses.dynamixel_settings import Role
from na_teleop.buses.errors import ServoError
from na_teleop.leader_aids.config import AidsConfig

Maker = Callable[..., Any]
DT = 1 / 60
GOAL_CURRENT = 102
CONFIG = AidsConfig(gravity_share=1.0, ramp_s=0.1, watchdog_s=0.2)


def started(arm: Any, config: AidsConfig = CONFIG, **options: Any) -> AssistedLeader:
    arm.change(position=2048)
    leader = AssistedLeader(arm.bus(role=Role.LEADER), config, clock=arm.clock, **options)
    leader.start()
    return leader


def tick(arm: Any, leader: AssistedLeader, times: int = 1) -> Any:
    result = None
    for _ in range(times):
        arm.clock.sleep(DT)
        result = leader.tick()
    return result


def driven(arm: Any, config: AidsConfig = CONFIG, **options: Any) -> AssistedLeader:
    leader = started(arm, config, **options)
    tick(arm, leader, 2)
    done, text = leader.switch(True)
    assert done, text
    return leader


def register(arm: Any, id: int, name: str) -> int:
    return int(arm.emulator.servo(id).registers.get(name))


def test_nothing_is_driven_until_asked(arm: Any) -> None:
    leader = started(arm)
    for _ in range(20):
        assert not tick(arm, leader).telemetry.torque_enabled
    assert {value for _, value in arm.log.torque_writes()} == {0}
    assert not arm.log.writes(GOAL_CURRENT)
    assert leader.off_reason == "not asked for"


def test_torque_goes_on_with_no_current_commanded_and_the_watchdog_armed(arm: Any) -> None:
    leader = driven(arm)
    for id in leader.bus.ids:
        assert register(arm, id, "operating_mode") == 0
        assert register(arm, id, "goal_current") == 0
        assert register(arm, id, "torque_enable") == 1
        assert register(arm, id, "bus_watchdog") == 10


def test_currents_carry_the_weight_in_the_servos_direction(arm: Any, omx: RobotSpec) -> None:
    leader = driven(arm)
    result = tick(arm, leader, 30)
    assert result.telemetry.torque_enabled and result.publish
    held = leader.aids.kinematics.gravity(result.sample.position)
    for joint in range(4):
        counts = register(arm, leader.bus.ids[joint], "goal_current")
        expected = held[joint] / 2.35 / 2.69e-3
        assert abs(counts - expected) <= 1.0


def test_switching_off_zeroes_torque_everywhere(arm: Any) -> None:
    leader = driven(arm)
    tick(arm, leader, 5)
    done, text = leader.switch(False)
    assert done and text == "switched off by request"
    assert not any(arm.emulator.torque_enabled().values())
    assert all(register(arm, id, "bus_watchdog") == 0 for id in leader.bus.ids)
    assert not tick(arm, leader).telemetry.torque_enabled


def test_close_releases(arm: Any) -> None:
    leader = driven(arm)
    leader.close()
    assert not any(arm.emulator.torque_enabled().values()) and not leader.torque_on


def test_a_program_that_dies_leaves_servos_that_stop(arm: Any) -> None:
    leader = driven(arm)
    tick(arm, leader, 30)
    arm.clock.sleep(0.5)  # nothing is heard for longer than watchdog_s
    arm.emulator.tick()
    for id in leader.bus.ids:
        assert register(arm, id, "bus_watchdog") == -1
        assert register(arm, id, "goal_current") == 0


@pytest.mark.parametrize(
    ("spoil", "ticks", "expected"),
    [
        (lambda arm: setattr(arm.log, "mute", {13}), 4, "3 incomplete reads in a row"),
        (lambda arm: arm.emulator.inject_hardware_error(12, 0x20), 3, r"hardware error .*\[12\]"),
        (lambda arm: arm.clock.sleep(0.4), 1, r"paused for 0\.4"),
        (lambda arm: arm.emulator.brown_out(), 40, "lost power|incomplete reads"),
    ],
)
def test_any_doubt_switches_the_aids_off(arm: Any, spoil: Any, ticks: int, expected: str) -> None:
    leader = driven(arm)
    tick(arm, leader, 5)
    spoil(arm)
    tick(arm, leader, ticks)
    assert leader.output is None
    assert re.search(expected, leader.off_reason), leader.off_reason
    arm.log.mute = set()
    arm.clock.sleep(0.6)  # torque off that was not confirmed is tried again twice a second
    tick(arm, leader, 40)
    assert not any(arm.emulator.torque_enabled().values()) and not leader.torque_on


def test_a_runaway_joint_is_let_go(arm: Any) -> None:
    leader = driven(arm)
    tick(arm, leader, 3)
    arm.plant.velocity[1] = 5000.0  # counts/s, 7.7 rad/s
    read = leader.bus.read

    def fast() -> Any:
        sample = read()
        return replace(sample, velocity=np.array([0.0, 7.7, 0.0, 0.0, 0.0]))

    leader.bus.read = fast  # type: ignore[method-assign]
    tick(arm, leader)
    assert "nobody seems to hold the arm" in leader.off_reason and "[12]" in leader.off_reason
    assert not any(arm.emulator.torque_enabled().values())


def test_a_lost_port_is_released_as_soon_as_it_is_back(make_arm: Maker, tmp_path: Path) -> None:
    arm = make_arm(link=tmp_path / "leader")
    leader = driven(arm)
    tick(arm, leader, 3)
    arm.port.close()
    tick(arm, leader, 2)
    assert leader.torque_on and "port was lost" in leader.off_reason
    assert leader.switch(True)[0] is False
    arm.port.open()
    arm.clock.sleep(1.0)
    tick(arm, leader, 3)
    assert not leader.torque_on and not any(arm.emulator.torque_enabled().values())
    assert leader.switch(True)[0] is True


def test_feedback_needs_the_trigger(arm: Any, omx: RobotSpec) -> None:
    config = replace(CONFIG, gravity_share=0.0, feedback_gain=1.0, gripper_spring=0.0)
    leader = driven(arm, config)
    open_count = int(leader.bus.conversion.raw_from_position(omx.upper)[4])  # type: ignore[attr-defined]

    def feel(gripper: int) -> float:
        for _ in range(60):
            here = arm.plant.position[4]
            arm.plant.position[4] = here + np.clip(gripper - here, -60.0, 60.0)
            leader.feed_wrench([4.0, 0.0, 0.0], "link1")
            tick(arm, leader)
        assert leader.output is not None, leader.off_reason
        return float(np.abs(leader.output.feedback).max())

    assert feel(open_count) == 0.0
    assert feel(2048) > 0.05


def test_the_dead_man_topic_must_be_kept_true(arm: Any) -> None:
    leader = driven(arm, dead_man=DeadMan.TOPIC)
    sample = tick(arm, leader).sample
    assert not leader.alive(sample, arm.clock())
    leader.feed_dead_man(True)
    assert leader.alive(sample, arm.clock())
    arm.clock.sleep(0.31)
    assert not leader.alive(sample, arm.clock())


def other_servos(spec: RobotSpec, model: str) -> RobotSpec:
    """The robot with other servos, none of them current-limited."""
    joints = []
    for joint in spec.joints:
        assert joint.servo is not None
        servo = replace(joint.servo, model=model)
        joints.append(replace(joint, servo=servo, operating_mode="position", goal_current=None))
    return replace(spec, joints=tuple(joints))


def test_servos_without_current_control_say_so_at_start(make_arm: Maker, omx: RobotSpec) -> None:
    arm = make_arm(spec=other_servos(omx, "xl430-w250"))
    leader = AssistedLeader(arm.bus(role=Role.LEADER), CONFIG, clock=arm.clock)
    assert "cannot be current-controlled (no current sensor)" in leader.obstacle
    assert "joint1 (xl430-w250)" in leader.obstacle
    with pytest.raises(ServoError, match="cannot be current-controlled"):
        CurrentControl(arm.bus(), 0.5)


def test_an_arm_of_xm430_can_be_current_controlled(arm: Any) -> None:
    assert current_control_obstacle(arm.bus()) == ""


def test_no_current_beyond_any_limit_reaches_the_wire(arm: Any) -> None:
    bus = arm.bus(role=Role.LEADER)
    bus.open()
    control = CurrentControl(bus, 0.3)
    control.prepare()
    written = control.write(np.array([5.0, -5.0, 0.1, -0.1, 0.0]))
    assert np.abs(written).max() <= 0.3
    assert written[0] == pytest.approx(0.3, abs=2.7e-3)
    with pytest.raises(ValueError, match="5 finite numbers"):
        control.write(np.array([np.nan, 0.0, 0.0, 0.0, 0.0]))


def test_the_servos_own_limit_counts_too(make_arm: Maker) -> None:
    arm = make_arm({12: {"registers": {"current_limit": 40}}})
    bus = arm.bus(role=Role.LEADER)
    bus.open()
    control = CurrentControl(bus, 0.8)
    control.prepare()
    assert control.limit == pytest.approx(40 * 2.69e-3)
