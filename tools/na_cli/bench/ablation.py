# SPDX-License-Identifier: Apache-2.0
"""The networks of the ablation on the same recordings, at equal wall clock and at equal updates."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

from na_cli.registry import UsageError
from na_cli.report import print_table
from na_cli.training_packages import ensure_training_packages

KEYS = ("minutes", "steps", "seeds", "robot_minutes", "rows")
FIGURES = ("force_contact", "force_free", "pose_deg")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, nargs="+", required=True, metavar="DIR")
    parser.add_argument("--robot", default="omx", help="robot name or file (default omx)")
    parser.add_argument("--models", default="", help="comma-separated; default: all networks")
    parser.add_argument("--minutes", type=float, default=2.0, help="wall clock of a run")
    parser.add_argument("--steps", type=int, default=300, help="updates of the other kind of run")
    parser.add_argument("--seeds", default="0", help="comma-separated seeds of weights and splits")
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings shared by all runs")
    parser.add_argument("--cache", type=Path, metavar="DIR", help="keep feature arrays here")


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Train every network twice per seed; errors are those of the validation split.

    Rows of the result: network, kind ("minutes" or "steps"), updates and seconds spent, parameters,
    and per figure its mean and standard deviation over the seeds.
    """
    ensure_training_packages()
    from na_core.robot_spec import load_robot_spec
    from na_training.data import read_folders
    from na_training.model import MODELS
    from na_training.training.config import TrainConfig

    names = [name for name in arguments.models.split(",") if name] or list(MODELS)
    unknown = [name for name in names if name not in MODELS]
    if unknown:
        raise UsageError(f"--models: {unknown[0]!r}, expected some of {', '.join(MODELS)}")
    seeds = [int(word) for word in arguments.seeds.split(",")]
    config = TrainConfig.from_file(arguments.config) if arguments.config else TrainConfig()
    spec = load_robot_spec(arguments.robot)
    episodes = read_folders(arguments.data, spec)
    robot_minutes = sum(e.time[-1] - e.time[0] for e in episodes) / 60.0
    rows = []
    for name in names:
        for kind in ("minutes", "steps"):
            budget = arguments.minutes if kind == "minutes" else arguments.steps
            found = [
                _train(
                    spec, episodes, config.changed(model=name, seed=seed), kind, budget, arguments
                )
                for seed in seeds
            ]
            rows.append(_row(name, kind, found))
    result = {
        "minutes": arguments.minutes,
        "steps": arguments.steps,
        "seeds": seeds,
        "robot_minutes": robot_minutes,
        "rows": rows,
    }
    _print(result)
    return result


def _train(
    spec: Any, episodes: Any, config: Any, kind: str, budget: float, arguments: argparse.Namespace
) -> dict[str, float]:
    """One run in a folder that is thrown away; its last validation."""
    from na_training.training.session import prepare
    from na_training.training.trainer import Budget

    limit = Budget(minutes=budget) if kind == "minutes" else Budget(steps=int(budget))
    print(f"{config.model}, seed {config.seed}, {budget:g} {kind}", flush=True)
    with tempfile.TemporaryDirectory(prefix="na-ablation-") as folder:
        trainer = prepare(
            spec, episodes, config, Path(folder) / "run", limit, cache=arguments.cache
        )
        state = trainer.run()
        if not state.history:
            raise UsageError("no validation split: val_share is 0, or the data is one split group")
        return {
            **state.history[-1],
            "updates": float(state.step),
            "parameters": float(trainer.bundle.model.parameters_count),
        }


def _row(name: str, kind: str, found: list[dict[str, float]]) -> dict[str, Any]:
    row: dict[str, Any] = {
        "network": name,
        "kind": kind,
        "parameters": int(found[0]["parameters"]),
        "updates": fmean(one["updates"] for one in found),
        "seconds": fmean(one["seconds"] for one in found),
    }
    for figure in FIGURES:
        values = [one[figure] for one in found if figure in one]
        row[figure] = fmean(values) if values else None
        row[f"{figure}_sd"] = pstdev(values) if values else None
    return row


def _print(result: dict[str, Any]) -> None:
    """One table per kind of budget."""
    for kind in ("minutes", "steps"):
        rows = [
            [
                row["network"],
                row["parameters"],
                row["updates"],
                row["seconds"],
                *(row[key] for figure in FIGURES for key in (figure, f"{figure}_sd")),
            ]
            for row in result["rows"]
            if row["kind"] == kind
        ]
        heads = ["network", "parameters", "updates", "seconds"]
        heads += [text for figure in FIGURES for text in (figure, "sd")]
        print_table(f"at equal {kind}: {result[kind]:g}, validation split", heads, rows)
