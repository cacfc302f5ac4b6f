# SPDX-License-Identifier: Apache-2.0
"""The plant's truth as a message."""

from __future__ import annotations

from geometry_msgs.msg import Vector3

from na_core.robot_spec import RobotSpec
from na_msgs.msg import PlantTruth
from na_sim.truth_meter import TruthSample

ARRAYS = (
    "position",
    "velocity",
    "motor_torque",
    "gear_torque",
    "winding_temperature",
    "housing_temperature",
)


def truth_message(truth: TruthSample, spec: RobotSpec) -> PlantTruth:
    """Return the message with the same content; vectors in base axes."""
    message = PlantTruth(name=list(spec.names))
    message.header.stamp.sec = truth.stamp_ns // 10**9
    message.header.stamp.nanosec = truth.stamp_ns % 10**9
    message.header.frame_id = spec.base_frame
    for name in ARRAYS:
        setattr(message, name, getattr(truth, name).tolist())
    for name in ("force", "torque", "force_elsewhere"):
        x, y, z = getattr(truth, name).tolist()
        setattr(message, name, Vector3(x=x, y=y, z=z))
    message.band_torque = truth.band_torque
    message.in_contact = truth.in_contact
    return message
