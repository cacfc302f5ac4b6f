# SPDX-License-Identifier: Apache-2.0
"""
The same launch files start the same processes as with the real launch and launch_ros.

Runs where the interpreter of the tests imports the real packages (of Jazzy), or where
NA_REAL_LAUNCH_PYTHON names an interpreter that imports them and whatever the launch files need.
Compared are, in order of start: commands (executable, arguments, remappings), contents of parameter
files, changes to the environment, working folders, labels, exit codes, and declared arguments.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import launch
import pytest
from launch.launch_description_sources import get_launch_description_from_python_launch_file

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[2]
SOURCE = HERE.parent
DESCRIBE = SOURCE / "ros2_lite" / "describe.py"
OWN = HERE / "launch_files"
BUILT = os.environ.get("AMENT_PREFIX_PATH") or str(REPOSITORY / "install")


def project_cases() -> list[tuple[Path, tuple[str, ...]]]:
    """Return every launch file of this repository, bare and with each choice it declares."""
    cases: list[tuple[Path, tuple[str, ...]]] = []
    for path in sorted((REPOSITORY / "launch").glob("**/*.launch.py")):
        cases.append((path, ()))
        try:
            description = get_launch_description_from_python_launch_file(str(path))
        except Exception:  # the test of the bare file tells why
            continue
        for argument in description.get_launch_arguments():
            default = "".join(getattr(x, "text", "") for x in argument.default_value or ())
            choices = [c for c in argument.choices or () if c != default]
            if argument.name == "namespace":
                choices.append("bench")
            cases += [(path, (f"{argument.name}:={choice}",)) for choice in choices]
    return cases


CASES: list[tuple[Path, tuple[str, ...]]] = [
    (OWN / "everything.launch.py", ()),
    (OWN / "everything.launch.py", ("robot:=so101", "sim:=0", "arms:=3")),
    (OWN / "everything.launch.py", ("launch-prefix:=nice -n 1",)),
    (OWN / "nodes.launch.py", ()),
    (OWN / "nodes.launch.py", ("rate:=99.5", "port:=12", "flags:=[false]", "namespace:=x")),
    (OWN / "included.launch.py", ("needed:=a b",)),
    (OWN / "events.launch.py", ("--exit", "0")),
    (OWN / "events.launch.py", ("--exit", "1")),
    *project_cases(),
]


@pytest.fixture(scope="module")
def real() -> str:
    """The interpreter with the real packages."""
    named = os.environ.get("NA_REAL_LAUNCH_PYTHON")
    if not named and str(SOURCE) in str(getattr(launch, "__file__", "")):
        pytest.skip("no real launch_ros here, and NA_REAL_LAUNCH_PYTHON names no interpreter")
    python = named or sys.executable
    probe = (
        f"import sys; sys.path.insert(0, {str(DESCRIBE.parent)!r});"
        "import describe; sys.path.pop(0); describe.stub_missing_interfaces();"
        "import launch_ros.actions; print(launch_ros.__file__)"
    )
    done = subprocess.run([python, "-c", probe], capture_output=True, text=True,
                          env=environment(ours=False))  # fmt: skip
    if done.returncode:
        pytest.skip(f"{python} cannot import the real launch_ros: {done.stderr[-500:]}")
    if str(SOURCE) in done.stdout:
        pytest.fail(f"NA_REAL_LAUNCH_PYTHON={python} imports ros2_lite, not the real packages")
    return python


def environment(*, ours: bool) -> dict[str, str]:
    """Return this environment with our source tree first on PYTHONPATH, or not on it at all."""
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    paths = [path for path in paths if path and Path(path).resolve() != SOURCE]
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(SOURCE), *paths] if ours else paths)}


def dump(python: str, ours: bool, file: Path, words: tuple[str, ...], out: Path) -> Any:
    """Describe a launch file with one implementation; return its JSON and what was printed."""
    done = subprocess.run(
        [python, str(DESCRIBE), str(file), *words, "--json", str(out), "--seconds", "1.5"],
        env={**environment(ours=ours), "ROS_LOG_DIR": str(out.parent)}, cwd=HERE,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert out.is_file(), done.stdout
    return json.loads(out.read_text()), done.stdout


def label(case: tuple[Path, tuple[str, ...]]) -> str:
    """Return a readable name of a case."""
    return " ".join([case[0].name, *case[1]])


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=label)
def test_the_same_processes(
    real: str, prefix: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    case: tuple[Path, tuple[str, ...]],
) -> None:  # fmt: skip
    file, words = case
    if REPOSITORY / "launch" in file.parents:  # needs the built workspace, not the tiny prefix
        monkeypatch.setenv("AMENT_PREFIX_PATH", os.pathsep.join([BUILT, str(prefix)]))
    ours, our_text = dump(sys.executable, True, file, words, tmp_path / "ours.json")
    theirs, their_text = dump(real, False, file, words, tmp_path / "theirs.json")
    for key in theirs:
        assert ours[key] == theirs[key], f"{key} differ\nours:\n{our_text}\nreal:\n{their_text}"
    assert ours["return_code"] == 0, our_text
    assert ours["processes"], f"nothing was started:\n{our_text}"


@pytest.mark.slow
def test_the_same_lines_are_printed(real: str, tmp_path: Path) -> None:
    file = OWN / "printed.launch.py"
    words = ("--really", "--seconds", "30")
    ours, our_text = dump(sys.executable, True, file, words, tmp_path / "ours.json")
    theirs, their_text = dump(real, False, file, words, tmp_path / "theirs.json")
    assert ours["exit_codes"] == theirs["exit_codes"]
    # Output is drained before the end of a process is told, so only the order may differ.
    assert sorted(normal(our_text)) == sorted(normal(their_text))


def normal(text: str) -> list[str]:
    """Return the lines without process ids, interpreter paths and the log folder."""
    text = re.sub(r"pid \[?\d+\]?", "pid N", text)
    text = re.sub(r"cmd '\S+", "cmd 'PROGRAM", text)
    text = re.sub(r"below .*", "below FOLDER", text)
    return text.splitlines()
