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
@pytest.mark.timeout(400)
def test_the_whole_loop_runs_on_very_little_data(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ["--out", str(tmp_path), "--data-minutes", "8", "--train-minutes", "0.5"]
    # The live run's own checks may miss the rate on a busy machine, and then its code is 1.
    assert quickstart.run(parsed(*words, "--seconds", "8")) in (0, 1)
    assert (tmp_path / "model.onnx").is_file()
    assert "<svg" in (tmp_path / "demo" / "report.html").read_text(encoding="utf-8")
    said = capfd.readouterr().out
    assert "the force was estimated live" in said
    rows = said[said.index("Quickstart") :]
    for title, _ in quickstart.steps(parsed(), tmp_path):
        assert title in rows
