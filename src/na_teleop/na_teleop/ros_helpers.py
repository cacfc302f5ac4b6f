# SPDX-License-Identifier: Apache-2.0
"""What our arm nodes share: described parameters, a stop flag, and the loop that serves and ticks."""

from __future__ import annotations

import gc
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import rclpy
from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from na_core.robot_spec import RobotSpecError
from na_teleop.buses.errors import BusError
from na_teleop.fixed_rate import FixedRate

#: What may be wrong with a port, a servo or a description when a node starts: reported in one
#: message, without a traceback.
START_ERRORS = (BusError, RobotSpecError, ValueError, OSError)


def declare(
    node: Node,
    name: str,
    default: Any,
    description: str,
    *,
    bounds: tuple[float, float] | None = None,
    read_only: bool = True,
) -> Any:
    """Declare a parameter with a descriptor and return its value.

    `bounds` are inclusive. Parameters that are read once at the start are read-only, so that a
    later change is refused rather than ignored.
    """
    descriptor = ParameterDescriptor(description=description, read_only=read_only)
    if bounds is not None and isinstance(default, int):
        lower, upper = (int(bound) for bound in bounds)
        descriptor.integer_range = [IntegerRange(from_value=lower, to_value=upper, step=0)]
    elif bounds is not None:
        lower_float, upper_float = (float(bound) for bound in bounds)
        descriptor.floating_point_range = [
            FloatingPointRange(from_value=lower_float, to_value=upper_float, step=0.0)
        ]
    return node.declare_parameter(name, default, descriptor).value


class StopFlag:
    """Set by SIGINT or SIGTERM: the node ends its work in order instead of dying within it."""

    def __init__(self) -> None:
        """Install the handlers; the node must not use rclpy's own."""
        self.is_set = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._set)

    def _set(self, number: int, frame: FrameType | None) -> None:
        self.is_set = True


def run_loop(node: Node, rate: float, tick: Callable[[FixedRate], bool]) -> None:
    """Serve the node's callbacks and call `tick` at `rate` [Hz] until it returns False.

    One thread: callbacks never run during a tick.
    """
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    # What exists now stays; without this every collection walks through all imported modules.
    gc.collect()
    gc.freeze()
    loop = FixedRate(rate)
    going = True
    while going:
        loop.wait(lambda timeout: executor.spin_once(timeout_sec=timeout))
        going = tick(loop)
    executor.shutdown()


def run_node(main: Callable[[StopFlag], int], arguments: list[str] | None = None) -> int:
    """Start ROS without its signal handlers, run `main`, and turn start errors into one message."""
    rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.NO)
    stop = StopFlag()
    try:
        return main(stop)
    except START_ERRORS as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        return 1
    except ExternalShutdownException:
        return 1
    finally:
        rclpy.try_shutdown()
