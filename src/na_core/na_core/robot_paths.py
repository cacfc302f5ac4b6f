# SPDX-License-Identifier: Apache-2.0
"""Where robot files are found: a named folder, an installed package, or the source tree."""

from __future__ import annotations

import os
from pathlib import Path

from na_core.robot_schema import RobotSpecError
from na_core.testing import source_root

PACKAGE = "na_description"


def description_dirs() -> list[Path]:
    """Return existing folders that hold `robots/` and `xacro/`, best first.

    `NA_DESCRIPTION_DIR`, then each prefix of `AMENT_PREFIX_PATH` that registers na_description,
    then `urdf/` of the source tree.
    """
    found: list[Path] = []
    named = os.environ.get("NA_DESCRIPTION_DIR")
    if named:
        found.append(Path(named))
    for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep):
        marker = Path(prefix) / "share" / "ament_index" / "resource_index" / "packages" / PACKAGE
        if prefix and marker.exists():
            found.append(Path(prefix) / "share" / PACKAGE)
    root = source_root()
    if root is not None:
        found.append(root / "urdf")
    return [folder for folder in found if (folder / "robots").is_dir()]


def robot_names() -> list[str]:
    """Return the names of all robots that can be found, sorted."""
    files = [file for folder in description_dirs() for file in (folder / "robots").glob("*.yaml")]
    return sorted({file.stem for file in files})


def find_robot_file(robot: str | Path) -> Path:
    """Return the absolute path of a robot file given its name or its path.

    Raises:
        RobotSpecError: there is no such robot; the text lists the robots there are.
    """
    text = str(robot)
    if isinstance(robot, Path) or text.endswith((".yaml", ".yml")) or os.sep in text:
        path = Path(robot).absolute()
        if not path.is_file():
            raise RobotSpecError(path, "(file)", text, "an existing robot file")
        return path
    folders = description_dirs()
    for folder in folders:
        path = folder / "robots" / f"{text}.yaml"
        if path.is_file():
            return path.absolute()
    places = ", ".join(str(folder / "robots") for folder in folders)
    if not places:
        places = "(no description folder; set NA_DESCRIPTION_DIR or build na_description)"
    known = ", ".join(robot_names()) or "none"
    raise RobotSpecError(places, "robot", text, f"one of: {known}, or the path of a robot file")
