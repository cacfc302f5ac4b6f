# SPDX-License-Identifier: Apache-2.0
"""Look at installed packages."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from ament_index_python.packages import (
    PackageNotFoundError,
    get_package_prefix,
    get_packages_with_prefixes,
)

from ..cli import add_verbs


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    verbs = add_verbs(parser)

    verb = verbs.add_parser("list", help="names of packages")
    verb.set_defaults(main=list_)

    verb = verbs.add_parser("prefix", help="where a package is installed")
    verb.add_argument("package_name")
    verb.add_argument("--share", action="store_true", help="its share folder instead")
    verb.set_defaults(main=prefix)

    verb = verbs.add_parser("executables", help="executables of a package, or of all")
    verb.add_argument("package_name", nargs="?")
    verb.add_argument("--full-path", action="store_true")
    verb.set_defaults(main=executables)


def list_(args: argparse.Namespace) -> None:
    """`ros2 pkg list`."""
    for name in _names():
        print(name)


def _names() -> list[str]:
    return sorted(get_packages_with_prefixes())


def _prefix(package: str) -> str:
    try:
        return str(get_package_prefix(package))
    except PackageNotFoundError as error:
        raise RuntimeError(f"Package not found: '{package}'") from error


def prefix(args: argparse.Namespace) -> None:
    """`ros2 pkg prefix`."""
    found = _prefix(args.package_name)
    print(os.path.join(found, "share", args.package_name) if args.share else found)


def executables(args: argparse.Namespace) -> None:
    """`ros2 pkg executables`."""
    names = [args.package_name] if args.package_name else _names()
    for name in names:
        folder = Path(_prefix(name), "lib", name)
        for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
            if path.is_file() and os.access(path, os.X_OK):
                print(path if args.full_path else f"{name} {path.name}")
