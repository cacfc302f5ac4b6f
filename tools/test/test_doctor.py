# SPDX-License-Identifier: Apache-2.0
"""`./na doctor` on emulated arms: exit code, page and JSON agree."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from na_cli.registry import UsageError
from na_cli.verbs import doctor


def run(*words: str) -> int:
    parser = argparse.ArgumentParser()
    doctor.add_arguments(parser)
    return doctor.run(parser.parse_args(list(words)))


def test_a_healthy_set_up_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "page.json"
    assert run("--emulated", "healthy", "--bag-dir", str(tmp_path), "--json", str(out)) == 0
    page = json.loads(out.read_text())
    assert page["ok"] and page["failed"] == 0
    assert "ready: 0 failed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("setup", "name"),
    [
        ("missing-servo", "absent id"),
        ("low-voltage", "voltage"),
        ("stray-servo", "absent id"),
        ("held-port", "free"),
    ],
)
@pytest.mark.parametrize("robot", ["omx", "so101"])
def test_broken_set_ups_fail_with_their_cause(
    robot: str, setup: str, name: str, tmp_path: Path
) -> None:
    out = tmp_path / "page.json"
    words = ["--robot", robot, "--emulated", setup, "--bag-dir", str(tmp_path)]
    assert run(*words, "--json", str(out)) == 1
    page = json.loads(out.read_text())
    assert name in [check["name"] for check in page["checks"] if check["status"] == "FAIL"]


def test_ports_and_emulation_exclude_each_other() -> None:
    with pytest.raises(UsageError, match="leave the ports away"):
        run("--emulated", "healthy", "--leader-port", "/dev/ttyUSB0")


def test_an_unknown_robot_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="nobot"):
        run("--robot", "nobot")
