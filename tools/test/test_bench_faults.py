# SPDX-License-Identifier: Apache-2.0
"""The faults bench: cells say what became of the arm, damage lets no wrong value through."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

pytest.importorskip("dynamixel_sdk")
pytest.importorskip("scservo_sdk")
pytest.importorskip("pinocchio")

from na_cli.bench import _fault_kill, _fault_soak, faults
from na_cli.bench._fault_cases import FAMILIES, PHASES, cases
from na_cli.bench._fault_rig import run_cell

OUTCOMES = {"held", "parked", "recovered", "refused"}


def case(family: str, name: str):  # type: ignore[no-untyped-def]
    return next(case for case in cases(family) if case.name == name)


@pytest.mark.parametrize("family", list(FAMILIES))
@pytest.mark.parametrize(
    ("name", "outcome"),
    [
        ("whole bus silent", "held"),
        ("return delay 500 µs", "recovered"),
        ("cable replugged, another name", "refused"),
    ],
)
def test_a_cell_says_what_became_of_the_arm(
    family: str, name: str, outcome: str, tmp_path: Path
) -> None:
    cell = run_cell(family, case(family, name), "motion", tmp_path)
    assert cell.outcome == outcome, cell.message
    assert cell.fresh_while_stale == 0
    assert cell.recovered_after_clear == ("no" if outcome == "refused" else "yes")
    if outcome == "held":
        assert cell.detected_ms is not None and cell.detected_ms < 200
        assert cell.arm_state_after == "fault" and cell.torque_after == "on"


@pytest.mark.slow
@pytest.mark.parametrize("family", list(FAMILIES))
def test_no_fault_crashes_hangs_or_moves_the_arm(family: str, tmp_path: Path) -> None:
    for number, row in enumerate(cases(family)):
        folder = tmp_path / str(number)
        folder.mkdir()
        cell = run_cell(family, row, PHASES[number % len(PHASES)], folder)
        assert cell.outcome in OUTCOMES, cell
        assert cell.fresh_while_stale == 0, cell


def test_every_family_has_every_fault_of_the_plan() -> None:
    for family in FAMILIES:
        names = {name for row in cases(family) for name, _ in row.faults}
        assert names >= {
            "drop_bytes",
            "corrupt_bytes",
            "duplicate_bytes",
            "delay_bytes",
            "latency_timer",
            "return_delay",
            "no_fast_reads",
            "silent",
            "cable_pulled",
            "status_error",
            "brown_out",
            "overload",
            "overheat",
            "encoder_wrap",
            "multi_turn",
            "power_on_turn",
            "stuck_encoder",
            "repeated_values",
            "eeprom_locked",
        }


@pytest.mark.parametrize("family", list(FAMILIES))
def test_damaged_bytes_let_no_wrong_value_through(family: str) -> None:
    result = _fault_soak.soak(family, 0.01, 2.0)
    assert result["wrong_values"] == 0
    assert result["valid_percent"] > 5 and result["damaged_packets"] > 10


@pytest.mark.parametrize("family", ["dynamixel", pytest.param("feetech", marks=pytest.mark.slow)])
def test_servos_stop_when_their_driver_is_killed_in_motion(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FASTDDS_BUILTIN_TRANSPORTS", "UDPv4")
    result = _fault_kill.kill_driver(family)
    assert result["speed"] > 0.5
    assert result["way"] < 0.3
    if family == "dynamixel":
        assert result["watchdogs_tripped"] == result["servos"]
        assert result["tripped_after_s"] < result["watchdog_s"] + 0.5
        assert result["stopped_after_s"] < result["watchdog_s"] + 0.5


def test_bench_returns_its_keys(capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    faults.add_arguments(parser)
    words = ["--family", "feetech", "--phase", "rest", "--only", "return delay"]
    result = faults.run(parser.parse_args([*words, "--minutes", "0", "--no-kill"]))
    assert set(result) == set(faults.KEYS)
    assert result["bad_outcomes"] == 0 and len(result["cells"]) == 1
    assert "return delay 500 µs" in capsys.readouterr().out
