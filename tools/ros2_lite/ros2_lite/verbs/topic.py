# SPDX-License-Identifier: Apache-2.0
"""Look at topics and publish to them."""

from __future__ import annotations

import argparse
import time
from typing import Any

import yaml

from ..cli import add_verbs
from ..graph import Graph, absolute, graph
from ..graph import add_arguments as add_graph_arguments
from ..messages import TRUNCATE, fill, interface_class, select, to_yaml
from ..rate import RateMeter


def positive(text: str) -> int:
    """Return a count above zero."""
    if int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return int(text)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    verbs = add_verbs(parser)

    verb = verbs.add_parser("list", help="names of topics")
    verb.add_argument("-t", "--show-types", action="store_true")
    verb.add_argument("-c", "--count-topics", action="store_true")
    verb.add_argument("--include-hidden-topics", action="store_true")
    verb.set_defaults(main=list_)
    add_graph_arguments(verb)

    verb = verbs.add_parser("info", help="type and number of publishers and subscriptions")
    verb.add_argument("topic_name", type=absolute)
    verb.add_argument("-v", "--verbose", action="store_true", help="endpoints with their QoS")
    verb.set_defaults(main=info)
    add_graph_arguments(verb)

    verb = verbs.add_parser("type", help="type of a topic")
    verb.add_argument("topic_name", type=absolute)
    verb.set_defaults(main=type_)
    add_graph_arguments(verb)

    verb = verbs.add_parser("echo", help="print messages")
    verb.add_argument("topic_name", type=absolute)
    verb.add_argument("message_type", nargs="?")
    verb.add_argument("--once", action="store_true", help="end after the first message")
    verb.add_argument("--field", default="", help="only this field, e.g. header.stamp")
    verb.add_argument("--timeout", type=float, metavar="S", help="end after this long [s]")
    verb.add_argument("-f", "--full-length", action="store_true", help="do not cut long arrays")
    verb.add_argument("-l", "--truncate-length", type=int, default=TRUNCATE)
    verb.set_defaults(main=echo)
    add_graph_arguments(verb)

    verb = verbs.add_parser("hz", help="measure the rate of messages")
    verb.add_argument("topic_name", type=absolute)
    verb.add_argument("-w", "--window", type=positive, default=10_000, help="messages averaged")
    verb.set_defaults(main=hz)
    add_graph_arguments(verb)

    verb = verbs.add_parser("pub", help="publish messages")
    verb.add_argument("topic_name", type=absolute)
    verb.add_argument("message_type")
    verb.add_argument("values", nargs="?", default="{}", help="YAML, e.g. '{data: 1}'")
    verb.add_argument("-r", "--rate", type=float, default=1.0, help="[Hz]")
    verb.add_argument("-1", "--once", action="store_true", help="publish one message and end")
    verb.add_argument("-t", "--times", type=positive, help="publish so many messages and end")
    verb.add_argument("-w", "--wait-matching-subscriptions", type=int, default=None)
    verb.set_defaults(main=pub)
    add_graph_arguments(verb)


def list_(args: argparse.Namespace) -> None:
    """`ros2 topic list`."""
    with graph(args) as ros:
        ros.settle()
        topics = ros.topics(hidden=args.include_hidden_topics)
    if args.count_topics:
        print(len(topics))
        return
    for name, types in topics:
        print(f"{name} [{', '.join(types)}]" if args.show_types else name)


def type_(args: argparse.Namespace) -> None:
    """`ros2 topic type`."""
    with graph(args) as ros:
        print(ros.type_of_topic(args.topic_name, args.spin_time))


def info(args: argparse.Namespace) -> None:
    """`ros2 topic info`."""
    with graph(args) as ros:
        kind = ros.type_of_topic(args.topic_name, args.spin_time)
        ros.settle()
        end = "\n\n" if args.verbose else "\n"
        print(f"Type: {kind}", end=end)
        for label, count, details in (
            ("Publisher", ros.node.count_publishers, ros.node.get_publishers_info_by_topic),
            ("Subscription", ros.node.count_subscribers, ros.node.get_subscriptions_info_by_topic),
        ):
            print(f"{label} count: {count(args.topic_name)}", end=end)
            for endpoint in details(args.topic_name) if args.verbose else ():
                print(endpoint, end=end)


def _subscribe(ros: Graph, args: argparse.Namespace, kind: Any, depth: int, **kwargs: Any) -> None:
    qos = ros.matching_qos(args.topic_name, depth)
    ros.node.create_subscription(kind, args.topic_name, kwargs.pop("callback"), qos, **kwargs)


def echo(args: argparse.Namespace) -> int | None:
    """`ros2 topic echo`."""
    limit = None if args.full_length else args.truncate_length
    printed: list[None] = []

    def show(message: Any) -> None:
        if not (args.once and printed):
            print(to_yaml(select(message, args.field), limit), end="---\n", flush=True)
            printed.append(None)

    with graph(args) as ros:
        name = args.message_type or ros.type_of_topic(args.topic_name, args.spin_time)
        _subscribe(ros, args, interface_class(name, "msg"), 100, callback=show)
        ros.spin(lambda: args.once and printed, args.timeout)
    return 1 if args.once and not printed else None


def hz(args: argparse.Namespace) -> None:
    """`ros2 topic hz`."""
    meter = RateMeter(args.window)
    with graph(args) as ros:
        kind = interface_class(ros.type_of_topic(args.topic_name, None), "msg")
        _subscribe(ros, args, kind, 1000, callback=lambda _: meter.add(time.time_ns()), raw=True)

        def report() -> bool:
            text = meter.report()
            if text is not None:
                print(text, flush=True)
            return False

        ros.spin(report)


def pub(args: argparse.Namespace) -> None:
    """`ros2 topic pub`."""
    if not args.rate > 0.0:
        raise ValueError(f"rate must be greater than zero, got {args.rate}")
    kind = interface_class(args.message_type, "msg")
    message = kind()
    fill(message, yaml.safe_load(args.values) or {})
    left = 1 if args.once else args.times
    wanted = args.wait_matching_subscriptions
    wanted = (1 if left else 0) if wanted is None else wanted
    with graph(args) as ros:
        publisher = ros.node.create_publisher(kind, args.topic_name, 10)
        if publisher.get_subscription_count() < wanted:
            print(f"Waiting for at least {wanted} matching subscription(s)...", flush=True)
        ros.spin(lambda: publisher.get_subscription_count() >= wanted)
        count = 0
        while left is None or count < left:
            count += 1
            print(f"publishing #{count}: {message!r}\n", flush=True)
            publisher.publish(message)
            ros.spin(lambda: False, 0.1 if count == left else 1.0 / args.rate)
