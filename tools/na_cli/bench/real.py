# SPDX-License-Identifier: Apache-2.0
"""Public recordings of real arms: our methods and simple ones on data that nobody here made."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from na_cli.report import print_table
from na_cli.training_packages import ensure_training_packages

KEYS = ("findings", "studies", "skipped")

STUDIES = ("xl330", "kinova", "panda", "ur10", "semi_synthetic", "continuum", "ur3", "cobotops")
COLUMNS = ["data", "figure", "method", "value", "unit", "trivial", "which", "ours", "better"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the bench."""
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder of the recordings "
                        "(default: NA_SHARED_DATA, else ../shared/data)")  # fmt: skip
    parser.add_argument("--only", default="", help=f"some of {', '.join(STUDIES)}")
    parser.add_argument("--seconds", type=float, default=60.0, help="per training of a network [s]")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a page")


def _makers(root: Path, seconds: float, seed: int) -> dict[str, Callable[[], Any]]:
    from na_training.real_data import cobotops, comanipulation, continuum, kinova, unisa, ur3, xl330

    bags, models = root / "unisa-rosbag2", root / "models"
    pendulum = root / "bam-xl330-pendulum"
    return {
        "xl330": lambda: with_published_friction(
            xl330.study(pendulum, seconds, seed), pendulum, xl330.HOLD_OUTS
        ),
        "kinova": lambda: kinova.study(root / "kinova-gen3-ident", seconds, seed),
        "panda": lambda: unisa.study(unisa.PANDA, bags, models, seed),
        "ur10": lambda: unisa.study(unisa.UR10, bags, models, seed),
        "semi_synthetic": lambda: comanipulation.study(
            root / "panda-comanipulation-ft", bags, models
        ),
        "continuum": lambda: continuum.study(root / "continuum-force-ft", seconds, seed),
        "ur3": lambda: ur3.study(root / "ur3-identification", models, seed),
        "cobotops": lambda: cobotops.study(root / "ur3-cobotops", seed),
    }


def with_published_friction(study: Any, folder: Path, hold_outs: Any) -> Any:
    """Add the published friction models, simulated from the goal alone, to the XL330 rows."""
    from dataclasses import replace

    import numpy as np

    from na_sim.identify.model import bam_model
    from na_sim.identify.recordings import load_runs, split
    from na_training.real_data.finding import Finding

    runs = load_runs(folder / "raw")
    extra = []
    for key, value in hold_outs:
        _, held = split(runs, key, value)
        goal = float(np.rad2deg(np.mean([_goal_error(run) for run in held])))
        for name in ("m1", "m6"):
            model = bam_model(folder / "params" / f"xl330_{name}.json")
            error = float(np.rad2deg(np.mean([model.mean_absolute_error(run) for run in held])))
            extra.append(
                Finding(
                    f"XL330, held-out {key} {value}",
                    f"{name.upper()} published, simulated from the goal",
                    "position over 6 s, mean error",
                    "°",
                    error,
                    goal,
                    "q = goal",
                )
            )
    return replace(study, findings=(*study.findings, *extra))


def _goal_error(run: Any) -> float:
    import numpy as np

    return float(np.mean(np.abs(run.error(run.goal))))


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Run every study whose data are present; prints and returns all findings."""
    ensure_training_packages()
    import torch

    from na_cli.registry import UsageError
    from na_core.testing import shared_data
    from na_training.real_data.finding import RecordingError

    torch.set_num_threads(1)
    root = args.data or shared_data()
    wanted = [name.strip() for name in args.only.split(",") if name.strip()] or list(STUDIES)
    unknown = sorted(set(wanted) - set(STUDIES))
    if unknown:
        raise UsageError(f"study {unknown}: expected some of {', '.join(STUDIES)}")
    figures: dict[str, Any] = {"findings": [], "studies": {}, "skipped": {}}
    if root is None or not root.is_dir():
        reason = "no recordings: set NA_SHARED_DATA to their folder, or pass --data"
        figures["skipped"] = dict.fromkeys(wanted, reason)
        print(f"skipped: {reason}")
        return figures
    makers = _makers(root, args.seconds, args.seed)
    studies = []
    for name in wanted:
        started = time.perf_counter()
        try:
            study = makers[name]()
        except (RecordingError, FileNotFoundError) as error:
            figures["skipped"][name] = str(error)
            print(f"skipped {name}: {error}", flush=True)
            continue
        seconds = time.perf_counter() - started
        studies.append(study)
        figures["findings"] += [finding.to_json() for finding in study.findings]
        figures["studies"][name] = {
            "proves": study.proves,
            "does_not": study.does_not,
            "facts": list(study.facts),
            "seconds": seconds,
        }
        _print(study, seconds)
    if args.html is not None:
        _write(args.html, studies, figures)
    return figures


def rows_of(study: Any) -> list[list[Any]]:
    """Table rows; the last column names the best method of each figure."""
    rows = []
    for finding in study.findings:
        alike = [f for f in study.findings if (f.data, f.figure) == (finding.data, finding.figure)]
        larger = "curve" in finding.figure
        values = [f.value for f in alike]
        best = max(values) if larger else min(values)
        beats = finding.value > finding.trivial if larger else finding.value < finding.trivial
        mark = "best" if finding.value == best and beats else ("" if beats else "no better")
        rows.append(
            [finding.data, finding.figure, finding.method, finding.value, finding.unit,
             finding.trivial, finding.trivial_name, "yes" if finding.ours else "", mark]
        )  # fmt: skip
    return rows


def _print(study: Any, seconds: float) -> None:
    print_table(f"{study.name} ({seconds:.0f} s)", COLUMNS, rows_of(study))
    for fact in study.facts:
        print(f"  {fact}")
    print(f"  Shows: {study.proves}\n  Does not show: {study.does_not}\n", flush=True)


def _write(path: Path, studies: list[Any], figures: dict[str, Any]) -> None:
    from na_training.evaluation.html import page
    from na_training.evaluation.report import Table

    notes = {name: reason for name, reason in figures["skipped"].items()}
    tables = []
    for study in studies:
        notes[study.name] = f"Shows: {study.proves} Does not show: {study.does_not}"
        tables.append(Table(study.name, COLUMNS, rows_of(study)))
        if study.facts:
            tables.append(Table(f"{study.name}: facts", ["fact"], [[f] for f in study.facts]))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page("Real recordings", notes, tables, {}), encoding="utf-8")
