# SPDX-License-Identifier: Apache-2.0
"""`./na bench ablation`: every network gets both kinds of run; a wrong name is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs torch: requirements/train.txt")

from na_cli.bench import ablation
from na_cli.registry import UsageError, run_verb

DATA = "free_motion,force_labelled,condition"
SMALL = """
horizons: [4]
horizon_shares: [1.0]
rollout_batch: 4
measured_batch: 4
measured_length: 8
heads_batch: 64
val_share: 0.3
"""


@pytest.mark.slow
def test_both_budgets_and_both_networks_are_in_the_result(tmp_path: Path) -> None:
    words = ["generate", "--out", str(tmp_path / "data"), "--minutes", "4", "--format", "npz"]
    assert run_verb("nad", [*words, "--categories", DATA]) == 0
    (tmp_path / "small.yaml").write_text(SMALL)
    out = tmp_path / "figures.json"
    words = [
        "ablation",
        "--data",
        str(tmp_path / "data"),
        "--models",
        "query,mlp",
        "--seeds",
        "0,1",
    ]
    words += ["--minutes", "0.005", "--steps", "2", "--config", str(tmp_path / "small.yaml")]
    assert run_verb("bench", [*words, "--json", str(out)]) == 0
    figures = json.loads(out.read_text())
    assert set(ablation.KEYS) <= set(figures)
    kinds = [(row["network"], row["kind"]) for row in figures["rows"]]
    assert kinds == [(n, k) for n in ("query", "mlp") for k in ("minutes", "steps")]
    for row in figures["rows"]:
        assert row["force_contact"] > 0.0 and row["pose_deg"] > 0.0
        assert row["kind"] != "steps" or row["updates"] == 2.0


def test_an_unknown_network_is_refused_before_any_data_is_read(tmp_path: Path) -> None:
    import argparse

    parser = argparse.ArgumentParser()
    ablation.add_arguments(parser)
    with pytest.raises(UsageError, match="'resnet', expected some of query"):
        ablation.run(parser.parse_args(["--data", str(tmp_path), "--models", "resnet"]))
