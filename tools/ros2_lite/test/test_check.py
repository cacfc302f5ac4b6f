# SPDX-License-Identifier: Apache-2.0
"""The guard that keeps this subset away from the real packages."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest


def test_most_tests_run_only_without_the_real_packages(check: ModuleType) -> None:
    found = check.real_packages()
    if found:
        pytest.skip(f"the real packages are here ({found[0]}); ros2_lite is not tested beside them")


def test_finds_real_packages_wherever_they_may_be(tmp_path: Path, check: ModuleType) -> None:
    site = tmp_path / "site-packages"
    apt = tmp_path / "opt" / "jazzy"
    for package in (site / "launch_ros", apt / "lib" / "python3.12" / "site-packages" / "launch"):
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("'''The real one.'''\n")
    prefix = tmp_path / "ws"
    (prefix / "share" / "ros2cli").mkdir(parents=True)
    found = check.real_packages([str(site)], [str(prefix)], [str(apt)])
    assert sorted(Path(path).name for path in found) == ["launch", "launch_ros", "ros2cli"]


def test_passes_over_our_own_packages_and_plain_folders(tmp_path: Path, check: ModuleType) -> None:
    ours = Path(__file__).resolve().parent.parent
    (tmp_path / "launch").mkdir()  # e.g. the folder with the launch files of this repository
    assert check.real_packages([str(ours), str(tmp_path)], [], []) == []


def test_reports_what_it_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, check: ModuleType,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    (tmp_path / "share" / "launch").mkdir(parents=True)
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))
    assert check.main() == 1
    assert f"{tmp_path}/share/launch: packages of this name are installed" in (
        capsys.readouterr().err
    )
