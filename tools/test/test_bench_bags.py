# SPDX-License-Identifier: Apache-2.0
"""The benches of recording and reading measure every key that they promise."""

from __future__ import annotations

import argparse
from typing import Any

import pytest

from na_cli.bench import bag, crash, soak


def _run(bench: Any, *words: str) -> dict[str, Any]:
    parser = argparse.ArgumentParser()
    bench.add_arguments(parser)
    result: dict[str, Any] = bench.run(parser.parse_args(list(words)))
    assert set(bench.KEYS) <= set(result)
    return result


def test_bag_bench(capsys: pytest.CaptureFixture[str]) -> None:
    result = _run(bag, "--minutes", "0.5")
    assert result["read_ratio"] > 5.0 and result["messages"] > 7000
    assert "ours, from the cache" in capsys.readouterr().out


@pytest.mark.slow
def test_crash_bench() -> None:
    result = _run(crash, "--kills", "2")
    assert result["kills"] == 2 and result["episodes_unreadable"] == 0
    assert result["messages_lost_max"] <= result["messages_per_second"]


@pytest.mark.slow
def test_soak_bench() -> None:
    result = _run(soak, "--seconds", "4")
    assert result["drops"] == 0 and result["messages"] > 4 * 3 * 200
