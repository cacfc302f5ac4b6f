# SPDX-License-Identifier: Apache-2.0
"""Ticks per second of a five-servo read and goal write, beside what the wire allows."""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from na_cli.report import print_table

if TYPE_CHECKING:
    from na_core.robot_spec import RobotSpec

KEYS = ("ticks_per_s", "ratio_to_wire_limit", "wire_limit_per_s", "bytes_per_tick")

BITS_PER_BYTE = 10  # start, eight data, stop
_NO_WIRE = "none"  # key of the line without wire time
_START_TIMEOUT = 20.0  # s for the emulator to come up
_WARM_UP = 20  # ticks not counted


@dataclass(frozen=True)
class Line:
    """One emulated line: its speed [bit/s] and whether bytes take their time on it."""

    baud: int
    wire_time: bool

    @property
    def key(self) -> str:
        """Name in the JSON file."""
        return str(self.baud) if self.wire_time else _NO_WIRE

    @property
    def text(self) -> str:
        """Name in the table."""
        return f"{self.baud / 1e6:g} Mbit/s" if self.wire_time else "no wire time"


@dataclass
class Result:
    """What one line achieved with one kind of read."""

    line: Line
    read: str
    bytes_per_tick: int
    periods: list[float] = field(default_factory=list)  # s, one per tick
    failed: int = 0  # ticks in which a servo did not answer

    @property
    def ticks_per_s(self) -> float:
        """Mean rate over the run."""
        return len(self.periods) / sum(self.periods)

    @property
    def wire_limit_per_s(self) -> float | None:
        """Rate at which the bytes alone fill the line; None without wire time."""
        if not self.line.wire_time:
            return None
        return self.line.baud / (BITS_PER_BYTE * self.bytes_per_tick)

    @property
    def ratio(self) -> float | None:
        """Share of the wire's own limit that was reached."""
        limit = self.wire_limit_per_s
        return None if limit is None else self.ticks_per_s / limit

    def period_ms(self, share: float) -> float:
        """Return the period that `share` of the ticks kept [ms]."""
        ordered = sorted(self.periods)
        return 1e3 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def bytes_per_tick(servos: int, read_length: int, *, fast: bool, goal_length: int = 4) -> int:
    """Return instruction and status bytes of one read and one goal write, none of them stuffed."""
    frame = 10  # header 4, id 1, length 2, instruction 1, CRC 2
    read_instruction = frame + 4 + servos
    shared_status = 8 + servos * (4 + read_length)  # one head; error, id, data, CRC of each
    own_statuses = servos * (frame + 1 + read_length)
    read_status = shared_status if fast else own_statuses
    write_instruction = frame + 4 + servos * (1 + goal_length)
    return read_instruction + read_status + write_instruction


def feetech_bytes_per_tick(servos: int, read_length: int, *, goal_length: int = 2) -> int:
    """Return the bytes of one heartbeat, read and goal write of STS servos."""
    frame = 6  # header 2, id, length, instruction or error, checksum
    write_instruction = frame + 2 + servos * (1 + goal_length)
    read_instruction = frame + 2 + servos
    return 2 * write_instruction + read_instruction + servos * (frame + read_length)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the bench."""
    parser.add_argument("--robot", default="omx", help="robot whose servos are read")
    parser.add_argument("--seconds", type=float, default=3.0, help="length of each run [s]")


@contextlib.contextmanager
def emulator(robot: str, line: Line) -> Iterator[str]:
    """Run the emulated servos in a process of their own; yield the path of their port."""
    with tempfile.TemporaryDirectory(prefix="na_bench_bus") as folder:
        link = Path(folder) / "servos"
        command = [sys.executable, "-m", "na_sim.serve", "--robot", robot]
        command += ["--link", str(link), "--baud", str(line.baud)]
        if not line.wire_time:
            command.append("--no-wire-time")
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            end = time.monotonic() + _START_TIMEOUT
            while not link.is_symlink():
                if process.poll() is not None or time.monotonic() > end:
                    raise RuntimeError(
                        f"the emulator did not open {link} within {_START_TIMEOUT:g} s "
                        f"(exit code {process.poll()}); run it by hand: {' '.join(command)}"
                    )
                time.sleep(0.02)
            yield str(link)
        finally:
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()
            try:
                process.wait(5.0)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def is_feetech(spec: RobotSpec) -> bool:
    """Whether the robot's servos speak Feetech's protocol."""
    return spec.bus is not None and spec.bus.protocol == "feetech"


def measure(spec: RobotSpec, robot: str, line: Line, fast: bool, seconds: float) -> Result:
    """Read all servos and write all goals as fast as the bus lets us for `seconds`."""
    from na_teleop.buses import dynamixel_reply, feetech_reply
    from na_teleop.buses.dynamixel import DynamixelBus, DynamixelOptions
    from na_teleop.buses.feetech import FeetechBus, FeetechOptions

    feetech = is_feetech(spec)
    if feetech:
        size = feetech_bytes_per_tick(spec.n, feetech_reply.READ_LENGTH)
    else:
        size = bytes_per_tick(spec.n, dynamixel_reply.READ_LENGTH, fast=fast)
    result = Result(line=line, read="fast" if fast else "plain", bytes_per_tick=size)
    with emulator(robot, line) as path:
        bus: DynamixelBus | FeetechBus
        if feetech:
            bus = FeetechBus(spec, path, FeetechOptions(baud=line.baud))
        else:
            bus = DynamixelBus(spec, path, DynamixelOptions(baud=line.baud, fast_sync_read=fast))
        bus.open()
        try:
            goal = bus.read().position
            for _ in range(_WARM_UP):
                bus.read()
                bus.write_goal(goal)
            end = time.monotonic() + seconds
            last = time.monotonic()
            while last < end:
                sample = bus.read()
                bus.write_goal(goal)
                now = time.monotonic()
                result.periods.append(now - last)
                result.failed += not sample.valid.all()
                last = now
        finally:
            bus.close()
    return result


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Measure every line with fast and plain reads, print the table, return the figures."""
    from na_core.robot_spec import load_robot_spec

    spec = load_robot_spec(args.robot)
    lines = [Line(1_000_000, True), Line(4_000_000, True), Line(1_000_000, False)]
    if is_feetech(spec):
        lines = [Line(1_000_000, True), Line(1_000_000, False)]  # its fastest
    fast_lines = [] if is_feetech(spec) else lines  # that family has no shared answer
    fast = [measure(spec, args.robot, line, True, args.seconds) for line in fast_lines]
    plain = [measure(spec, args.robot, line, False, args.seconds) for line in lines]
    print_table(
        f"{spec.n}-servo read + goal write ({args.robot}, emulated)",
        ["line", "read", "bytes", "wire limit/s", "ticks/s", "ratio", "p50 ms", "p99 ms", "failed"],
        [
            [
                r.line.text,
                r.read,
                r.bytes_per_tick,
                r.wire_limit_per_s,
                r.ticks_per_s,
                r.ratio,
                r.period_ms(0.50),
                r.period_ms(0.99),
                r.failed,
            ]
            for r in fast + plain
        ],
    )

    def by_line(results: list[Result], name: str) -> dict[str, Any]:
        return {r.line.key: getattr(r, name) for r in results}

    best = fast or plain
    return {
        "robot": args.robot,
        "servos": spec.n,
        "ticks_per_s": by_line(best, "ticks_per_s"),
        "ratio_to_wire_limit": by_line(best, "ratio"),
        "wire_limit_per_s": by_line(best, "wire_limit_per_s"),
        "bytes_per_tick": best[0].bytes_per_tick,
        "failed_ticks": by_line(best, "failed"),
        "period_ms_p99": {r.line.key: r.period_ms(0.99) for r in best},
        "plain_sync_read": {
            "ticks_per_s": by_line(plain, "ticks_per_s"),
            "ratio_to_wire_limit": by_line(plain, "ratio"),
            "wire_limit_per_s": by_line(plain, "wire_limit_per_s"),
            "bytes_per_tick": plain[0].bytes_per_tick,
            "failed_ticks": by_line(plain, "failed"),
        },
    }
