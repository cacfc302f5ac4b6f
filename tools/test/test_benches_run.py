# SPDX-License-Identifier: Apache-2.0
"""Benches that no other test runs end with the figures that they promise, on little time."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

from na_cli.registry import bench_names, run_verb

SHORT = {
    "diffsim": ["--seconds", "0.1", "--no-compile"],
    "estimate_soak": ["--minutes", "0.3"],
    "inference": ["--calls", "50"],
    "live": ["--seconds", "20"],
    "ros": ["--seconds", "5"],
    "silence": [],
}
#: Run elsewhere: the test file; or why not at all.
ELSEWHERE = {
    "ablation": "test_bench_ablation.py",
    "accuracy": "test_bench_comparison.py",
    "adapt": "test_bench_adapt.py",
    "bag": "test_bench_bags.py",
    "bus": "test_bench_bus.py",
    "crash": "test_bench_bags.py",
    "faults": "test_bench_faults.py",
    "feedback": "test_bench_feedback.py",
    "plant": "test_nad_verbs.py",
    "real": "test_bench_comparison.py",
    "soak": "test_bench_bags.py",
}


def test_every_bench_is_run_somewhere() -> None:
    assert sorted({*SHORT, *ELSEWHERE}) == bench_names()
    for name, file in ELSEWHERE.items():
        text = (Path(__file__).with_name(file)).read_text(encoding="utf-8")
        assert name in text, f"{file} does not mention bench {name}"


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SHORT))
def test_a_bench_measures_what_it_promises(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if name == "diffsim":
        pytest.importorskip("torch", reason="needs torch: requirements/train.txt")
    out = tmp_path / "figures.json"
    assert run_verb("bench", [name, *SHORT[name], "--json", str(out)]) == 0
    keys = importlib.import_module(f"na_cli.bench.{name}").KEYS
    assert set(keys) <= set(json.loads(out.read_text(encoding="utf-8")))
    assert capsys.readouterr().out.strip()
