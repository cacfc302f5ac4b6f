# SPDX-License-Identifier: Apache-2.0
"""Serve the servos of a robot, without physics, until told to stop: a bench for SDKs and buses.

    python -m na_sim.serve --robot omx --link /tmp/servos

Any tool that speaks the protocol of the robot file may then open /tmp/servos. Ends on SIGTERM,
SIGINT or end of standard input.
"""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from collections.abc import Sequence
from types import FrameType

from na_core.robot_spec import load_robot_spec
from na_sim.emulated_servos import emulated_bus, kinematic_plant, servo_configs
from na_sim.wire.pty_port import PtyPort


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until a signal or the end of standard input; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--robot", default="omx", help="robot name or YAML file")
    parser.add_argument("--link", help="path to serve on (default: print the terminal's own)")
    parser.add_argument("--baud", type=int, help="speed of the servos [bit/s], default the robot's")
    parser.add_argument("--return-delay-us", type=int, default=0, help="reply delay [µs]")
    parser.add_argument("--no-wire-time", action="store_true", help="answer as fast as possible")
    options = parser.parse_args(argv)

    spec = load_robot_spec(options.robot)
    servos = servo_configs(spec, baud=options.baud, return_delay_us=options.return_delay_us)
    bus = emulated_bus(servos, kinematic_plant(spec))
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
