# SPDX-License-Identifier: Apache-2.0
"""`./na quickstart train`: the whole loop on small data, from generating it to a live run."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import time
from pathlib import Path

from na_cli.environment import Workspace
from na_cli.report import print_table

HELP = "the whole loop on small data: generate, validate, train, evaluate, export, run live"

TRAIN_SEED, TEST_SEED = 1, 101
#: As the committed model: features that remember make more of little data.
NETWORK = "query_hysteresis"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=["train"], help="which loop")
    parser.add_argument("--out", type=Path, default=Path("out/quickstart"), help="where it goes")
    parser.add_argument("--data-minutes", type=float, default=20.0, help="robot time to train on")
    parser.add_argument("--train-minutes", type=float, default=4.0, help="wall clock of training")
    parser.add_argument("--seconds", type=float, default=45.0, help="live run at the end; 0: none")


def steps(arguments: argparse.Namespace, out: Path) -> list[tuple[str, list[str]]]:
    """The commands of the loop, each as a reader would type it after ./na."""
    train, test, run, model = out / "train", out / "test", out / "run", out / "model.onnx"
    generate = ["nad", "generate", "--jobs", "2"]
    found = [
        (
            "generate and validate training data",
            [*generate, "--out", str(train), "--categories", "training", "--seed", str(TRAIN_SEED),
             "--minutes", f"{arguments.data_minutes:g}", "--validate"],
        ),
        (
            "generate test data",
            [*generate, "--out", str(test), "--categories", "free_motion,force_labelled",
             "--seed", str(TEST_SEED), "--minutes", "4"],
        ),
        (
            "train",
            ["train", "--data", str(train), "--out", str(run), "--model", NETWORK,
             "--minutes", f"{arguments.train_minutes:g}"],
        ),
        (
            "evaluate",
            ["eval", "--model", str(run), "--data", str(test), "--train-data", str(train),
             "--json", str(out / "eval.json"), "--html", str(out / "eval.html")],
        ),
        (
            "export",
            ["export", "--run", str(run), "--out", str(model), "--data", str(train),
             "--results", str(out / "eval.json")],
        ),
    ]  # fmt: skip
    if arguments.seconds > 0.0:
        live = ["demo", "--model", str(model), "--seconds", f"{arguments.seconds:g}"]
        found.append(("run live", [*live, "--out", str(out / "demo")]))
    return found


def run(arguments: argparse.Namespace) -> int:
    """Run the loop; ends at the first command that fails, with its exit code."""
    root = Workspace.here().root
    out = (root / arguments.out).resolve()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    rows: list[list[object]] = []
    code = 0
    for title, words in steps(arguments, out):
        shown = " ".join(os.path.relpath(word) if word.startswith("/") else word for word in words)
        print(f"── {title}: ./na {shown}", flush=True)
        begin = time.monotonic()
        code = subprocess.run([str(root / "na"), *words], cwd=root, check=False).returncode
        rows.append([title, time.monotonic() - begin, code])
        # The live run's own checks may miss the rate on a busy machine; its figures stand.
        if code and title != "run live":
            break
    rows.append(["all", sum(float(str(row[1])) for row in rows), code])
    print_table("Quickstart", ["step", "seconds", "exit code"], rows)
    print(
        f"pages: {os.path.relpath(out / 'eval.html')}, {os.path.relpath(out / 'demo/report.html')}"
    )
    return code
