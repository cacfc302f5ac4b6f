# SPDX-License-Identifier: Apache-2.0
"""Emulated arms of both families with physics: they stand, follow and suffer faults."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from na_core.robot_spec import load_robot_spec
from na_sim.arm_plant import ArmPlant
from na_sim.emulated_arm import EmulatedArm
from na_sim.emulated_servos import emulated_bus, servo_configs
from na_sim.faults import parse_script
from na_sim.operator import ScriptedOperator
from na_sim.wire.testing import FakeClock


@pytest.mark.parametrize("robot", ["omx", "so101"])
def test_servos_hold_the_arm_and_reach_a_goal(robot: str) -> None:
    spec = load_robot_spec(robot)
    clock = FakeClock()
    plant = ArmPlant(spec)
    bus = emulated_bus(servo_configs(spec), plant, clock=clock)
    bus.tick()
    for servo in bus.servos:
        servo.dirty = True
        servo.registers.put("torque_enable", 1)
    for _ in range(60):
        clock.sleep(1 / 60)
        bus.tick()
    assert np.abs(plant.position - spec.home).max() < 0.06
    first = bus.servos[0]
    first.registers.put("goal_position", first.registers.get("goal_position") + 200)
    first.dirty = True
    for _ in range(90):
        clock.sleep(1 / 60)
        bus.tick()
    moved = plant.position[0] - spec.home[0]
    assert moved == pytest.approx(200 * 2 * np.pi / 4096, abs=0.06)
    assert not any(servo.registers.get("hardware_error_status") for servo in bus.servos)


@pytest.mark.parametrize("robot", ["omx", "so101"])
def test_an_operator_moves_an_arm_without_torque(robot: str) -> None:
    spec = load_robot_spec(robot)
    operator = ScriptedOperator(spec, 3)
    plant = ArmPlant(spec, hand=operator)
    clock = FakeClock()
    bus = emulated_bus(servo_configs(spec), plant, clock=clock)
    worst = 0.0
    for _ in range(400):
        clock.sleep(1 / 60)
        bus.tick()
        worst = max(worst, float(np.abs(plant.position - operator(plant.time)).max()))
    assert worst < 0.15


def test_a_scripted_fault_happens_on_a_served_arm(tmp_path: Path) -> None:
    script = parse_script("schema: 1\nfaults: [{fault: cable_pulled, at: 0.0}]")
    arm = EmulatedArm(load_robot_spec("so101"), tmp_path / "arm", faults=script)
    arm.open()
    try:
        assert (tmp_path / "arm").exists()
        assert arm.step_faults() == ["fault cable_pulled begins"]
        assert not (tmp_path / "arm").exists()
    finally:
        arm.close()


def test_a_robot_without_servos_cannot_be_emulated(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"panda.*offline only.*so101"):
        EmulatedArm(load_robot_spec("panda"), tmp_path / "arm")
