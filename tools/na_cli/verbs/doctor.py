# SPDX-License-Identifier: Apache-2.0
"""`./na doctor`: one page about ports, servos and this computer; changes nothing."""

from __future__ import annotations

import argparse
import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

from na_cli.emulated_setups import SETUPS, emulated_setup
from na_cli.registry import UsageError

HELP = "look for what would keep an arm from running: ports, servos, clock, disk, processor"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--robot", default="omx", help="robot name or robot file")
    parser.add_argument("--leader-port", default="", help="serial port of the leader")
    parser.add_argument("--follower-port", default="", help="serial port of the follower")
    parser.add_argument("--leader-calibration", default="", metavar="FILE")
    parser.add_argument("--follower-calibration", default="", metavar="FILE")
    parser.add_argument("--baud", type=int, default=0, help="bit/s; 0: the robot's own")
    parser.add_argument("--bag-dir", type=Path, default=Path("bags"), help="where bags will go")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the page as JSON")
    parser.add_argument(
        "--emulated",
        choices=sorted(SETUPS),
        help="examine an emulated follower instead: "
        + "; ".join(f"{name} ({text})" for name, text in SETUPS.items()).replace("%", "%%"),
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the page; 0 when nothing failed, 1 otherwise."""
    from na_core.robot_spec import RobotSpecError, load_robot_spec
    from na_teleop.buses.port_hints import candidate_ports
    from na_teleop.doctor import host
    from na_teleop.doctor.arm import check_arm, check_calibration
    from na_teleop.doctor.checks import Check, Page, Status
    from na_teleop.doctor.serial_port import check_port

    try:
        spec = load_robot_spec(arguments.robot)
    except RobotSpecError as error:
        raise UsageError(str(error)) from None
    page = Page()
    with _ports(arguments) as ports:
        if not ports:
            found = ", ".join(candidate_ports()) or "no serial port on this machine"
            remedy = "Name them: --leader-port …, --follower-port …"
            page.add([Check("ports", "given", Status.NOTE, f"none; {found}", remedy)])
        for role, port in ports.items():
            arm_spec = spec
            calibration = getattr(arguments, f"{role}_calibration")
            if calibration:
                arm_spec, rows = check_calibration(spec, calibration, role)
                page.add(rows)
            rows = check_port(port)
            page.add(rows)
            if all(row.status is not Status.FAIL for row in rows):
                page.add(check_arm(arm_spec, port, role, arguments.baud))
    page.add(host.check_clock())
    page.add(host.check_disk(arguments.bag_dir.absolute()))
    page.add(host.check_processor())
    page.add(host.check_wake_up())
    page.add(host.check_ros())
    print(page.text())
    if arguments.json is not None:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(page.as_dict(), indent=2) + "\n", encoding="utf-8")
    return 0 if page.ok else 1


@contextlib.contextmanager
def _ports(arguments: argparse.Namespace) -> Iterator[dict[str, str]]:
    """Role → port of the arms to examine."""
    given = {
        role: getattr(arguments, f"{role}_port")
        for role in ("leader", "follower")
        if getattr(arguments, f"{role}_port")
    }
    if arguments.emulated is None:
        yield given
        return
    if given:
        raise UsageError("--emulated examines an arm of its own: leave the ports away")
    with emulated_setup(arguments.robot, arguments.emulated) as port:
        yield {"follower": port}
