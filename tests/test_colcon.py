# SPDX-License-Identifier: Apache-2.0
"""colcon alone builds our packages, and finds and runs their tests."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = "na_description"  # the quickest with tests


@pytest.mark.slow
def test_colcon_builds_a_package_and_runs_its_tests(workspace_root: Path, tmp_path: Path) -> None:
    def colcon(*words: str) -> str:
        command = [str(Path(sys.executable).with_name("colcon")), "--log-base", str(tmp_path / "l")]
        done = subprocess.run(
            [*command, *words], cwd=workspace_root, capture_output=True, text=True, timeout=170
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    listed = colcon("list", "--names-only", "--base-paths", "src", "launch", "urdf").split()
    assert len(listed) == 8
    folders = ["--build-base", str(tmp_path / "b"), "--install-base", str(tmp_path / "i")]
    words = ["--base-paths", "src", "launch", "urdf", "--packages-select", PACKAGE, *folders]
    colcon("build", *words)
    colcon("test", *words, "--pytest-args", "-m", "not slow")
    result = colcon("test-result", "--test-result-base", str(tmp_path / "b"))
    found = re.search(r"Summary: (\d+) tests, 0 errors, 0 failures", result)
    assert found is not None and int(found[1]) > 20, result
