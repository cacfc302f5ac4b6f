# SPDX-License-Identifier: Apache-2.0
"""The parameter reference in docs/, asked from the running nodes of an emulated pair."""

from __future__ import annotations

import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import rclpy
from rcl_interfaces.msg import ParameterDescriptor, ParameterType, ParameterValue
from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters
from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python

from na_cli.ros_domain import own_domain

NODES = ("follower_node", "leader_node", "recorder_node", "emulated_follower")
#: Runs only where a model is.
ESTIMATE = "neural_actuator_node"
TIMEOUT = 90.0  # s
HEAD = """# Parameters

Asked from the running nodes by `./na docs --parameters`; their descriptions stand in the sources.
The values are those of `ros2 launch na_bringup teleop.launch.py` with emulated arms, which takes
them from `launch/config/*.yaml`. Read-only parameters are set at the start; a change of the others
is checked and can be refused.
"""

#: Values that differ from run to run or from machine to machine.
LOCAL = ("port", "out_dir", "port_wait")


def reference(with_estimate: bool) -> str:
    """Launch an emulated pair, ask every node, end it; returns the page.

    `with_estimate`: there is a model, so that the launch also runs the force estimate.

    Raises TimeoutError naming the node that did not answer.
    """
    names = (*NODES, ESTIMATE) if with_estimate else NODES
    with own_domain(), tempfile.TemporaryDirectory() as bags, _launched(bags):
        rclpy.init()
        node = Node("parameter_reference")
        try:
            return "\n".join([HEAD, *(_table(node, name) for name in names)])
        finally:
            node.destroy_node()
            rclpy.try_shutdown()


@contextmanager
def _launched(bags: str) -> Iterator[None]:
    command = ["ros2", "launch", "na_bringup", "teleop.launch.py"]
    command += ["record:=true", f"bag_dir:={bags}"]
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT, start_new_session=True
    )
    try:
        yield
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(40)


def _call(node: Node, kind: Any, service: str, request: Any) -> Any:
    client = node.create_client(kind, service)
    deadline = time.monotonic() + TIMEOUT
    while not client.wait_for_service(1.0):
        if time.monotonic() > deadline:
            raise TimeoutError(f"service {service} did not appear within {TIMEOUT:g} s")
    future = client.call_async(request)
    rclpy.spin_until_future_complete(node, future, timeout_sec=10.0)
    if not future.done():
        raise TimeoutError(f"service {service} did not answer within 10 s")
    return future.result()


def _table(node: Node, name: str) -> str:
    listed = _call(node, ListParameters, f"/{name}/list_parameters", ListParameters.Request())
    names = sorted(n for n in listed.result.names if not _of_ros(n))
    described = _call(
        node,
        DescribeParameters,
        f"/{name}/describe_parameters",
        DescribeParameters.Request(names=names),
    ).descriptors
    values = _call(
        node, GetParameters, f"/{name}/get_parameters", GetParameters.Request(names=names)
    ).values
    rows = [_row(*entry) for entry in zip(described, values, strict=True)]
    return "\n".join(
        [f"## {name}\n", "| parameter | value | range | |", "|---|---|---|---|", *rows, ""]
    )


def _of_ros(name: str) -> bool:
    return name.startswith(("qos_overrides.", "start_type_description")) or name == "use_sim_time"


def _row(descriptor: ParameterDescriptor, value: ParameterValue) -> str:
    ranges = [*descriptor.integer_range, *descriptor.floating_point_range]
    bounds = f"{ranges[0].from_value:g} … {ranges[0].to_value:g}" if ranges else ""
    shown = "" if descriptor.name in LOCAL else _shown(value)
    words = descriptor.description + (" *(read-only)*" if descriptor.read_only else "")
    return f"| `{descriptor.name}` | {shown} | {bounds} | {words.replace('|', chr(92) + '|')} |"


def _shown(value: ParameterValue) -> str:
    if value.type == ParameterType.PARAMETER_NOT_SET:
        return ""
    plain = parameter_value_to_python(value)
    if isinstance(plain, float):
        return f"`{plain:g}`"
    text = str(plain).lower() if isinstance(plain, bool) else str(plain)
    return f"`{text}`" if text not in ("", "['']", "[]") else ""
