# SPDX-License-Identifier: Apache-2.0
"""Run a launch file."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from ament_index_python.packages import PackageNotFoundError, get_package_share_directory
from launch import LaunchDescription, LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import (
    AnyLaunchDescriptionSource,
    get_launch_description_from_python_launch_file,
)
from launch.substitution import describe_all


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument(
        "-n",
        "--noninteractive",
        action="store_true",
        help="no terminal sends Ctrl-C to the children",
    )
    parser.add_argument("-d", "--debug", action="store_true", help="show tracebacks")
    parser.add_argument(
        "-s",
        "--show-args",
        "--show-arguments",
        action="store_true",
        help="show the arguments of the launch file",
    )
    parser.add_argument(
        "-a",
        "--show-all-subprocesses-output",
        action="store_true",
        help="show and log the whole output of every process",
    )
    parser.add_argument("--launch-prefix", help="words to put before every command")
    parser.add_argument("package_or_path", help="package, or path of a launch file")
    parser.add_argument(
        "rest",
        nargs="*",
        metavar="launch_file and name:=value",
        help="name of the launch file in the package, then its arguments",
    )
    parser.set_defaults(main=main)  # fmt: skip


def find_launch_file(package: str, name: str) -> str:
    """Return the path of the one file called `name` in the share folder of `package`."""
    try:
        share = get_package_share_directory(package)
    except (PackageNotFoundError, ValueError) as error:
        raise RuntimeError(
            f"Package '{package}' not found (and no such file): searched "
            f"AMENT_PREFIX_PATH={os.environ.get('AMENT_PREFIX_PATH', '')!r}"
        ) from error
    found = [os.path.join(root, name) for root, _, files in os.walk(share) if name in files]
    if len(found) != 1:
        there = sorted({f for _, _, files in os.walk(share) for f in files if ".launch." in f})
        how = f"more than once: {found}" if found else f"nowhere; launch files there: {there}"
        raise RuntimeError(
            f"file '{name}' was found in the share directory of package '{package}' {how}"
        )
    return found[0]


def parse_launch_arguments(arguments: Sequence[str]) -> list[tuple[str, str]]:
    """Return (name, value) pairs of `name:=value` words; of equal names the last one counts."""
    pairs: dict[str, str] = {}
    for argument in arguments:
        name, separator, value = argument.partition(":=")
        if not (name and separator and value):
            raise RuntimeError(
                f"malformed launch argument '{argument}', expected format '<name>:=<value>'"
            )
        pairs[name] = value
    return list(pairs.items())


def describe_arguments(description: LaunchDescription) -> str:
    """Return the text of --show-args."""
    arguments = description.get_launch_arguments()
    lines = ["Arguments (pass arguments as '<name>:=<value>'):"]
    for argument in arguments:
        mark = "*" if argument._conditionally_included else ""
        lines += ["", f"    '{argument.name}':{mark}", f"        {argument.description}"]
        if argument.default_value is not None:
            lines.append(f"        (default: {describe_all(argument.default_value)})")
    if not arguments:
        lines += ["", "  No arguments."]
    elif any(argument._conditionally_included for argument in arguments):
        lines += ["", "* argument(s) which are only used if specific conditions occur"]
    return "\n".join(lines)


def main(args: argparse.Namespace) -> int:
    """Launch, or show the arguments."""
    rest: list[str] = list(args.rest)
    if os.path.isfile(args.package_or_path):
        path = args.package_or_path
    elif rest:
        path = find_launch_file(args.package_or_path, rest.pop(0))
    else:
        raise RuntimeError(
            f"'{args.package_or_path}' is no file; give a path, or a package and a launch file"
        )
    if args.show_args:
        print(describe_arguments(get_launch_description_from_python_launch_file(path)))
        return 0
    if args.launch_prefix:
        rest.append(f"launch-prefix:={args.launch_prefix}")
    if args.show_all_subprocesses_output:
        os.environ["OVERRIDE_LAUNCH_PROCESS_OUTPUT"] = "both"
    service = LaunchService(
        argv=rest, noninteractive=args.noninteractive or not sys.stdin.isatty(), debug=args.debug
    )
    service.include_launch_description(
        LaunchDescription(
            [
                IncludeLaunchDescription(
                    AnyLaunchDescriptionSource(path), launch_arguments=parse_launch_arguments(rest)
                )
            ]
        )
    )
    return service.run()
