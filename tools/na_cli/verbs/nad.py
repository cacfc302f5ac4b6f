# SPDX-License-Identifier: Apache-2.0
"""`./na nad ACTION`: generate NAD data sets from the emulated arm, audit them for giveaways."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from na_cli.report import print_table

HELP = "generate NAD episodes from the emulated arm (generate), audit them for giveaways (leaks)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    generate = actions.add_parser("generate", help="simulate episodes and write them")
    generate.add_argument("--robot", default="omx", help="robot name or file (default omx)")
    generate.add_argument("--out", type=Path, required=True, help="folder of the data set")
    generate.add_argument(
        "--minutes", type=float, help="total length; default: the paper's or each suite's own"
    )
    generate.add_argument("--seed", type=int, default=0, help="seed (default 0)")
    generate.add_argument("--arm", type=int, default=0, help="physical unit (default 0)")
    generate.add_argument(
        "--categories",
        default="free_motion,force_labelled,condition",
        help="comma-separated categories or suites; groups: 'training', 'suites', 'all'",
    )
    generate.add_argument(
        "--tasks", default="", help="only these tasks of the categories, comma-separated"
    )
    generate.add_argument("--jobs", type=int, default=1, help="processes (default 1)")
    generate.add_argument("--format", choices=("bag", "npz"), default="bag")
    generate.add_argument("--rate", type=float, default=58.6, help="control rate [Hz]")
    generate.add_argument("--dither", action="store_true", help="dither the goal in half the holds")
    generate.add_argument("--validate", action="store_true", help="check every bag afterwards")
    generate.add_argument("--json", type=Path, metavar="FILE", help="write the accounting here")
    generate.add_argument("--independent-check", action="store_true", help=argparse.SUPPRESS)
    leaks = actions.add_parser("leaks", help="can a small classifier cheat? (no arm channels)")
    leaks.add_argument("data", type=Path, help="folder of a data set written with --format npz")
    leaks.add_argument("--seed", type=int, default=0)
    leaks.add_argument("--json", type=Path, metavar="FILE")


def run(arguments: argparse.Namespace) -> int:
    """Run the action; 1 when something was refused or an audit failed, 2 for a bad request."""
    return _generate(arguments) if arguments.action == "generate" else _leaks(arguments)


def _categories(text: str) -> tuple[str, ...]:
    from na_sim.nad_generator.catalogue import SUITES, TRAINING_CATEGORIES

    groups = {
        "training": TRAINING_CATEGORIES,
        "suites": SUITES,
        "all": TRAINING_CATEGORIES + SUITES,
    }
    names: list[str] = []
    for word in text.split(","):
        names += groups.get(word.strip(), (word.strip(),))
    return tuple(dict.fromkeys(name for name in names if name))


def _generate(arguments: argparse.Namespace) -> int:
    from na_core.nad.errors import NadError
    from na_sim.nad_generator.generate import Request, accounting, timed

    request = Request(
        robot=arguments.robot,
        out=arguments.out,
        categories=_categories(arguments.categories),
        minutes=arguments.minutes,
        seed=arguments.seed,
        arm=arguments.arm,
        jobs=arguments.jobs,
        format=arguments.format,
        dither=arguments.dither,
        rate=arguments.rate,
        independent_check=arguments.independent_check,
        tasks=tuple(word.strip() for word in arguments.tasks.split(",") if word.strip()),
    )
    try:
        entries, wall = timed(request, _progress)
    except (ValueError, FileExistsError, NadError) as error:
        print(f"./na nad generate: {error}", file=sys.stderr)
        return 2
    lines = accounting(entries)
    rows = [[x.category, x.task, x.variant, x.episodes, x.frames, x.seconds] for x in lines]
    totals: dict[str, float] = {}
    for line in lines:
        totals[line.category] = totals.get(line.category, 0.0) + line.seconds
    seconds = sum(totals.values())
    rows.append(["total", "", "", len(entries), sum(x.frames for x in lines), seconds])
    print_table(
        "accounting", ["category", "task", "variant", "episodes", "frames", "seconds"], rows
    )
    for category, total in totals.items():
        print(f"  {category}: {total / 60.0:.2f} min")
    print(f"  {seconds / 60.0:.2f} min in {wall:.1f} s ({seconds / wall:.0f} x real time)")
    refused = _validate(arguments) if arguments.validate and arguments.format == "bag" else []
    if arguments.json is not None:
        record = {
            "lines": [asdict(line) for line in lines],
            "minutes": seconds / 60.0,
            "wall_seconds": wall,
            "robot_seconds_per_second": seconds / wall,
            "refused": refused,
        }
        arguments.json.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    return 1 if refused else 0


def _progress(done: int, total: int) -> None:
    print(f"  {done}/{total} batches", file=sys.stderr, flush=True)


def _validate(arguments: argparse.Namespace) -> list[str]:
    """Check all bags below the folder; prints what is not good and returns what is refused."""
    from na_core.nad.validate import validate

    refused, counts = [], {"good": 0, "warnings": 0, "refused": 0}
    for metadata in sorted(arguments.out.glob("*/*/metadata.yaml")):
        report = validate(metadata.parent)
        counts[report.verdict] += 1
        if report.verdict == "refused":
            refused.append(str(metadata.parent))
            print(report.to_text())
    print("  validation: " + ", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    return refused


def _leaks(arguments: argparse.Namespace) -> int:
    from na_sim.nad_generator.leaks import audit, load_data_set

    rows = audit(load_data_set(arguments.data), seed=arguments.seed)
    print_table(
        "leak audit: AUC of a classifier that sees no arm channel (0.5 = chance)",
        ["channels", "target", "AUC", "shuffled", "its sd", "over chance", "verdict"],
        [[r.channels, r.target, r.auc, r.shuffled, r.noise, r.excess, r.verdict] for r in rows],
    )
    for row in rows:
        if row.note:
            print(f"  {row.channels}: {row.note}")
    if arguments.json is not None:
        text = json.dumps([asdict(row) for row in rows], indent=2)
        arguments.json.write_text(text + "\n", encoding="utf-8")
    return 1 if any(row.verdict == "leak" for row in rows) else 0
