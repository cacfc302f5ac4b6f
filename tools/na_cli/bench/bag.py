# SPDX-License-Identifier: Apache-2.0
"""NAD bags: reading cold and from the cache against per-message deserialisation, write cost."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from na_cli.report import print_table

KEYS = (
    "read_ratio",
    "read_ratio_cold",
    "load_seconds_cold",
    "load_seconds_warm",
    "write_us_per_message",
    "rosbags_us_per_message",
    "mcap_ros2_us_per_message",
    "messages",
    "minutes",
)

PAPER_MINUTES = 94.5
RATE = 58.6
EPISODE_SECONDS = 30.0
COMPARED_MINUTES = 5.0
"""Length of the one file on which readers are compared: opening it must not count for much."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this bench."""
    parser.add_argument(
        "--minutes", type=float, default=PAPER_MINUTES, help="length of the made-up data set"
    )
    parser.add_argument("--data", type=Path, help="load this folder of bags instead")


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Write the data set, read it in every way, print the table and return the figures."""
    with tempfile.TemporaryDirectory(prefix="na-bench-bag-") as folder:
        return _measure(Path(folder), arguments.minutes, arguments.data)


def _measure(folder: Path, minutes: float, data: Path | None) -> dict[str, Any]:
    from na_core.nad.example import Example, write_example
    from na_core.nad.raw_bag import message_counts
    from na_core.nad.reader import find_episodes, load_episode, read_episode

    write_us = _write_cost(folder / "timed")
    paths = list(find_episodes(data)) if data else _write(folder / "data", minutes)
    messages = sum(sum((message_counts(path) or {}).values()) for path in paths)
    cache = folder / "cache"
    compared = min(COMPARED_MINUTES, minutes)
    long = write_example(folder / "long", Example(seconds=60.0 * compared, rate=RATE))
    size = sum((message_counts(long) or {}).values())
    load_episode(long, cache_dir=cache)
    rosbags = _per_message(_rosbags, long, size)
    plain = _per_message(_mcap_ros2, long, size)
    filled = _per_message(_rosbags_arrays, long, size)
    filled_mcap = _per_message(_mcap_ros2_arrays, long, size)
    cold = _per_message(lambda path: read_episode(path), long, size)
    warm = _per_message(lambda path: load_episode(path, cache_dir=cache), long, size)
    start, span = time.perf_counter(), 0.0
    for path in paths:
        span += _length(load_episode(path, cache_dir=cache))
    cold_seconds = time.perf_counter() - start
    start = time.perf_counter()
    for path in paths:
        load_episode(path, cache_dir=cache)
    warm_seconds = time.perf_counter() - start
    rows = [
        ("rosbags, one object per message", rosbags, 1.0),
        ("mcap-ros2-support, one object per message", plain, rosbags / plain),
        ("rosbags, objects copied into arrays", filled, rosbags / filled),
        ("mcap-ros2-support, objects copied into arrays", filled_mcap, rosbags / filled_mcap),
        ("ours, cold, into arrays", cold, rosbags / cold),
        ("ours, from the cache (hash checked)", warm, rosbags / warm),
    ]
    minutes = span / 60.0
    title = f"Reading one file of {size:,} messages, {compared:.1f} min"
    print_table(title, ("reader", "us per message", "ratio to rosbags"), rows)
    print_table(
        f"Loading {messages:,} messages in {len(paths)} episodes, {minutes:.1f} min",
        ("what", "seconds"),
        [("load cold, filling the cache", cold_seconds), ("load warm", warm_seconds)],
    )
    print_table("Writing", ("what", "us per message"), [("EpisodeWriter.write", write_us)])
    return {
        "read_ratio": rosbags / warm,
        "read_ratio_cold": rosbags / cold,
        "load_seconds_cold": cold_seconds,
        "load_seconds_warm": warm_seconds,
        "write_us_per_message": write_us,
        "rosbags_us_per_message": rosbags,
        "mcap_ros2_us_per_message": plain,
        "rosbags_arrays_us_per_message": filled,
        "mcap_ros2_arrays_us_per_message": filled_mcap,
        "cold_us_per_message": cold,
        "warm_us_per_message": warm,
        "messages": messages,
        "minutes": minutes,
    }


def _write(folder: Path, minutes: float) -> list[Path]:
    """Write made-up episodes of `minutes` in all."""
    from na_core.nad.example import Example, write_example

    return [
        write_example(
            folder / f"episode_{number:04d}",
            Example(seconds=EPISODE_SECONDS, rate=RATE, seed=number),
        )
        for number in range(max(1, round(minutes * 60.0 / EPISODE_SECONDS)))
    ]


def _write_cost(path: Path) -> float:
    """Return the cost of EpisodeWriter.write, closing included [us per message]."""
    from na_core.nad.example import Example, messages
    from na_core.nad.layout import TOPICS_BY_NAME
    from na_core.nad.writer import EpisodeWriter

    ready = list(messages(Example(seconds=EPISODE_SECONDS, rate=RATE)))
    start = time.perf_counter()
    with EpisodeWriter(path) as writer:
        for name in {name for name, _, _ in ready}:
            writer.add_topic(name, TOPICS_BY_NAME[name].type)
        for name, stamp, cdr in ready:
            writer.write(name, stamp, cdr)
    return (time.perf_counter() - start) / len(ready) * 1e6


def _length(episode: Any) -> float:
    """Return the length of an episode [s]."""
    track = episode.primary()
    return float(track.seconds[-1]) if track is not None and len(track) else 0.0


def _per_message(read: Callable[[Path], object], path: Path, count: int) -> float:
    """Return the best of three passes over `path` [us per message]."""
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        read(path)
        best = min(best, time.perf_counter() - start)
    return best / count * 1e6


def _rosbags(path: Path) -> None:
    from rosbags.highlevel import AnyReader

    with AnyReader([path]) as reader:
        for connection, _, raw in reader.messages():
            reader.deserialize(raw, connection.msgtype)


def _rosbags_arrays(path: Path) -> None:
    from rosbags.highlevel import AnyReader

    columns: dict[str, dict[str, list[Any]]] = {}
    with AnyReader([path]) as reader:
        for connection, _, raw in reader.messages():
            message = reader.deserialize(raw, connection.msgtype)
            _collect(columns.setdefault(connection.topic, {}), message)
    _stack(columns)


def _mcap_ros2(path: Path) -> None:
    from mcap.reader import make_reader
    from mcap_ros2.decoder import DecoderFactory

    for file in path.glob("*.mcap"):
        with file.open("rb") as stream:
            reader = make_reader(stream, decoder_factories=[DecoderFactory()])
            for _ in reader.iter_decoded_messages():
                pass


def _mcap_ros2_arrays(path: Path) -> None:
    from mcap.reader import make_reader
    from mcap_ros2.decoder import DecoderFactory

    columns: dict[str, dict[str, list[Any]]] = {}
    for file in path.glob("*.mcap"):
        with file.open("rb") as stream:
            reader = make_reader(stream, decoder_factories=[DecoderFactory()])
            for _, channel, _, message in reader.iter_decoded_messages():
                _collect(columns.setdefault(channel.topic, {}), message)
    _stack(columns)


_FIELDS = (
    *("goal_requested", "goal_sent", "goal_register", "position", "velocity", "current"),
    *("load", "voltage", "temperature", "sequence", "stale"),
)


def _collect(columns: dict[str, list[Any]], message: Any) -> None:
    for name in _FIELDS:
        value = getattr(message, name, None)
        if value is not None:
            columns.setdefault(name, []).append(value)


def _stack(columns: dict[str, dict[str, list[Any]]]) -> None:
    import numpy as np

    for fields in columns.values():
        for values in fields.values():
            np.asarray(values)
