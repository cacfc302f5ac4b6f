# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import argparse
import importlib
from pathlib import Path

import pytest

from na_cli.verbs import quickstart


def parsed(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    quickstart.add_arguments(parser)
    return parser.parse_args(["train", *words])


def test_every_step_is_a_command_that_its_verb_understands(tmp_path: Path) -> None:
    for _, words in quickstart.steps(parsed(), tmp_path):
        module = importlib.import_module(f"na_cli.verbs.{words[0]}")
        parser = argparse.ArgumentParser(exit_on_error=False)
        module.add_arguments(parser)
        parser.parse_args(words[1:])


def test_training_and_test_data_have_seeds_of_their_own(tmp_path: Path) -> None:
    commands = [words for _, words in quickstart.steps(parsed(), tmp_path) if words[0] == "nad"]
    seeds = [words[words.index("--seed") + 1] for words in commands]
    assert len(set(seeds)) == 2
    assert not any(9000 <= int(seed) <= 9999 for seed in seeds)


def test_the_live_run_can_be_left_out(tmp_path: Path) -> None:
    assert [w[0] for _, w in quickstart.steps(parsed("--seconds", "0"), tmp_path)][-1] == "export"


@pytest.mark.slow
def test_the_whole_loop_runs_on_very_little_data(tmp_path: Path) -> None:
    words = ["--out", str(tmp_path), "--data-minutes", "8", "--train-minutes", "0.5"]
    assert quickstart.run(parsed(*words, "--seconds", "0")) == 0
    assert (tmp_path / "model.onnx").is_file()
