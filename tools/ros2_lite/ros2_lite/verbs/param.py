# SPDX-License-Identifier: Apache-2.0
"""Look at parameters of nodes and set them."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from rclpy.parameter import Parameter, get_parameter_value, parameter_value_to_python
from rclpy.parameter_client import AsyncParameterClient

from ..cli import add_verbs
from ..graph import Graph, absolute, graph
from ..graph import add_arguments as add_graph_arguments

LABELS = {
    1: "Boolean value is:", 2: "Integer value is:", 3: "Double value is:", 4: "String value is:",
    5: "Byte values are:", 6: "Boolean values are:", 7: "Integer values are:",
    8: "Double values are:", 9: "String values are:",
}  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    verbs = add_verbs(parser)

    verb = verbs.add_parser("list", help="names of parameters")
    verb.add_argument("node_name", nargs="?", type=absolute)
    verb.set_defaults(main=list_)
    add_graph_arguments(verb)

    verb = verbs.add_parser("get", help="value of a parameter")
    verb.add_argument("node_name", type=absolute)
    verb.add_argument("parameter_name")
    verb.add_argument("--hide-type", action="store_true")
    verb.set_defaults(main=get)
    add_graph_arguments(verb)

    verb = verbs.add_parser("set", help="set a parameter; ends with 1 where the node refuses")
    verb.add_argument("node_name", type=absolute)
    verb.add_argument("parameter_name")
    verb.add_argument("value", help="read by the rules of YAML")
    verb.set_defaults(main=set_)
    add_graph_arguments(verb)


def _client(ros: Graph, node_name: str) -> AsyncParameterClient:
    if not ros.spin(lambda: node_name in ros.nodes(hidden=True), ros.spin_time):
        raise RuntimeError(
            f"Node not found: '{node_name}'; nodes: {', '.join(ros.nodes()) or 'none'}"
        )
    client = AsyncParameterClient(ros.node, node_name)
    if not ros.spin(client.services_are_ready, ros.spin_time):
        raise RuntimeError(
            f"the parameter services of '{node_name}' did not answer in {ros.spin_time:g} s"
        )
    return client


def _answer(ros: Graph, future: Any) -> Any:
    if not ros.spin(future.done, max(ros.spin_time, 5.0)):
        raise RuntimeError("the node did not answer in time; is it still spinning?")
    return future.result()


def list_(args: argparse.Namespace) -> None:
    """`ros2 param list`."""
    with graph(args) as ros:
        if args.node_name is None:
            ros.settle()
        for node_name in [args.node_name] if args.node_name else ros.nodes():
            client = _client(ros, node_name)
            names = _answer(ros, client.list_parameters()).result.names
            if args.node_name is None:
                print(f"{node_name}:")
            for name in sorted(names):
                print(f"  {name}")


def get(args: argparse.Namespace) -> str | None:
    """`ros2 param get`."""
    with graph(args) as ros:
        values = _answer(
            ros, _client(ros, args.node_name).get_parameters([args.parameter_name])
        ).values
    if not values or values[0].type == 0:
        return f"Parameter not set: '{args.parameter_name}' of '{args.node_name}'"
    value = parameter_value_to_python(values[0])
    value = value.tolist() if hasattr(value, "tolist") else value
    print(value if args.hide_type else f"{LABELS[values[0].type]} {value}")
    return None


def set_(args: argparse.Namespace) -> int:
    """`ros2 param set`."""
    value = parameter_value_to_python(get_parameter_value(args.value))
    value = value.tolist() if hasattr(value, "tolist") else value
    with graph(args) as ros:
        client = _client(ros, args.node_name)
        parameter = Parameter(args.parameter_name, value=value)
        result = _answer(ros, client.set_parameters([parameter])).results[0]
    reason = f": {result.reason}" if result.reason else ""
    if result.successful:
        print(f"Set parameter successful{reason}")
        return 0
    print(f"Setting parameter failed{reason}", file=sys.stderr)
    return 1
