# SPDX-License-Identifier: Apache-2.0
"""The feedback bench: the guard keeps a contact that shakes without it; aids carry the leader."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pytest

from na_cli.bench import feedback

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    parser = argparse.ArgumentParser()
    feedback.add_arguments(parser)
    plot = tmp_path_factory.mktemp("feedback") / "plot.png"
    words = ["--quick", "--plot", str(plot)]
    found = feedback.run(parser.parse_args(words))
    found["plot"] = plot
    return found


def rows(result: dict[str, Any], guard: bool, gain: float) -> dict[str, Any]:
    (row,) = (r for r in result["trials"] if r["guard"] is guard and r["gain"] == gain)
    return dict(row)


def test_every_promised_figure_is_there(result: dict[str, Any]) -> None:
    assert set(feedback.KEYS) <= set(result)


def test_a_late_and_strong_feedback_shakes_without_the_guard(result: dict[str, Any]) -> None:
    row = rows(result, False, 2.0)
    assert not row["stable"] and row["off_wall_percent"] > 20.0 and row["energy_j"] < -1.0


def test_the_guard_keeps_the_contact(result: dict[str, Any]) -> None:
    row = rows(result, True, 2.0)
    assert row["stable"] and row["off_wall_percent"] == 0.0
    assert row["energy_j"] > -0.06 and row["tip_mm"] < 10.0


def test_the_hand_feels_the_wall(result: dict[str, Any]) -> None:
    assert rows(result, True, 0.0)["rendered_n"] == 0.0
    assert rows(result, True, 2.0)["rendered_n"] > 1.0


def test_aids_carry_the_leader_in_free_air(result: dict[str, Any]) -> None:
    torque, sag = result["free_hand_torque_nm"], result["sag_mm"]
    assert sag["torque off"] > 100.0 and sag["gravity"] < 10.0
    assert torque["gravity"][1] < 0.7 * torque["torque off"][1]
    assert torque["gravity, friction 50 %"][0] < 0.95 * torque["gravity"][0]


def test_the_plot_is_written_where_matplotlib_is(result: dict[str, Any]) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib comes with the training packages")
    plot: Path = result["plot"]
    assert plot.stat().st_size > 10_000
