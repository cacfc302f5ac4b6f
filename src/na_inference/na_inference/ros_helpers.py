# SPDX-License-Identifier: Apache-2.0
"""Between ROS and the estimator: described parameters, stamps, output messages filled in place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import Vector3, WrenchStamped
from numpy.typing import NDArray
from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.node import Node

from na_core.onnx_metadata import ModelMetadata
from na_inference.estimate import Estimate
from na_msgs.msg import ContactGate, EffortSurrogate, MotorCondition, NeuralActuatorState

Array = NDArray[np.float64]
Bounds = tuple[float, float] | None


def declare(
    node: Node,
    name: str,
    default: Any,
    description: str,
    *,
    bounds: Bounds = None,
    read_only: bool = True,
) -> Any:
    """Declare a parameter with a descriptor and inclusive bounds, and return its value."""
    descriptor = ParameterDescriptor(description=description, read_only=read_only)
    if bounds is not None and isinstance(default, int):
        low, high = (int(bound) for bound in bounds)
        descriptor.integer_range = [IntegerRange(from_value=low, to_value=high, step=0)]
    elif bounds is not None:
        descriptor.floating_point_range = [
            FloatingPointRange(from_value=float(bounds[0]), to_value=float(bounds[1]), step=0.0)
        ]
    return node.declare_parameter(name, default, descriptor).value


def nanoseconds(stamp: Any) -> int:
    """A message's stamp as nanoseconds."""
    return int(stamp.sec) * 1_000_000_000 + int(stamp.nanosec)


def stamp_of(nanosecond: int) -> Time:
    """Nanoseconds as a message's stamp."""
    return Time(sec=nanosecond // 1_000_000_000, nanosec=nanosecond % 1_000_000_000)


def set_vector(message: Vector3, values: Array) -> None:
    """Copy (3,) into a vector message."""
    message.x, message.y, message.z = values.tolist()


def vector(message: Vector3) -> Array:
    """A vector message as (3,)."""
    return np.array([message.x, message.y, message.z])


def status_array(
    node: Node, hardware: str, values: Mapping[str, object], remarks: Sequence[str], valid: bool
) -> DiagnosticArray:
    """One diagnostic status of the live estimate: a warning while silent or when remarked upon."""
    words = [str(values["validity"]), str(values["reason"]), *remarks]
    status = DiagnosticStatus(
        level=DiagnosticStatus.OK if valid and not remarks else DiagnosticStatus.WARN,
        name=node.get_fully_qualified_name(),
        hardware_id=hardware,
        message="; ".join(word for word in words if word),
        values=[KeyValue(key=key, value=str(value)) for key, value in values.items()],
    )
    array = DiagnosticArray(status=[status])
    array.header.stamp = node.get_clock().now().to_msg()
    return array


class OutputMessages:
    """The messages of one tick, made once and filled anew.

    The torque is not estimated: NaN in the state message, zero in the standard wrench messages,
    whose consumers choke on NaN.
    """

    def __init__(self, metadata: ModelMetadata, model_id: str) -> None:
        names = list(metadata.joint_order)
        self.effort = EffortSurrogate(name=names, limit=metadata.effort_limit.tolist())
        self.effort.header.frame_id = metadata.base_frame
        self.contact = ContactGate()
        self.contact.header.frame_id = metadata.end_effector_frame
        self.condition = MotorCondition(name=names)
        self.wrench = WrenchStamped()
        self.wrench.header.frame_id = metadata.end_effector_frame
        self.wrench_base = WrenchStamped()
        self.wrench_base.header.frame_id = metadata.base_frame
        self.state = NeuralActuatorState(model_id=model_id)
        self.state.header.frame_id = metadata.base_frame
        self.state.effort, self.state.contact = self.effort, self.contact
        self.state.condition = self.condition
        set_vector(self.state.torque, np.full(3, np.nan))

    def fill(self, estimate: Estimate, thresholds: tuple[float, float], latency: float) -> None:
        """Copy an estimate; wrench messages are left as they were while it is not valid."""
        stamp = stamp_of(estimate.stamp_ns)
        for message in (self.effort, self.contact, self.condition, self.state):
            message.header.stamp = stamp
        self.effort.raw = estimate.effort_raw.tolist()
        self.effort.clipped = estimate.effort_clipped.tolist()
        self.contact.probability = float(estimate.probability)
        self.contact.in_contact = bool(estimate.in_contact)
        self.contact.threshold_on, self.contact.threshold_off = thresholds
        self.condition.score = estimate.condition.tolist()
        state = self.state
        state.sequence = estimate.sequence
        state.validity = int(estimate.validity)
        set_vector(state.force, estimate.force)
        set_vector(state.force_ungated, estimate.force_ungated)
        state.force_covariance = estimate.covariance.ravel()
        state.out_of_distribution = float(estimate.distance)
        state.latency = latency
        if estimate.valid:
            self.wrench.header.stamp = self.wrench_base.header.stamp = stamp
            set_vector(self.wrench.wrench.force, estimate.force_tool)
            set_vector(self.wrench_base.wrench.force, estimate.force)
