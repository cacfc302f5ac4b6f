# SPDX-License-Identifier: Apache-2.0
"""`./na eval`: the paper's tables for one model, beside trivial baselines, in three regimes."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from na_cli.report import print_table
from na_cli.training_packages import ensure_training_packages

HELP = "evaluate a trained model (--model RUN or FILE.onnx) on NAD recordings"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", type=Path, required=True, help="run folder or .onnx file")
    parser.add_argument("--data", type=Path, nargs="+", required=True, metavar="DIR")
    parser.add_argument("--robot", default="omx", help="robot name or file (default omx)")
    parser.add_argument("--categories", default="", help="only these, comma-separated")
    parser.add_argument(
        "--train-data",
        type=Path,
        nargs="*",
        default=[],
        metavar="DIR",
        help="recordings to fit the condition baselines on",
    )
    parser.add_argument("--rollouts", type=int, default=96, help="closed-loop pieces (0: none)")
    parser.add_argument("--gradients", action="store_true", help="add gradients against horizon")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a page with pictures")


def run(arguments: argparse.Namespace) -> int:
    """Evaluate, print tables, write files; 1 when model or data are refused."""
    ensure_training_packages()
    from na_training.data import DataError
    from na_training.training.checkpoint import CheckpointError

    try:
        return _evaluate(arguments)
    except (DataError, CheckpointError, ValueError) as error:
        print(f"./na eval: {error}", file=sys.stderr)
        return 1


def _evaluate(arguments: argparse.Namespace) -> int:
    import torch

    from na_core.robot_spec import load_robot_spec
    from na_training.data import read_folders
    from na_training.evaluation.gradients import gradient_table
    from na_training.evaluation.predict import predict_all
    from na_training.evaluation.report import Table, evaluate
    from na_training.simulator import make_simulator
    from na_training.training.load import load_model
    from na_training.training.scaling import pose_unit

    torch.set_num_threads(1)
    spec = load_robot_spec(arguments.robot)
    bundle = load_model(arguments.model, spec)
    categories = [name for name in arguments.categories.split(",") if name]
    episodes = read_folders(arguments.data, spec, categories=categories)
    training = read_folders(arguments.train_data, spec) if arguments.train_data else []
    print(f"{len(episodes)} episodes; model {bundle.model.config.name}", flush=True)
    simulator = make_simulator("pinocchio", spec, bundle.dt)
    predictions = predict_all(bundle.model, bundle.features, episodes)
    report = evaluate(
        bundle, simulator, episodes, predictions, training=training, rollouts=arguments.rollouts
    )
    gradients: list[dict[str, float]] = []
    if arguments.gradients:
        gradients = gradient_table(bundle.model, simulator, episodes, pose_unit(spec, 3.0))
        report.figures["gradients"] = gradients
        keys = ("horizon", "loss", "norm", "cosine_to_128")
        rows = [[row.get(key) for key in keys] for row in gradients]
        report.tables.append(Table("gradient of the pose loss", list(keys), rows))
    for table in report.tables:
        print_table(table.title, table.columns, table.rows)
    if not training:
        print("condition baselines: not fitted (pass --train-data DIR)")
    if arguments.json is not None:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(report.figures, indent=1) + "\n", encoding="utf-8")
    if arguments.html is not None:
        from na_training.evaluation.page import write_page

        write_page(arguments.html, bundle, simulator, episodes, predictions, report, gradients)
    return 0
