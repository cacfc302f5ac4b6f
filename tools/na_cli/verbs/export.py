# SPDX-License-Identifier: Apache-2.0
"""`./na export`: an ONNX file with complete metadata, checked against torch, and its model card."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from na_cli.training_packages import ensure_training_packages

HELP = "write a trained run as ONNX with metadata and a model card (--run RUN --out FILE.onnx)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--run", type=Path, required=True, help="run folder of ./na train")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE.onnx")
    parser.add_argument("--robot", default="omx", help="robot name or file (default omx)")
    parser.add_argument(
        "--data",
        type=Path,
        nargs="*",
        default=[],
        metavar="DIR",
        help="recordings that were not trained on: gate thresholds, scale of the variance, parity",
    )
    parser.add_argument(
        "--stream", action="store_true", help="also write FILE.stream.onnx (one token per tick)"
    )
    parser.add_argument(
        "--eight-bit", action="store_true", help="with --stream: its large weights in 8 bits"
    )
    parser.add_argument(
        "--results",
        type=Path,
        nargs="*",
        default=[],
        metavar="FILE",
        help="JSON files of ./na eval, quoted in the card under their names",
    )


def run(arguments: argparse.Namespace) -> int:
    """Export; 1 when the run is refused or torch and ONNX disagree."""
    ensure_training_packages()
    from na_core.robot_spec import load_robot_spec
    from na_training.data import DataError, read_folders
    from na_training.evaluation.predict import predict_all
    from na_training.export.card import write_card
    from na_training.export.onnx_file import ParityError, export
    from na_training.export.stream import export_stream
    from na_training.export.thresholds import (
        calibrate_variance,
        choose_thresholds,
        real_windows,
    )
    from na_training.training.checkpoint import CheckpointError
    from na_training.training.load import load_model

    spec = load_robot_spec(arguments.robot)
    try:
        bundle = load_model(arguments.run, spec)
        windows = None
        if arguments.data:
            episodes = read_folders(arguments.data, spec)
            predictions = predict_all(bundle.model, bundle.features, episodes)
            bundle.gate_thresholds = choose_thresholds(bundle, episodes, predictions)
            factor = calibrate_variance(bundle, episodes, predictions)
            bundle.provenance["deviation_factor"] = round(factor, 4)
            windows = real_windows(bundle, episodes)
        figures = export(bundle, arguments.out, windows)
        if arguments.stream:
            small = arguments.eight_bit
            figures["stream"] = export_stream(bundle, arguments.out, small=small)
        card = write_card(bundle, arguments.out, figures, arguments.results)
    except (CheckpointError, DataError, ParityError, ValueError) as error:
        print(f"./na export: {error}", file=sys.stderr)
        return 1
    for name in ("random", "real"):
        if name in figures:
            print(f"torch and ONNX differ by at most {figures[name]:.1e} on {name} windows")
    print(
        f"gate opens at {bundle.gate_thresholds[0]:.2f}, closes at {bundle.gate_thresholds[1]:.2f}"
    )
    print(f"{arguments.out}: {figures['bytes'] / 1e6:.2f} MB; card {card}")
    return 0
