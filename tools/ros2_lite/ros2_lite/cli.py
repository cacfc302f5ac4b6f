# SPDX-License-Identifier: Apache-2.0
"""The `ros2` command: finds the verb, refuses what it does not know, returns the exit code."""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
from collections.abc import Sequence

from .refusal import FeatureRefusedError

COMMANDS = ("bag", "interface", "launch", "node", "param", "pkg", "run", "service", "topic")


class _Parser(argparse.ArgumentParser):
    """Refuses unknown verbs by name instead of listing all choices."""

    def _check_value(self, action: argparse.Action, value: object) -> None:
        if isinstance(action, argparse._SubParsersAction) and value not in action.choices:
            verbs = ", ".join(action.choices)
            raise FeatureRefusedError(f"`{self.prog} {value}` (it has: {verbs})")
        super()._check_value(action, value)


def build_parser(command: str) -> argparse.ArgumentParser:
    """Return the parser of one command; its namespace has a function `main(args)`."""
    module = importlib.import_module(f".verbs.{command}", __package__)
    parser = _Parser(prog=f"ros2 {command}", description=module.__doc__)
    module.add_arguments(parser)
    return parser


def add_verbs(
    parser: argparse.ArgumentParser,
) -> argparse._SubParsersAction[argparse.ArgumentParser]:
    """Return the sub-parsers of a command that has verbs of its own."""
    return parser.add_subparsers(metavar="verb", required=True, parser_class=_Parser)


def run(argv: Sequence[str]) -> int | str | None:
    """Run one command line without the leading `ros2`; return what `sys.exit` takes."""
    if not argv or argv[0] in ("-h", "--help"):
        print(f"usage: ros2 {{{','.join(COMMANDS)}}} ...\n")
        print("The subset of ros2cli named ros2_lite; `ros2 COMMAND --help` shows what it takes.")
        return 0 if argv else 1
    command, *rest = argv
    try:
        if command not in COMMANDS:
            raise FeatureRefusedError(f"`ros2 {command}` (it has: {', '.join(COMMANDS)})")
        parser = build_parser(command)
        args, unknown = parser.parse_known_args(rest)
        if unknown:
            raise FeatureRefusedError(f"`ros2 {command} ... {' '.join(unknown)}`")
        result: int | str | None = args.main(args)
        return result
    except KeyboardInterrupt:
        return signal.SIGINT.value  # as the real one
    except (ValueError, RuntimeError, LookupError, ImportError, OSError) as error:
        if isinstance(error, BrokenPipeError):  # e.g. `ros2 topic echo /x | head -1`
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 128 + signal.SIGPIPE
        return str(error.args[0]) if isinstance(error, KeyError) else str(error)


def main() -> None:
    """Console script `ros2`."""
    sys.exit(run(sys.argv[1:]))
