# SPDX-License-Identifier: Apache-2.0
"""Look at interface definitions."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from ament_index_python.packages import PackageNotFoundError, get_package_share_directory

from ..cli import add_verbs

BUILT_IN = re.compile(r"(bool|byte|char|float\d+|u?int\d+|w?string)(<=\d+)?(\[.*)?")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    verb = add_verbs(parser).add_parser("show", help="print a definition")
    verb.add_argument("type", help="e.g. std_msgs/msg/String")
    verb.add_argument("--no-comments", action="store_true")
    verb.set_defaults(main=show)


def definition(name: str) -> Path:
    """Return the file that defines `pkg/msg/Name` or `pkg/srv/Name`."""
    parts = name.split("/")
    if len(parts) != 3:
        raise ValueError(f"Invalid name '{name}'. Expected three parts separated by '/'")
    try:
        path = Path(get_package_share_directory(parts[0]), parts[1], f"{parts[2]}.{parts[1]}")
    except PackageNotFoundError as error:
        raise LookupError(f"Unknown package '{parts[0]}' of '{name}'") from error
    if not path.is_file():
        raise LookupError(f"Could not find the interface '{name}' at {path}")
    return path


def lines(name: str, comments: bool, indent: str = "") -> list[str]:
    """Return the lines of a definition, each field followed by the fields of its type."""
    result: list[str] = []
    for line in definition(name).read_text(encoding="utf-8").splitlines():
        code = line.split("#")[0].rstrip()
        shown = line.rstrip() if comments else code
        if shown or comments:
            result.append((indent + shown).rstrip())
        kind = code.split()[0] if len(code.split()) > 1 else ""
        if kind and not BUILT_IN.fullmatch(kind):
            kind = kind.split("[")[0].split("<=")[0]
            if "/" not in kind:
                kind = f"{name.split('/')[0]}/{kind}"
            package, *_, last = kind.split("/")
            result += lines(f"{package}/msg/{last}", False, indent + "\t")
    return result


def show(args: argparse.Namespace) -> None:
    """`ros2 interface show`."""
    print("\n".join(lines(args.type, not args.no_comments)))
