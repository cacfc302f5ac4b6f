# SPDX-License-Identifier: Apache-2.0
"""`./na bag recover`, `merge`, `trim` and `relabel`: always into a new episode."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

from na_core.nad.edit import merge, relabel, trim
from na_core.nad.layout import CATEGORIES, LABEL_SOURCES
from na_core.nad.recover import recover

GRAVITY = 9.80665
"""Standard gravity [m/s^2], for the force of a payload label."""

_TEXTS = ("episode", "task", "variant", "pair_id", "split_group", "operator_notes", "robot")


def add(actions: Any) -> None:
    """Add the four parsers."""
    parser = actions.add_parser("recover", help="rebuild a bag that was cut off or never closed")
    parser.add_argument("bag", type=Path, help="bag directory (.NAME.part too) or storage file")
    parser.add_argument("--output", type=Path, help="new episode; default: NAME_recovered beside")
    parser.set_defaults(function=_recover)

    parser = actions.add_parser("merge", help="merge bags into one episode, by log time")
    parser.add_argument("bag", type=Path, nargs="+", help="two or more bags")
    parser.add_argument("--output", type=Path, required=True, help="new episode")
    parser.set_defaults(function=_merge)

    parser = actions.add_parser("trim", help="keep a part of an episode")
    parser.add_argument("bag", type=Path)
    parser.add_argument("--start", type=float, default=0.0, help="seconds after the first message")
    parser.add_argument("--stop", type=float, default=math.inf, help="seconds, not included")
    parser.add_argument("--output", type=Path, required=True, help="new episode")
    parser.set_defaults(function=_trim)

    parser = actions.add_parser("relabel", help="change the description or the force label")
    parser.add_argument("bag", type=Path)
    parser.add_argument("--output", type=Path, required=True, help="new episode")
    for name in _TEXTS:
        parser.add_argument(f"--{name.replace('_', '-')}", help=f"new {name.replace('_', ' ')}")
    parser.add_argument("--category", choices=CATEGORIES, help="new category")
    parser.add_argument("--payload", type=float, help="mass held by the gripper [kg]")
    parser.add_argument(
        "--label-payload", type=float, metavar="KG", help="replace all labels by this hanging mass"
    )
    parser.add_argument(
        "--label-none", action="store_true", help="replace all labels by 'nothing is known'"
    )
    parser.add_argument("--frame", default="", help="base axes of --label-payload, e.g. link1")
    parser.set_defaults(function=_relabel)


def _recover(arguments: argparse.Namespace) -> int:
    report = recover(arguments.bag, arguments.output)
    for damage in report.damage:
        print(f"lost: {damage}")
    for topic, count in sorted(report.messages.items()):
        print(f"  {topic:<32} {count}")
    print(f"{report.output}: {report.total} messages recovered")
    print(f"{report.source} is unchanged; delete it when you no longer need it")
    return 0


def _merge(arguments: argparse.Namespace) -> int:
    if len(arguments.bag) < 2:
        raise ValueError("merge needs two bags or more")
    print(merge(arguments.bag, arguments.output))
    return 0


def _trim(arguments: argparse.Namespace) -> int:
    print(trim(arguments.bag, arguments.output, arguments.start, arguments.stop))
    return 0


def _relabel(arguments: argparse.Namespace) -> int:
    names = (*_TEXTS, "category", "payload")
    changes = {
        name: getattr(arguments, name) for name in names if getattr(arguments, name) is not None
    }
    label: dict[str, Any] | None = None
    if arguments.label_payload is not None:
        if not arguments.frame:
            raise ValueError("--label-payload needs --frame, the base frame (link1 for omx)")
        label = {
            "header": {"frame_id": arguments.frame},
            "source": LABEL_SOURCES["payload"],
            "force": {"x": 0.0, "y": 0.0, "z": -arguments.label_payload * GRAVITY},
            "mass": arguments.label_payload,
            "valid": True,
        }
    elif arguments.label_none:
        nan = math.nan
        label = {"source": 0, "force": {"x": nan, "y": nan, "z": nan}, "mass": nan}
    if not changes and label is None:
        raise ValueError("nothing to change: give --task, --category, --payload, --label-payload …")
    print(relabel(arguments.bag, arguments.output, changes, label))
    return 0
