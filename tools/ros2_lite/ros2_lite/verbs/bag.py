# SPDX-License-Identifier: Apache-2.0
"""Look at bags."""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

import yaml

from ..cli import add_verbs


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    verb = add_verbs(parser).add_parser("info", help="what a bag holds")
    verb.add_argument("bag_path", type=Path, help="folder of a bag, or one .mcap file")
    verb.set_defaults(main=info)


@dataclass(frozen=True)
class BagSummary:
    """What `ros2 bag info` tells; times in ns since 1970."""

    files: list[str]
    size: int
    storage: str
    distro: str
    start: int
    end: int
    messages: int
    topics: list[tuple[str, str, int, str]]  # name, type, count, serialization


def summarize_folder(path: Path) -> BagSummary:
    """Read metadata.yaml and the bag itself through `rosbags`; RuntimeError where it is no bag."""
    from rosbags.rosbag2 import Reader, ReaderError

    try:
        with Reader(path) as reader:
            topics = sorted(
                (c.topic, c.msgtype, c.msgcount, getattr(c.ext, "serialization_format", "?"))
                for c in reader.connections
            )
            metadata = yaml.safe_load((path / "metadata.yaml").read_text(encoding="utf-8"))
            head = metadata["rosbag2_bagfile_information"]
            return BagSummary(
                files=[Path(name).name for name in head["relative_file_paths"]],
                size=sum(
                    (path / Path(name).name).stat().st_size for name in head["relative_file_paths"]
                ),
                storage=head["storage_identifier"],
                distro=head.get("ros_distro", ""),
                # rosbags names the first instant after the bag, and far-off ones for an empty bag.
                start=reader.start_time if reader.message_count else 0,
                end=reader.end_time - 1 if reader.message_count else 0,
                messages=reader.message_count,
                topics=topics,
            )
    except (ReaderError, OSError, KeyError, yaml.YAMLError) as error:
        hint = "" if (path / "metadata.yaml").is_file() else " (was its recorder killed?)"
        raise RuntimeError(f"cannot read a bag at '{path}': {error}{hint}") from error


def summarize_file(path: Path) -> BagSummary:
    """Read the summary of one .mcap file through `mcap`; RuntimeError where it has none."""
    from mcap.exceptions import McapError
    from mcap.reader import make_reader

    try:
        with path.open("rb") as stream:
            reader = make_reader(stream)
            summary = reader.get_summary()
    except (McapError, OSError) as error:
        raise RuntimeError(f"cannot read '{path}': {error}") from error
    if summary is None or summary.statistics is None:
        raise RuntimeError(f"'{path}' has no summary: it was not closed; recover it first")
    counts = summary.statistics.channel_message_counts
    topics = sorted(
        (
            channel.topic,
            summary.schemas[channel.schema_id].name if channel.schema_id else "",
            counts.get(channel.id, 0),
            channel.message_encoding,
        )
        for channel in summary.channels.values()
    )
    return BagSummary(
        files=[path.name],
        size=path.stat().st_size,
        storage="mcap",
        distro="",
        start=summary.statistics.message_start_time,
        end=summary.statistics.message_end_time,
        messages=summary.statistics.message_count,
        topics=topics,
    )


def format_size(size: int) -> str:
    """Return a number of bytes in the largest fitting unit."""
    value, units = float(size), ["B", "KiB", "MiB", "GiB", "TiB"]
    while value >= 1024.0 and len(units) > 1:
        value /= 1024.0
        units.pop(0)
    return f"{size} B" if units[0] == "B" else f"{value:.1f} {units[0]}"


def format_time(stamp: int) -> str:
    """Return local time and seconds since 1970, both to the nanosecond."""
    seconds, nanoseconds = divmod(stamp, 10**9)
    clock = time.strftime("%b %e %Y %H:%M:%S", time.localtime(seconds))
    return f"{clock}.{nanoseconds:09d} ({seconds}.{nanoseconds:09d})"


def format_summary(bag: BagSummary) -> str:
    """Return the text of `ros2 bag info`."""
    seconds, nanoseconds = divmod(bag.end - bag.start, 10**9)
    indent = "\n" + " " * 19
    lines = [
        "",
        f"Files:             {indent.join(bag.files)}",
        f"Bag size:          {format_size(bag.size)}",
        f"Storage id:        {bag.storage}",
        f"ROS Distro:        {bag.distro or 'unknown'}",
        f"Duration:          {seconds}.{nanoseconds:09d}s",
        f"Start:             {format_time(bag.start)}",
        f"End:               {format_time(bag.end)}",
        f"Messages:          {bag.messages}",
    ]
    label = "Topic information: "
    for name, kind, count, encoding in bag.topics:
        lines.append(
            f"{label}Topic: {name} | Type: {kind} | Count: {count} | "
            f"Serialization Format: {encoding}"
        )
        label = " " * len(label)
    if not bag.topics:
        lines.append(label)
    return "\n".join(lines)


def info(args: argparse.Namespace) -> None:
    """`ros2 bag info`."""
    if not args.bag_path.exists():
        raise RuntimeError(f"Bag path '{args.bag_path}' does not exist")
    folder = args.bag_path.is_dir()
    print(format_summary((summarize_folder if folder else summarize_file)(args.bag_path)))
