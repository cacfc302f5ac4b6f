# SPDX-License-Identifier: Apache-2.0
"""`./na calibrate`: zero, direction, range and linkage of one arm, into a file with a hash."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from na_cli.environment import Workspace
from na_cli.registry import UsageError
from na_cli.report import print_table
from na_core.calibration import (
    Calibration,
    CalibrationError,
    apply_calibration,
    check_pair,
    load_calibration,
    write_calibration,
)
from na_core.calibration_import import import_lerobot
from na_core.robot_spec import RobotSpec, RobotSpecError, load_robot_spec

HELP = "measure an arm's zero, directions and ranges by moving it by hand"

FOLDER = "calibration"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--robot", default="omx", help="robot name or robot file")
    parser.add_argument("--arm", choices=("leader", "follower"), default="follower")
    parser.add_argument("--port", default="", help="serial port of the arm")
    parser.add_argument("--baud", type=int, default=0, help="bit/s; 0: the robot's own")
    parser.add_argument("--out", type=Path, metavar="FILE", help="calibration/ROBOT-ARM.yaml")
    parser.add_argument(
        "--travel-mm", type=float, metavar="MM", help="measured travel of one gripper finger"
    )
    parser.add_argument(
        "--import-lerobot", type=Path, metavar="JSON", help="convert LeRobot's file instead"
    )
    parser.add_argument("--accept", type=Path, metavar="FILE", help="rewrite a changed file's hash")
    parser.add_argument(
        "--check",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="check one file, or a leader's and a follower's together",
    )
    parser.add_argument("--emulated", action="store_true", help="an emulated hand moves the arm")
    parser.add_argument(
        "--turned",
        action="append",
        default=[],
        metavar="JOINT=COUNTS",
        help="with --emulated: a horn mounted that far off",
    )
    parser.add_argument(
        "--flipped",
        action="append",
        default=[],
        metavar="JOINT",
        help="with --emulated: a servo mounted the other way round",
    )


def run(arguments: argparse.Namespace) -> int:
    """Make, import, accept or check a calibration; 1 when it is refused."""
    from na_teleop.buses.errors import BusError
    from na_teleop.calibration.run import CalibrationRefusedError, StepError
    from na_teleop.preflight_report import PreflightError

    try:
        if arguments.accept is not None:
            accepted = load_calibration(arguments.accept, check_hash=False)
            _check_fits_itself(accepted)
            return _written(write_calibration(arguments.accept, accepted))
        if arguments.check is not None:
            return _check(arguments.check)
        spec = load_robot_spec(arguments.robot)
        if arguments.import_lerobot is not None:
            calibration = import_lerobot(arguments.import_lerobot, spec, arguments.arm)
        elif arguments.emulated:
            calibration = _emulated(spec, arguments)
        else:
            calibration = _guided(spec, arguments)
        apply_calibration(spec, calibration, arguments.arm)
    except (
        CalibrationError,
        CalibrationRefusedError,
        RobotSpecError,
        StepError,
        BusError,
        PreflightError,
        EOFError,
    ) as error:
        print(f"{type(error).__name__}: {error}")
        return 1
    _print(spec, calibration)
    return _written(write_calibration(_path(spec, arguments), calibration))


def _path(spec: RobotSpec, arguments: argparse.Namespace) -> Path:
    default = Workspace.here().root / FOLDER / f"{spec.robot}-{arguments.arm}.yaml"
    return Path(arguments.out or default)


def _written(calibration: Calibration) -> int:
    print(f"wrote {calibration.path}\nhash {calibration.hash}")
    print(f"use it: calibration:={calibration.path} for the {calibration.arm}'s node")
    return 0


def _check_fits_itself(calibration: Calibration) -> None:
    apply_calibration(load_robot_spec(calibration.robot), calibration, calibration.arm)


def _check(files: Sequence[Path]) -> int:
    if len(files) > 2:
        raise UsageError(f"--check takes one or two files, got {len(files)}")
    loaded = [load_calibration(path) for path in files]
    for calibration in loaded:
        _check_fits_itself(calibration)
    if len(loaded) == 2:
        check_pair(loaded[0], loaded[1])
    for calibration in loaded:
        print(f"{calibration.path}: {calibration.arm} of {calibration.robot}, {calibration.hash}")
    return 0


def _guided(spec: RobotSpec, arguments: argparse.Namespace) -> Calibration:
    from na_cli.calibrate_guides import TerminalGuide
    from na_teleop.arm_start import ArmParameters, start_bus
    from na_teleop.buses.dynamixel_settings import Role
    from na_teleop.calibration.run import CalibrationRun

    if not arguments.port:
        raise UsageError("--port is missing: the arm's serial port, or --emulated to try it out")
    bus = start_bus(
        spec,
        ArmParameters(spec.robot, arguments.port, arguments.baud, 0.0, 0.0),
        Role.LEADER,  # read only: an arm that is calibrated is moved by hand
    )
    try:
        return CalibrationRun(bus, arguments.arm, TerminalGuide(), travel=_travel(arguments)).run(
            "guided"
        )
    finally:
        bus.close()


def _travel(arguments: argparse.Namespace) -> float | None:
    return None if arguments.travel_mm is None else arguments.travel_mm * 1e-3


def _emulated(spec: RobotSpec, arguments: argparse.Namespace) -> Calibration:
    from na_cli.calibrate_guides import EmulatedGuide, built_differently
    from na_sim.emulated_arm import EmulatedArm
    from na_sim.guided_hand import GuidedHand
    from na_teleop.arm_start import ArmParameters, start_bus
    from na_teleop.buses.dynamixel_settings import Role
    from na_teleop.calibration.run import CalibrationRun

    try:
        built = built_differently(spec, _turned(arguments.turned), tuple(arguments.flipped))
    except KeyError as error:
        raise UsageError(str(error.args[0])) from None
    with tempfile.TemporaryDirectory(prefix="na-calibrate-") as folder:
        port = str(Path(folder) / arguments.arm)
        arm = EmulatedArm(built, port)
        hand = GuidedHand(built, lambda: arm.plant.position)
        table = arm.plant.core.models[0].geom("table")  # the arm hangs over the edge of its bench
        table.contype = table.conaffinity = 0
        arm.plant.set_hand(hand)
        arm.open()
        bus = None
        try:
            bus = start_bus(spec, ArmParameters(spec.robot, port, 0, 5.0, 0.0), Role.LEADER)
            guide = EmulatedGuide(built, hand)
            run = CalibrationRun(bus, arguments.arm, guide, travel=_travel(arguments))
            return run.run("emulated hand")
        finally:
            if bus is not None:
                bus.close()
            arm.close()


def _turned(entries: Sequence[str]) -> dict[str, int]:
    turned = {}
    for entry in entries:
        name, _, counts = entry.partition("=")
        try:
            turned[name] = int(counts)
        except ValueError:
            raise UsageError(f"--turned {entry}: expected JOINT=COUNTS") from None
    return turned


def _print(spec: RobotSpec, calibration: Calibration) -> None:
    rows = []
    for joint, (name, found) in zip(spec.joints, calibration.joints.items(), strict=True):
        low, high = found.limits
        zero = 0 if joint.servo is None else found.zero_count - joint.servo.zero_count
        counts = [found.zero_count, zero, found.range_min, found.range_max]
        rows.append([name, found.id, found.sign, *counts, low, high, found.ratio])
    print_table(
        f"{calibration.arm} of {calibration.robot} ({calibration.source})",
        ["joint", "id", "sign", "zero", "off by", "from", "to", "lower", "upper", "ratio"],
        rows,
    )
