# SPDX-License-Identifier: Apache-2.0
"""What arm nodes share: described parameters, messages, a stop flag, the loop that ticks."""

from __future__ import annotations

import gc
import math
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from types import FrameType
from typing import Any

import numpy as np
import rclpy
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState

from na_core.robot_spec import RobotSpecError
from na_msgs.msg import ActuatorTelemetry
from na_teleop.arm_start import ArmParameters
from na_teleop.buses.errors import BusError
from na_teleop.fixed_rate import FixedRate
from na_teleop.preflight_report import PreflightError
from na_teleop.telemetry import Telemetry

#: What may be wrong with a port, a servo or a description when a node starts: reported in one
#: message, without a traceback.
START_ERRORS = (BusError, PreflightError, RobotSpecError, ValueError, OSError)


#: Signals this close together [s] are one request to stop.
SAME_REQUEST = 1.0


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


def declare_arm(node: Node) -> ArmParameters:
    """Declare what every arm node needs to find its arm."""
    return ArmParameters(
        robot=declare(node, "robot", "omx", "robot YAML in na_description, or a path to one"),
        port=declare(node, "port", "", "serial port of the arm, for example /dev/ttyUSB0"),
        baud=declare(
            node, "baud", 0, "bits per second; 0: the robot's own", bounds=(0, 10_000_000)
        ),
        port_wait=declare(
            node, "port_wait", 0.0, "how long the port may take to appear [s]", bounds=(0.0, 600.0)
        ),
        control_rate=declare(
            node,
            "control_rate",
            0.0,
            "ticks per second [Hz]; 0: the robot's own",
            bounds=(0.0, 500.0),
        ),
        calibration=declare(
            node, "calibration", "", "calibration file of this arm (./na calibrate); empty: none"
        ),
    )


def _time(stamp_ns: int) -> Time:
    return Time(sec=stamp_ns // 10**9, nanosec=stamp_ns % 10**9)


def telemetry_message(telemetry: Telemetry, base_frame: str) -> ActuatorTelemetry:
    """The message with the same content; its stamp is that of the bus read."""
    message = ActuatorTelemetry()
    message.header.stamp = _time(telemetry.stamp_ns)
    message.header.frame_id = base_frame
    for entry in fields(telemetry):
        value = getattr(telemetry, entry.name)
        if entry.name == "stamp_ns":
            continue
        setattr(message, entry.name, value.tolist() if isinstance(value, np.ndarray) else value)
    return message


def joint_state_message(telemetry: Telemetry, base_frame: str) -> JointState:
    """Position and velocity of a fresh tick; effort stays empty because torque is not measured."""
    message = JointState()
    message.header.stamp = _time(telemetry.stamp_ns)
    message.header.frame_id = base_frame
    message.name = list(telemetry.name)
    message.position = telemetry.position.tolist()
    message.velocity = telemetry.velocity.tolist()
    return message


def arm_status(
    node: Node,
    port: str,
    text: str,
    bad: bool,
    values: Mapping[str, object],
    warnings: Sequence[str] = (),
) -> DiagnosticArray:
    """One diagnostic status of an arm node: an error when `bad`, else a warning if there is one."""
    level = DiagnosticStatus.WARN if warnings else DiagnosticStatus.OK
    status = DiagnosticStatus(
        level=DiagnosticStatus.ERROR if bad else level,
        name=node.get_fully_qualified_name(),
        hardware_id=port,
        message="; ".join([text, *warnings]),
        values=[KeyValue(key=key, value=str(value)) for key, value in values.items()],
    )
    array = DiagnosticArray(status=[status])
    array.header.stamp = node.get_clock().now().to_msg()
    return array


class StopFlag:
    """Counts how often a person or launch asked to stop, so that a node ends its work in order.

    Ctrl-C in a terminal reaches a node twice, from the terminal and from launch: requests within
    SAME_REQUEST of each other count once.

    Attributes:
        count: 0 while nobody asked; from 2 on the matter is urgent.

    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        """Install the handlers of SIGINT and SIGTERM; the node must not use rclpy's own."""
        self.count = 0
        self._now = now
        self._counted_at = -math.inf
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        now = self._now()
        if now - self._counted_at > SAME_REQUEST:
            self.count += 1
            self._counted_at = now


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
