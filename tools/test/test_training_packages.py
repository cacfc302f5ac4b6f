# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from na_cli import training_packages
from na_cli.environment import Workspace
from na_cli.setup_steps import SetupError


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A clone whose pins for training are made up."""
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements" / "train.txt").write_text("torch==1\n")
    workspace = Workspace(tmp_path, apt_ros=tmp_path / "no_ros")
    monkeypatch.setattr(Workspace, "here", classmethod(lambda cls: workspace))
    return workspace


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What would have been run."""
    ran: list[list[str]] = []

    def fake(command: list[str], *rest: object) -> str:
        ran.append(command)
        return ""

    monkeypatch.setattr(training_packages, "run", fake)
    return ran


def test_the_pins_are_installed_once_and_again_when_they_change(
    clone: Workspace, commands: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    training_packages.ensure_training_packages()
    training_packages.ensure_training_packages()
    assert len(commands) == 1
    assert commands[0][:4] == [sys.executable, "-m", "pip", "install"]
    assert commands[0][-1] == str(clone.root / "requirements" / "train.txt")
    assert "torch is large" in capsys.readouterr().out
    (clone.root / "requirements" / "train.txt").write_text("torch==2\n")
    training_packages.ensure_training_packages()
    assert len(commands) == 2


def test_a_failed_installation_says_what_to_run_and_is_tried_again(
    clone: Workspace, commands: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    working: Callable[..., str] = training_packages.run

    def fail(*_: object) -> str:
        raise SetupError("no space left")

    monkeypatch.setattr(training_packages, "run", fail)
    with pytest.raises(SetupError, match=r"(?s)no space left.*download\.pytorch\.org/whl/cpu"):
        training_packages.ensure_training_packages()
    monkeypatch.setattr(training_packages, "run", working)
    training_packages.ensure_training_packages()
    assert len(commands) == 1
