# SPDX-License-Identifier: Apache-2.0
"""Serve the servos of a robot, without physics, until told to stop: a bench for SDKs and buses.

    python -m na_sim.dynamixel.serve --robot omx --link /tmp/servos

Any Dynamixel tool may then open /tmp/servos. Ends on SIGTERM, SIGINT or end of standard input.
"""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from collections.abc import Sequence
from types import FrameType

from na_core.robot_spec import RobotSpec, load_robot_spec
from na_sim.dynamixel.bus_emulator import BusEmulator
from na_sim.dynamixel.servo_config import ServoConfig
from na_sim.wire.kinematic_plant import KinematicPlant
from na_sim.wire.pty_port import PtyPort


def servos_of(spec: RobotSpec, baud: int, return_delay_us: int = 0) -> list[ServoConfig]:
    """Return one healthy servo per joint of `spec`, in joint order; ValueError if it has none."""
    if spec.bus is None or spec.bus.protocol != "dynamixel2":
        raise ValueError(f"robot {spec.robot!r} has no Dynamixel bus; choose another, e.g. omx")
    return [
        ServoConfig(
            id=joint.servo.id,
            model=joint.servo.model,
            baud=baud,
            return_delay_us=return_delay_us,
        )
        for joint in spec.joints
        if joint.servo is not None
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until a signal or the end of standard input; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--robot", default="omx", help="robot name or YAML file")
    parser.add_argument("--link", help="path to serve on (default: print the terminal's own)")
    parser.add_argument("--baud", type=int, default=1_000_000, help="speed of the servos [bit/s]")
    parser.add_argument("--return-delay-us", type=int, default=0, help="reply delay [µs]")
    parser.add_argument("--no-wire-time", action="store_true", help="answer as fast as possible")
    options = parser.parse_args(argv)

    servos = servos_of(load_robot_spec(options.robot), options.baud, options.return_delay_us)
    bus = BusEmulator(servos, KinematicPlant(len(servos)))
    port = PtyPort(bus, options.link, realistic_timing=not options.no_wire_time)
    over = threading.Event()

    def stop(number: int, frame: FrameType | None) -> None:
        over.set()

    def follow_input() -> None:
        sys.stdin.read()
        over.set()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    with port:
        print(port.path, flush=True)
        threading.Thread(target=follow_input, daemon=True).start()
        over.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
