# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import argparse
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from na_cli import registry
from na_cli.registry import UsageError
from na_cli.verbs import bench

ROOT = Path(__file__).resolve().parents[2]

HELP_ALONE = """
import sys
sys.path.insert(0, sys.argv[1])
from na_cli.__main__ import main
sys.exit(main(["help"]))
"""


def test_every_verb_is_listed_with_a_help_text() -> None:
    page = registry.describe_verbs()
    for name in registry.verb_names():
        line = next(line for line in page.splitlines() if line.strip().startswith(name))
        assert len(line.split()) > 3


@pytest.mark.parametrize("name", registry.bench_names())
def test_every_bench_promises_keys(name: str) -> None:
    module = importlib.import_module(f"na_cli.bench.{name}")
    assert module.KEYS
    assert module.__doc__


def test_a_bench_that_forgets_a_promised_key_is_a_defect(monkeypatch: pytest.MonkeyPatch) -> None:
    class Forgetful:
        KEYS = ("measured", "forgotten")

        @staticmethod
        def run(arguments: object) -> dict[str, float]:
            return {"measured": 1.0}

    monkeypatch.setattr(importlib, "import_module", lambda name: Forgetful)
    arguments = type("Arguments", (), {"name": "x", "json": None})()
    with pytest.raises(UsageError, match=r"did not measure \['forgotten'\]"):
        bench.run(arguments)  # type: ignore[arg-type]


def test_an_unknown_verb_is_refused_with_the_list() -> None:
    process = subprocess.run(
        [sys.executable, "-m", "na_cli", "fly"], capture_output=True, text=True, cwd=ROOT
    )
    assert process.returncode == 2
    assert "no verb 'fly'" in process.stderr
    assert "test" in process.stderr


def test_help_needs_nothing_installed() -> None:
    process = subprocess.run(
        [sys.executable, "-I", "-S", "-c", HELP_ALONE, str(ROOT / "tools")],
        capture_output=True,
        text=True,
    )
    assert process.returncode == 0, process.stderr
    assert "setup" in process.stdout


@pytest.mark.parametrize("name", registry.verb_names())
def test_every_verb_explains_itself(name: str) -> None:
    module = importlib.import_module(f"na_cli.verbs.{name}")
    if getattr(module, "PASS_THROUGH", False):
        return
    parser = argparse.ArgumentParser(prog=f"./na {name}", description=module.HELP)
    module.add_arguments(parser)
    assert name in parser.format_help()


@pytest.mark.parametrize("name", registry.bench_names())
def test_every_bench_explains_itself(name: str) -> None:
    module = importlib.import_module(f"na_cli.bench.{name}")
    parser = argparse.ArgumentParser(prog=name)
    module.add_arguments(parser)
    assert name in parser.format_help()
