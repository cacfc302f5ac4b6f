# SPDX-License-Identifier: Apache-2.0
"""Look at services and call them."""

from __future__ import annotations

import argparse

import yaml

from ..cli import add_verbs
from ..graph import absolute, graph
from ..graph import add_arguments as add_graph_arguments
from ..messages import fill, interface_class


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    verbs = add_verbs(parser)

    verb = verbs.add_parser("list", help="names of services")
    verb.add_argument("-t", "--show-types", action="store_true")
    verb.add_argument("-c", "--count-services", action="store_true")
    verb.add_argument("--include-hidden-services", action="store_true")
    verb.set_defaults(main=list_)
    add_graph_arguments(verb)

    verb = verbs.add_parser("type", help="type of a service")
    verb.add_argument("service_name", type=absolute)
    verb.set_defaults(main=type_)
    add_graph_arguments(verb)

    verb = verbs.add_parser("call", help="call a service and print its answer")
    verb.add_argument("service_name", type=absolute)
    verb.add_argument("service_type")
    verb.add_argument("values", nargs="?", default="{}", help="YAML, e.g. '{data: true}'")
    verb.set_defaults(main=call)
    add_graph_arguments(verb, seconds=10.0)


def list_(args: argparse.Namespace) -> None:
    """`ros2 service list`."""
    with graph(args) as ros:
        ros.settle()
        services = ros.services(hidden=args.include_hidden_services)
    if args.count_services:
        print(len(services))
        return
    for name, types in services:
        print(f"{name} [{', '.join(types)}]" if args.show_types else name)


def type_(args: argparse.Namespace) -> int | None:
    """`ros2 service type`."""
    with graph(args) as ros:
        ros.spin(lambda: args.service_name in dict(ros.services(hidden=True)), args.spin_time)
        types = dict(ros.services(hidden=True)).get(args.service_name, [])
    for name in types:
        print(name)
    return None if types else 1


def call(args: argparse.Namespace) -> None:
    """`ros2 service call`: the wait for the service ends after the spin time."""
    kind = interface_class(args.service_type, "srv")
    request = kind.Request()
    fill(request, yaml.safe_load(args.values) or {})
    with graph(args) as ros:
        client = ros.node.create_client(kind, args.service_name)
        if not client.service_is_ready():
            print("waiting for service to become available...", flush=True)
        if not ros.spin(client.service_is_ready, args.spin_time):
            raise RuntimeError(
                f"service '{args.service_name}' of type '{args.service_type}' did not become "
                f"available within {args.spin_time:g} s; `ros2 service list -t` shows what there is"
            )
        print(f"requester: making request: {request!r}\n", flush=True)
        future = client.call_async(request)
        ros.spin(future.done)
        if future.result() is None:
            raise RuntimeError(f"Exception while calling service: {future.exception()!r}")
        print(f"response:\n{future.result()!r}\n", flush=True)
