# SPDX-License-Identifier: Apache-2.0
"""Kills the recorder at random moments (SIGKILL) and counts what `recover` cannot bring back."""

from __future__ import annotations

import argparse
import bisect
import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from na_cli.report import print_table

KEYS = ("kills", "messages_lost_max", "messages_lost_median", "episodes_unreadable")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this bench."""
    parser.add_argument("--kills", type=int, default=50, help="how often to kill (default 50)")
    parser.add_argument("--rate", type=float, default=60.0, help="telemetry of both arms [Hz]")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random moments")


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Kill `arguments.kills` recorders, recover each episode, return the figures."""
    from na_cli.bench import _recorder_rig as rig

    rig.isolate(killing=True)
    rng = random.Random(arguments.seed)
    arms = rig.Arms(arguments.rate)
    lost: list[int] = []
    unreadable = 0
    per_second = arguments.rate * len(rig.TOPICS)
    try:
        with tempfile.TemporaryDirectory(prefix="na-bench-crash-") as folder:
            for number in range(arguments.kills):
                out_dir = Path(folder) / f"run{number:03d}"
                out_dir.mkdir()
                missing = _kill_once(out_dir, arms, rng.uniform(0.0, 3.0))
                if missing is None:
                    unreadable += 1
                else:
                    lost.append(missing)
                print(f"  kill {number + 1}/{arguments.kills}: lost {missing}", flush=True)
    finally:
        arms.close()
    worst, median = max(lost, default=0), statistics.median(lost) if lost else 0
    print_table(
        f"{arguments.kills} kills at {arguments.rate:g} Hz, {per_second:g} messages/s",
        ("figure", "messages", "seconds' worth"),
        [
            ("lost per kill, median", median, median / per_second),
            ("lost per kill, max", worst, worst / per_second),
            ("allowed", per_second, 1.0),
            ("episodes unreadable", unreadable, None),
        ],
    )
    return {
        "kills": arguments.kills,
        "messages_lost_max": worst,
        "messages_lost_median": median,
        "episodes_unreadable": unreadable,
        "messages_per_second": per_second,
        "seconds_lost_max": worst / per_second,
        "seconds_lost_median": median / per_second,
    }


def _kill_once(out_dir: Path, arms: Any, delay: float) -> int | None:
    """Record, kill `delay` [s] after the first chunk is on disk, recover; returns messages lost.

    Lost is what was published on the four topics before the kill and is missing after recovery,
    counted per topic from its first message that was recorded (discovery takes its time). None
    when the episode cannot be read.
    """
    from na_cli.bench import _recorder_rig as rig
    from na_core.nad.errors import NadError
    from na_core.nad.reader import read_episode
    from na_core.nad.recover import recover

    process = rig.start_recorder(out_dir)
    try:
        rig.wait_until_recording(process, out_dir)
        time.sleep(delay)
        sent = arms.sent()
    finally:
        process.kill()
        process.wait()
    parts = list(out_dir.glob(".*.part"))
    try:
        report = recover(parts[0])
        episode = read_episode(report.output)
    except (NadError, IndexError) as error:
        print(f"  unreadable: {error}")
        return None
    missing = 0
    for topic in rig.TOPICS:
        track = episode.tracks.get(topic)
        if track is None or not len(track):
            return None
        first = bisect.bisect_left(sent, int(track.stamp_ns[0]))
        missing += max(0, len(sent) - first - len(track))
    return missing
