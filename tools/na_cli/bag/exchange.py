# SPDX-License-Identifier: Apache-2.0
"""`./na bag export` and `./na bag import`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from na_cli.bag.show import bags_in
from na_core.nad.export_arrays import export_csv, export_npz
from na_core.nad.export_lerobot import export_lerobot
from na_core.nad.import_joint_states import import_joint_states
from na_core.nad.import_lerobot import UNITS, import_lerobot
from na_core.nad.layout import EpisodeInfo
from na_core.nad.reader import load_episode


def add(actions: Any) -> None:
    """Add the two parsers."""
    parser = actions.add_parser("export", help="to LeRobotDataset v3.0, .npz or CSV")
    parser.add_argument("format", choices=("lerobot", "npz", "csv"))
    parser.add_argument("bag", type=Path, nargs="+", help="bag, or folder of bags")
    parser.add_argument("--output", type=Path, required=True, help="new file or folder")
    parser.add_argument("--force", action="store_true", help="lerobot: add observation.force")
    parser.add_argument("--fps", type=int, help="lerobot: frames per second (default: rate)")
    parser.set_defaults(function=_export)

    parser = actions.add_parser("import", help="from a LeRobotDataset or a plain JointState bag")
    parser.add_argument("format", choices=("lerobot", "joint-states"))
    parser.add_argument("source", type=Path)
    parser.add_argument("--output", type=Path, required=True, help="folder of the new episodes")
    parser.add_argument("--unit", choices=sorted(UNITS), help="lerobot: unit of its angles")
    parser.add_argument("--episodes", type=int, nargs="*", help="lerobot: only these")
    parser.add_argument("--topic", default="", help="joint-states: topic, when there are several")
    parser.add_argument("--time-base", choices=("header", "log"), default="header")
    parser.add_argument("--robot", default="", help="joint-states: robot name")
    parser.add_argument("--task", default="", help="joint-states: task")
    parser.set_defaults(function=_import)


def _export(arguments: argparse.Namespace) -> int:
    paths = bags_in(arguments.bag)
    if arguments.format == "lerobot":
        episodes = [load_episode(path) for path in paths]
        report = export_lerobot(
            episodes, arguments.output, force=arguments.force, fps=arguments.fps
        )
        for remark in report.remarks:
            print(f"note: {remark}")
        known = f", {report.force_frames} with a known force" if arguments.force else ""
        print(f"{report.path}: {report.episodes} episodes, {report.frames} frames{known}")
        return 0
    for path in paths:
        episode = load_episode(path)
        target = arguments.output if len(paths) == 1 else arguments.output / path.name
        if arguments.format == "npz":
            if target.suffix != ".npz":
                target = target.with_name(f"{target.name}.npz")
            print(export_npz(episode, target))
        else:
            print("\n".join(str(file) for file in export_csv(episode, target)))
    return 0


def _import(arguments: argparse.Namespace) -> int:
    if arguments.format == "lerobot":
        if arguments.unit is None:
            raise ValueError(
                "--unit rad or --unit deg is needed: a LeRobotDataset does not say in what it "
                "counts angles"
            )
        written = import_lerobot(
            arguments.source, arguments.output, arguments.unit, arguments.episodes
        )
        print("\n".join(str(path) for path in written))
        return 0
    info = EpisodeInfo(
        robot=arguments.robot, task=arguments.task, payload=float("nan"), source="hardware"
    )
    target = arguments.output / arguments.source.name.split(".")[0]
    print(import_joint_states(arguments.source, target, info, arguments.topic, arguments.time_base))
    return 0
