# SPDX-License-Identifier: Apache-2.0
"""
Looks for the real packages, beside which this subset must never be installed.

`python -m ros2_lite.check`, run with the interpreter that would receive the packages and this
folder on PYTHONPATH, ends with 0 where none is found, else with 1 and a line per finding.
"""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Iterable
from pathlib import Path

PACKAGES = ("launch", "launch_ros", "launch_pytest", "ros2cli", "ros2launch")


def real_packages(
    paths: Iterable[str] | None = None,
    ament_prefixes: Iterable[str] | None = None,
    roots: Iterable[str] | None = None,
) -> list[str]:
    """
    Return the folders of packages with our names that are not ours.

    Searched are `paths` (default `sys.path`), the share folders of `ament_prefixes` (default
    $AMENT_PREFIX_PATH) and the site-packages of the installations `roots` (default /opt/ros/*).
    """
    if ament_prefixes is None:
        ament_prefixes = filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep))
    found = [Path(p, "share", name) for p in ament_prefixes for name in ("launch", "ros2cli")]
    folders = [Path(path or ".") for path in (sys.path if paths is None else paths)]
    for root in glob.glob("/opt/ros/*") if roots is None else roots:
        folders += [Path(p) for p in glob.glob(f"{root}/lib/python3*/*-packages")]
    for folder in folders:
        for name in PACKAGES:
            package = folder / name
            if (package / "__init__.py").is_file() and not is_ours(package):
                found.append(package)
    return sorted({str(path.resolve()) for path in found if path.is_dir()})


def is_ours(package: Path) -> bool:
    """Return whether the package folder belongs to this subset."""
    return "ros2_lite" in (package / "__init__.py").read_text(encoding="utf-8", errors="replace")


def main() -> int:
    """Report and return the exit code."""
    found = real_packages()
    for path in found:
        print(
            f"{path}: packages of this name are installed; ros2_lite must not be", file=sys.stderr
        )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
