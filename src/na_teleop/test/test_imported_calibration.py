# SPDX-License-Identifier: Apache-2.0
"""LeRobot's calibration of an SO-101 on emulated servos: counts, offsets, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from na_core.calibration import apply_calibration
from na_core.calibration_import import import_lerobot
from na_core.robot_spec import RobotSpec, load_robot_spec
from na_sim.emulated_servos import emulated_bus, kinematic_plant, servo_configs
from na_sim.wire.pty_port import PtyPort
from na_teleop.arm_start import ArmParameters, start_bus
from na_teleop.buses.dynamixel_settings import Role
from na_teleop.preflight_report import PreflightError

OFFSET, LOW, HIGH = 40, 800, 3300
Serve = Callable[[int], str]


@pytest.fixture
def calibrated(tmp_path: Path) -> RobotSpec:
    """so101 with an imported calibration."""
    spec = load_robot_spec("so101")
    rows = {
        joint.name: {
            "id": joint.servo.id,
            "drive_mode": 0,
            "homing_offset": OFFSET,
            "range_min": LOW,
            "range_max": HIGH,
        }
        for joint in spec.joints
        if joint.servo is not None
    }
    path = tmp_path / "so101.json"
    path.write_text(json.dumps(rows))
    return apply_calibration(spec, import_lerobot(path, spec, "leader"), "leader")


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """A maker of emulated arms whose servos hold a homing offset."""
    spec = load_robot_spec("so101")
    ports: list[PtyPort] = []

    def make(offset: int) -> str:
        configs = tuple(
            replace(c, registers={**c.registers, "homing_offset": offset})
            for c in servo_configs(spec)
        )
        plant = kinematic_plant(spec, np.full(spec.n, 2048, dtype=np.int64))
        port = PtyPort(emulated_bus(configs, plant), str(tmp_path / "arm"), realistic_timing=False)
        port.open()
        ports.append(port)
        return port.path

    yield make
    for port in ports:
        port.close()


def test_positions_follow_lerobots_counts(serve: Serve, calibrated: RobotSpec) -> None:
    """The servo subtracts its offset; the middle of LeRobot's range is joint zero."""
    bus = start_bus(calibrated, ArmParameters("so101", serve(OFFSET), 0, 0.0, 0.0), Role.LEADER)
    try:
        position = bus.read().position
    finally:
        bus.close()
    reported = 2048 - OFFSET
    expected = (reported - (LOW + HIGH) / 2) * 2 * np.pi / 4096
    np.testing.assert_allclose(position[:5], expected, atol=1e-9)
    gripper = calibrated.joints[5]
    assert position[5] - load_robot_spec("so101").lower[5] == pytest.approx(
        (reported - LOW) * 2 * np.pi / 4096, abs=2e-3
    )
    assert gripper.servo is not None and gripper.servo.homing_offset == OFFSET


def test_servos_without_the_files_offset_are_refused(serve: Serve, calibrated: RobotSpec) -> None:
    with pytest.raises(PreflightError, match=rf"homing_offset: is 0 in id 1.*expected {OFFSET}"):
        start_bus(calibrated, ArmParameters("so101", serve(0), 0, 0.0, 0.0), Role.LEADER)
