# SPDX-License-Identifier: Apache-2.0
"""Long recording of two fast arms: drops by sequence, CPU and memory of the recorder."""

from __future__ import annotations

import argparse
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

from na_cli.report import print_table

KEYS = ("seconds", "rate", "drops", "cpu_percent", "memory_growth_mb", "messages")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this bench."""
    parser.add_argument("--seconds", type=float, default=600.0, help="length (default 600)")
    parser.add_argument("--rate", type=float, default=200.0, help="telemetry of both arms [Hz]")


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Record for `arguments.seconds`, print the table, return the figures."""
    import psutil

    from na_cli.bench import _recorder_rig as rig
    from na_core.nad.reader import find_episodes, read_episode

    rig.isolate(killing=False)
    arms = rig.Arms(arguments.rate)
    with tempfile.TemporaryDirectory(prefix="na-bench-soak-") as folder:
        out_dir = Path(folder) / "bags"
        out_dir.mkdir()
        process = rig.start_recorder(out_dir)
        try:
            rig.wait_until_recording(process, out_dir)
            watched = psutil.Process(process.pid)
            begin, busy = time.monotonic(), sum(watched.cpu_times()[:2])
            settle = min(10.0, arguments.seconds / 4.0)
            time.sleep(settle)
            memory = watched.memory_info().rss
            time.sleep(max(0.0, arguments.seconds - settle))
            growth = watched.memory_info().rss - memory
            spent = sum(watched.cpu_times()[:2]) - busy
            elapsed = time.monotonic() - begin
            process.send_signal(signal.SIGINT)
            process.wait(20.0)
        finally:
            if process.poll() is None:
                process.kill()
            arms.close()
        episode = read_episode(next(iter(find_episodes(out_dir))))
        info = episode.info
        drops = sum(info.missed)
        counts = {topic: len(episode.tracks[topic]) for topic in rig.TOPICS}
        where = _drops(episode)
    cpu = 100.0 * spent / elapsed
    rows: list[tuple[str, Any]] = [
        ("seconds", elapsed),
        ("telemetry per arm [Hz]", arguments.rate),
        ("messages", sum(counts.values())),
        ("drops by sequence", drops),
        ("recorder CPU [% of one core]", cpu),
        ("memory growth [MB]", growth / 1e6),
    ]
    rows += [(f"{topic} messages", count) for topic, count in counts.items()]
    rows += [(f"{topic} dropped {lost} at [s]", at) for topic, at, lost in where]
    print_table("Recorder soak", ("figure", "value"), rows)
    return {
        "seconds": elapsed,
        "rate": arguments.rate,
        "drops": drops,
        "cpu_percent": cpu,
        "memory_growth_mb": growth / 1e6,
        "messages": sum(counts.values()),
        "messages_by_topic": counts,
        "drops_at": where,
    }


def _drops(episode: Any) -> list[tuple[str, float, int]]:
    """Return (topic, seconds into the episode, messages) of every gap in `sequence`."""
    import numpy as np

    found = []
    for topic, track in episode.tracks.items():
        if hasattr(track, "sequence"):
            step = np.diff(track.sequence.astype(np.int64)) - 1
            found += [
                (topic, float(track.seconds[i + 1]), int(step[i])) for i in np.flatnonzero(step)
            ]
    return found
