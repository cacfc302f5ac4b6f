# SPDX-License-Identifier: Apache-2.0
"""`./na bag info` and `./na bag validate`."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from na_cli.report import print_table
from na_core.nad.layout import EPISODE
from na_core.nad.raw_bag import RawBag
from na_core.nad.reader import episode_from, find_episodes, find_unfinished
from na_core.nad.validate import validate


def add(actions: Any) -> None:
    """Add the two parsers."""
    parser = actions.add_parser("info", help="what is in a bag: topics, rates, description")
    parser.add_argument("bag", type=Path, nargs="+", help="bag directory or storage file")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(function=info)
    parser = actions.add_parser(
        "validate", help="check bags against the rules; exit code 1 when training would refuse one"
    )
    parser.add_argument("bag", type=Path, nargs="+", help="bag, or folder of bags")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(function=check)


def bags_in(paths: list[Path]) -> list[Path]:
    """Return the bags at or below `paths`; a path without any is kept, so that it is reported."""
    found: list[Path] = []
    for path in paths:
        found += list(find_episodes(path)) or [path]
    return found


def info(arguments: argparse.Namespace) -> int:
    """Print description and topics of each bag."""
    reports = [describe(path) for path in bags_in(arguments.bag)]
    if arguments.json:
        print(json.dumps(reports, indent=2))
        return 0
    for report in reports:
        print(f"{report['path']}")
        for key, value in report["description"].items():
            if value not in ("", [], None):
                print(f"  {key:<18} {value}")
        for key, value in report["custom_data"].items():
            print(f"  {key:<18} {value}")
        rows = [
            (topic["topic"], topic["type"], topic["messages"], topic["hz"])
            for topic in report["topics"]
        ]
        print_table("", ("topic", "type", "messages", "Hz"), rows)
        for remark in report["remarks"]:
            print(f"  note: {remark}")
    return 0


def describe(path: Path) -> dict[str, Any]:
    """Return what `info` shows, ready for JSON."""
    bag = RawBag(path)
    episode = episode_from(bag)
    description = asdict(episode.info) if EPISODE in episode.tracks else {}
    for key in ("topic", "written", "missed"):
        description.pop(key, None)
    topics = []
    for topic in bag.topics:
        track = episode.tracks.get(topic.name)
        span = float(track.log_ns[-1] - track.log_ns[0]) * 1e-9 if track and len(track) else 0.0
        topics.append(
            {
                "topic": topic.name,
                "type": topic.type,
                "messages": len(track) if track is not None else None,
                "hz": (len(track) - 1) / span if track is not None and span > 0 else None,
            }
        )
    return {
        "path": str(path),
        "files": [file.name for file in bag.files.files],
        "description": description,
        "custom_data": bag.custom_data(),
        "topics": topics,
        "remarks": list(episode.remarks),
    }


def check(arguments: argparse.Namespace) -> int:
    """Validate each bag; 1 when any is refused."""
    reports = [validate(path) for path in bags_in(arguments.bag)]
    if arguments.json:
        print(json.dumps([report.to_dict() for report in reports], indent=2))
    else:
        print("\n\n".join(report.to_text() for report in reports))
        if len(reports) > 1:
            verdicts = [report.verdict for report in reports]
            counts = ", ".join(
                f"{verdicts.count(word)} {word}" for word in ("good", "warnings", "refused")
            )
            print(f"\n{len(reports)} bags: {counts}")
        for path in arguments.bag:
            for part in find_unfinished(path):
                print(f"note: {part} was never closed; run: ./na bag recover {part}")
    return int(any(report.verdict == "refused" for report in reports))
