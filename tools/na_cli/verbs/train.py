# SPDX-License-Identifier: Apache-2.0
"""`./na train`: learn a model from NAD recordings; `./na train adapt`: adapt one to another arm."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import Any

from na_cli.registry import UsageError
from na_cli.training_packages import ensure_training_packages

HELP = "train a model on NAD recordings (--data DIR… --out RUN), or adapt one: train adapt"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", choices=("adapt",), help="adapt an existing model")
    parser.add_argument("--data", type=Path, nargs="+", required=True, metavar="DIR")
    parser.add_argument("--out", type=Path, required=True, help="run folder (adapt: the new model)")
    parser.add_argument("--robot", default="omx", help="robot name or file (default omx)")
    parser.add_argument("--minutes", type=float, help="wall clock to train for")
    budget = parser.add_argument_group("training")
    budget.add_argument("--steps", type=int, help="updates to train for, instead of --minutes")
    budget.add_argument("--config", type=Path, metavar="FILE", help="settings (YAML)")
    budget.add_argument("--resume", action="store_true", help="go on from the checkpoint in --out")
    budget.add_argument(
        "--init", type=Path, metavar="RUN", help="start from another run (stage two)"
    )
    budget.add_argument("--categories", default="", help="use only these, comma-separated")
    budget.add_argument("--model", help="network; for adapt: the run or .onnx file to adapt")
    budget.add_argument("--backend", help="differentiable simulator: pinocchio or torch")
    budget.add_argument("--seed", type=int)
    budget.add_argument("--threads", type=int)
    budget.add_argument("--cache", type=Path, metavar="DIR", help="keep feature arrays here")
    adapt = parser.add_argument_group("adapt")
    adapt.add_argument("--reference", type=Path, nargs="*", default=[], metavar="DIR")


def run(arguments: argparse.Namespace) -> int:
    """Train or adapt; 1 when the data is refused or the guard kept the old model."""
    ensure_training_packages()
    from na_training.data import DataError
    from na_training.training.checkpoint import CheckpointError
    from na_training.training.config import ConfigError
    from na_training.training.session import RunExistsError

    try:
        return _adapt(arguments) if arguments.action == "adapt" else _train(arguments)
    except (DataError, CheckpointError, ConfigError, RunExistsError, ValueError) as error:
        print(f"./na train: {error}", file=sys.stderr)
        return 1


def _config(arguments: argparse.Namespace) -> Any:
    from na_training.training import checkpoint
    from na_training.training.config import TrainConfig
    from na_training.training.session import CONFIG_FILE

    stored = arguments.out / CONFIG_FILE
    if arguments.config is not None:
        config = TrainConfig.from_file(arguments.config)
    elif arguments.resume and stored.is_file():
        config = TrainConfig.from_file(stored)
    elif arguments.resume:
        raise checkpoint.CheckpointError(f"{arguments.out}: no {CONFIG_FILE}; nothing to resume")
    else:
        config = TrainConfig()
    return config.changed(
        model=arguments.model,
        backend=arguments.backend,
        seed=arguments.seed,
        threads=arguments.threads,
    )


def _train(arguments: argparse.Namespace) -> int:
    from na_core.robot_spec import load_robot_spec
    from na_training.data import read_folders
    from na_training.training.session import prepare
    from na_training.training.trainer import Budget

    if (arguments.minutes is None) == (arguments.steps is None):
        raise UsageError("give either --minutes or --steps")
    config = _config(arguments)
    print(config.to_yaml(), flush=True)
    spec = load_robot_spec(arguments.robot)
    categories = [name for name in arguments.categories.split(",") if name]
    episodes = read_folders(arguments.data, spec, categories=categories)
    seconds = sum(episode.time[-1] - episode.time[0] for episode in episodes)
    print(f"{len(episodes)} episodes, {seconds / 60.0:.1f} min of robot time", flush=True)
    trainer = prepare(
        spec,
        episodes,
        config,
        arguments.out,
        Budget(arguments.minutes, arguments.steps),
        resume=arguments.resume,
        init=arguments.init,
        cache=arguments.cache,
        command="./na " + shlex.join(sys.argv[1:]),
    )
    del episodes  # the trainer has its own arrays; large sets need the memory
    print(f"model {config.model}: {trainer.bundle.model.parameters_count:,} parameters", flush=True)
    trainer.run()
    print(f"run: {arguments.out}; evaluate with ./na eval --model {arguments.out} --data DIR")
    return 0


def _adapt(arguments: argparse.Namespace) -> int:
    from na_cli.report import print_table
    from na_core.robot_spec import load_robot_spec
    from na_training.data import read_folders
    from na_training.training.adapt import adapt
    from na_training.training.load import load_model

    if arguments.model is None:
        raise UsageError("adapt needs --model RUN or --model FILE.onnx")
    spec = load_robot_spec(arguments.robot)
    bundle = load_model(Path(arguments.model), spec)
    episodes = read_folders(arguments.data, spec)
    reference = read_folders(arguments.reference, spec) if arguments.reference else []
    result = adapt(
        bundle,
        episodes,
        reference,
        minutes=arguments.minutes or 1.0,
        seed=arguments.seed or 0,
        out=arguments.out,
    )
    rows = [[name, *pair] for name, pair in result.figures.items()]
    print_table("adaptation", ["figure", "before", "after"], rows)
    for reason in result.reasons:
        print(f"guard: {reason}")
    changed = {
        "constants": "constants of the arm",
        "heads": "heads of force and gate",
        "all": "constants of the arm and heads",
    }[result.what]
    outcome = f"adapted model ({changed})" if result.accepted else "kept the old model"
    print(f"{outcome}: {arguments.out}")
    return 0 if result.accepted else 1
