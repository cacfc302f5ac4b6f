# SPDX-License-Identifier: Apache-2.0
"""`./na nad` and `./na identify`: arguments, exit codes, files; the physics is tested elsewhere."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from na_cli.bench import plant
from na_cli.verbs import identify, nad


def parse(module: object, words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    module.add_arguments(parser)  # type: ignore[attr-defined]
    return parser.parse_args(words)


def test_groups_of_categories_stand_for_their_members() -> None:
    assert nad._categories("training") == (
        "free_motion",
        "force_labelled",
        "condition",
        "holds",
        "anywhere",
    )
    assert nad._categories("gauge, suites")[0] == "gauge"
    assert len(set(nad._categories("all,fast"))) == len(nad._categories("all,fast"))


def test_generate_prints_the_accounting_and_writes_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, record = tmp_path / "data", tmp_path / "accounting.json"
    words = ["generate", "--out", str(out), "--categories", "adapt", "--minutes", "0.1"]
    arguments = parse(nad, [*words, "--validate", "--json", str(record)])
    assert nad.run(arguments) == 0
    text = capsys.readouterr().out
    assert "go_up_and_stay" in text and "validation:" in text
    data = json.loads(record.read_text())
    assert data["refused"] == []
    assert sum(line["episodes"] for line in data["lines"]) == 2


def test_reserved_seed_is_refused_with_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = parse(nad, ["generate", "--out", str(tmp_path), "--seed", "9500"])
    assert nad.run(arguments) == 2
    assert "kept for independent checks" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["bag", "npz"])
def test_existing_episode_is_not_overwritten(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["generate", "--out", str(tmp_path), "--categories", "adapt", "--minutes", "0.1"]
    words += ["--format", form]
    assert nad.run(parse(nad, words)) == 0
    assert nad.run(parse(nad, words)) == 2
    assert "exists" in capsys.readouterr().err


def test_identify_says_where_it_looked_for_recordings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert identify.run(parse(identify, ["bam", "--data", str(tmp_path)])) == 2
    assert "no *.json recordings" in capsys.readouterr().err


def test_identify_reference_prints_servos(capsys: pytest.CaptureFixture[str]) -> None:
    assert identify.run(parse(identify, ["reference"])) == 0
    assert "xm430-w350" in capsys.readouterr().out


@pytest.mark.slow
def test_plant_bench_measures_its_keys() -> None:
    arguments = parse(plant, ["--seconds", "2", "--episode", "2"])
    figures = plant.run(arguments)
    assert set(plant.KEYS) <= set(figures)
    assert figures["live_core_share"] < 0.35
