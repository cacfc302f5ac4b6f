# SPDX-License-Identifier: Apache-2.0
"""Look at nodes."""

from __future__ import annotations

import argparse
import sys

from ..cli import add_verbs
from ..graph import add_arguments as add_graph_arguments
from ..graph import graph


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    verb = add_verbs(parser).add_parser("list", help="names of nodes")
    verb.add_argument("-a", "--all", action="store_true", help="hidden ones too")
    verb.add_argument("-c", "--count-nodes", action="store_true")
    verb.set_defaults(main=list_)
    add_graph_arguments(verb)


def list_(args: argparse.Namespace) -> None:
    """`ros2 node list`."""
    with graph(args) as ros:
        ros.settle()
        names = ros.nodes(hidden=args.all)
    if args.count_nodes:
        print(len(names))
        return
    if len(set(names)) < len(names):
        print("WARNING: some nodes in the graph share an exact name", file=sys.stderr)
    for name in names:
        print(name)
