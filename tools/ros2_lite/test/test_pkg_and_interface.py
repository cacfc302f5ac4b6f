# SPDX-License-Identifier: Apache-2.0
"""`ros2 pkg` and `ros2 interface` on an installation made here."""

from __future__ import annotations

from pathlib import Path

import pytest
from ros2_lite import cli


@pytest.fixture
def interfaces(prefix: Path) -> Path:
    """Two definitions, one of which contains the other."""
    folder = prefix / "share" / "rl_demo" / "msg"
    folder.mkdir()
    (folder / "Inner.msg").write_text("# about\nfloat64 x  # [m]\nuint8 KIND=3\n")
    (folder / "Outer.msg").write_text("# top\nInner[] items\nstring<=5 name\nrl_demo/Inner one\n")
    (prefix / "share" / "rl_demo" / "srv").mkdir()
    (prefix / "share" / "rl_demo" / "srv" / "Do.srv").write_text("bool on\n---\nbool ok\n")
    return prefix


def ask(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    """Return what `ros2 ARGS...` prints."""
    assert cli.run(list(args)) is None
    return capsys.readouterr().out


def test_packages(prefix: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(capsys, "pkg", "list") == "rl_demo\n"
    assert ask(capsys, "pkg", "prefix", "rl_demo") == f"{prefix}\n"
    assert ask(capsys, "pkg", "prefix", "rl_demo", "--share") == f"{prefix}/share/rl_demo\n"
    assert ask(capsys, "pkg", "executables", "rl_demo") == "rl_demo talker\n"
    full = f"{prefix}/lib/rl_demo/talker\n"
    assert ask(capsys, "pkg", "executables", "rl_demo", "--full-path") == full
    assert cli.run(["pkg", "prefix", "nobody"]) == "Package not found: 'nobody'"


def test_definitions(interfaces: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(capsys, "interface", "show", "rl_demo/msg/Outer") == (
        "# top\nInner[] items\n\tfloat64 x\n\tuint8 KIND=3\nstring<=5 name\n"
        "rl_demo/Inner one\n\tfloat64 x\n\tuint8 KIND=3\n"
    )
    assert ask(capsys, "interface", "show", "rl_demo/srv/Do") == "bool on\n---\nbool ok\n"
    shown = ask(capsys, "interface", "show", "rl_demo/msg/Inner", "--no-comments")
    assert shown == "float64 x\nuint8 KIND=3\n"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("rl_demo/Outer", "Expected three parts"),
        ("nobody/msg/X", "Unknown package 'nobody'"),
        ("rl_demo/msg/X", "Could not find the interface 'rl_demo/msg/X'"),
    ],
)
def test_unknown_definitions(interfaces: Path, name: str, words: str) -> None:
    assert words in str(cli.run(["interface", "show", name]))
