# SPDX-License-Identifier: Apache-2.0
"""`./na bag ACTION`: look at, check, mend, change, play and exchange NAD episodes."""

from __future__ import annotations

import argparse
import sys

HELP = "NAD episodes: info, validate, recover, merge, trim, relabel, play, export, import"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add one subparser per action."""
    from na_cli.bag import change, exchange, player, show

    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for module in (show, change, player, exchange):
        module.add(actions)


def run(arguments: argparse.Namespace) -> int:
    """Run the action; 1 with one sentence when the bag or a file is at fault."""
    from na_core.nad.errors import NadError

    try:
        return int(arguments.function(arguments))
    except BrokenPipeError:  # the reader of our output, such as head, has had enough
        return 141
    except (NadError, ValueError, ImportError, OSError) as error:
        print(f"./na bag {arguments.action}: {error}", file=sys.stderr)
        return 1
