# SPDX-License-Identifier: Apache-2.0
"""Where robots are found: a named folder beats an installed package beats the source tree."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from na_core.robot_paths import description_dirs, find_robot_file, robot_names

SOURCE = find_robot_file("omx").parent.parent


def description(folder: Path, robot: str) -> Path:
    """Copy the omx as `robot` into a new description folder."""
    (folder / "robots").mkdir(parents=True)
    shutil.copy(SOURCE / "robots" / "omx.yaml", folder / "robots" / f"{robot}.yaml")
    return folder


def installed(prefix: Path, robot: str) -> Path:
    """Make a prefix in which na_description is registered with the ament index."""
    description(prefix / "share" / "na_description", robot)
    index = prefix / "share" / "ament_index" / "resource_index" / "packages"
    index.mkdir(parents=True)
    (index / "na_description").touch()
    return prefix


def test_the_workspace_knows_three_robots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NA_DESCRIPTION_DIR", raising=False)
    assert {"omx", "panda", "so101"} <= set(robot_names())


def test_a_named_folder_beats_an_installed_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = description(tmp_path / "own", "omx")
    prefix = installed(tmp_path / "prefix", "omx")
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"{tmp_path / 'empty'}:{prefix}")
    monkeypatch.delenv("NA_DESCRIPTION_DIR", raising=False)
    assert find_robot_file("omx").is_relative_to(prefix)
    monkeypatch.setenv("NA_DESCRIPTION_DIR", str(named))
    assert find_robot_file("omx").is_relative_to(named)


def test_a_robot_missing_in_the_first_folder_is_found_in_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NA_DESCRIPTION_DIR", str(description(tmp_path, "mine")))
    assert find_robot_file("mine").is_relative_to(tmp_path)
    assert not find_robot_file("so101").is_relative_to(tmp_path)


def test_a_folder_without_robots_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NA_DESCRIPTION_DIR", str(tmp_path))
    assert tmp_path not in description_dirs()


def test_a_path_is_taken_as_it_is() -> None:
    path = SOURCE / "robots" / "omx.yaml"
    assert find_robot_file(path) == find_robot_file(str(path)) == path
