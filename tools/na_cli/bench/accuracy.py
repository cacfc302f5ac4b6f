# SPDX-License-Identifier: Apache-2.0
"""Every force, effort and condition method on the same recordings, tuned alike."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from na_cli.bench._accuracy_advice import ADVICE
from na_cli.report import print_table
from na_cli.training_packages import ensure_training_packages

KEYS = ("force", "settings", "effort", "collision", "condition", "planted", "suites")

TUNING_TICKS = {"training": 150_000, "validation": 60_000}
"""Ticks that motor fit and tuning get at most, whole episodes; more changes only the time."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the bench."""
    parser.add_argument(
        "--data", type=Path, nargs="+", required=True, metavar="DIR",
        help="recordings to fit and tune on (split by trajectory)",
    )  # fmt: skip
    parser.add_argument(
        "--test", type=Path, nargs="+", default=[], metavar="DIR",
        help="recordings to judge on, of other seeds; default: the categories of --data that are "
        "evaluation suites",
    )  # fmt: skip
    parser.add_argument("--suite", default="", help="only these suites, comma-separated")
    parser.add_argument("--model", type=Path, help="run folder or .onnx file of the learned model")
    parser.add_argument("--robot", default="omx", help="robot name or file (default omx)")
    parser.add_argument("--validation", type=float, default=0.1, help="share for tuning")
    parser.add_argument("--seed", type=int, default=0, help="of the split and the networks")
    parser.add_argument("--settings", type=Path, metavar="FILE", help="write the tuned observers")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a page")


def suite_of(category: str, task: str, dithered: bool = False) -> str:
    """Column of the table that an episode belongs to."""
    if category == "force_labelled":
        return "pushes" if task == "push" else "payloads"
    return f"{category}, dithered" if dithered else category


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Fit, tune, judge, print; returns the figures."""
    ensure_training_packages()
    import numpy as np
    import torch

    from na_core.robot_spec import load_robot_spec
    from na_sim.nad_generator.catalogue import SUITES
    from na_training.data import read_folders, split_by_group
    from na_training.evaluation.report import Table

    torch.set_num_threads(1)
    spec = load_robot_spec(args.robot)
    model = None
    if args.model is not None:
        from na_training.training.load import load_model

        model = load_model(args.model, spec)
    loaded = read_folders(args.data, spec)
    training, validation = split_by_group(
        [e for e in loaded if e.category not in SUITES], args.validation, args.seed
    )
    test = (
        read_folders(args.test, spec) if args.test else [e for e in loaded if e.category in SUITES]
    )
    wanted = {name.strip() for name in args.suite.split(",") if name.strip()}
    suites: dict[str, list[Any]] = {}
    for episode in test:
        shaken = episode.dithered is not None and float(np.mean(episode.dithered)) > 0.2
        name = suite_of(episode.category, episode.task, shaken and episode.category == "holds")
        if not wanted or name in wanted or episode.category in wanted:
            suites.setdefault(name, []).append(episode)
    rng = np.random.default_rng(args.seed)
    fitting = _thinned(training, TUNING_TICKS["training"], rng)
    tuning = _thinned(validation, TUNING_TICKS["validation"], rng)
    dt = float(np.median([episode.dt for episode in training]))
    print(
        f"{len(fitting)} of {len(training)} episodes to fit the motor on, {len(tuning)} of "
        f"{len(validation)} to tune on, "
        f"{sum(map(len, suites.values()))} to judge on in {len(suites)} suites",
        flush=True,
    )
    tables: list[Table] = []
    figures: dict[str, Any] = {"suites": {k: len(v) for k, v in suites.items()}, "advice": ADVICE}
    started = time.perf_counter()
    from na_cli.bench import _accuracy_effort as effort
    from na_cli.bench import _accuracy_force as force

    tuned, motor, fit_seconds = force.tune(spec, fitting, tuning, dt, figures, tables)
    force.judge(suites, tuned, fit_seconds, model, training, figures, tables)
    effort.judge(spec, motor, dt, training, validation, suites, tuned, model, figures, tables,
                 args.seed)  # fmt: skip
    effort.planted(spec, figures, tables)
    figures["wall_s"] = time.perf_counter() - started
    for table in tables:
        print_table(table.title, table.columns, table.rows)
    print(ADVICE)
    _write(args, figures, tables, tuned)
    return figures


def _thinned(episodes: Sequence[Any], limit: int, rng: Any) -> list[Any]:
    """Random whole episodes with about `limit` ticks in all, in their old order."""
    chosen, ticks = [], 0
    for index in rng.permutation(len(episodes)):
        if ticks >= limit:
            break
        chosen.append(int(index))
        ticks += episodes[index].length
    return [episodes[index] for index in sorted(chosen)]


def _write(
    args: argparse.Namespace, figures: dict[str, Any], tables: Sequence[Any], tuned: Any
) -> None:
    import json

    if args.settings is not None:
        args.settings.parent.mkdir(parents=True, exist_ok=True)
        content = {name: value.estimator.to_json() for name, value in tuned.items()}
        args.settings.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    if args.html is not None:
        from na_training.evaluation.html import page

        args.html.parent.mkdir(parents=True, exist_ok=True)
        notes = {
            "fitted on": ", ".join(map(str, args.data)),
            "judged on": ", ".join(map(str, args.test)) or "the suites among them",
            "learned model": str(args.model or "none"),
            "which to use": ADVICE,
        }
        args.html.write_text(page("All methods, same recordings", notes, tables, {}), "utf-8")
