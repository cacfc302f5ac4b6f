# SPDX-License-Identifier: Apache-2.0
"""Rows made at once are the bytes that the rosbags library makes one by one."""

from __future__ import annotations

import numpy as np
import pytest

from na_core.nad.cdr_rows import MessageTemplate
from na_core.nad.errors import SchemaError
from na_core.nad.example import JOINTS, telemetry_template
from na_core.nad.typestore import encode, nad_typestore

FLOATS = ("goal_requested", "goal_sent", "goal_register", "position", "velocity", "current")
OTHERS = ("load", "voltage", "temperature", "hardware_error")


def test_rows_equal_single_messages() -> None:
    rng = np.random.default_rng(3)
    position = rng.normal(size=(4, len(JOINTS)))
    stamps = 1_790_000_000_123_456_789 + np.arange(4)
    rows = telemetry_template("follower", JOINTS).rows(
        4, stamp_ns=stamps, sequence=np.arange(4), position=position, load=np.nan, stale=True
    )
    zeros = [0.0] * len(JOINTS)
    for i, row in enumerate(rows):
        sec, nanosec = divmod(int(stamps[i]), 1_000_000_000)
        values = {
            "header": {"stamp": {"sec": sec, "nanosec": nanosec}, "frame_id": "link1"},
            "sequence": i,
            "arm": "follower",
            "name": JOINTS,
            **dict.fromkeys((*FLOATS, *OTHERS), zeros),
            "position": position[i],
            "load": [np.nan] * len(JOINTS),
            "torque_enabled": True,
            "stale": True,
        }
        assert row == encode(nad_typestore(), "na_msgs/msg/ActuatorTelemetry", values)


def test_unknown_field_lists_the_known_ones() -> None:
    template = MessageTemplate(nad_typestore(), "geometry_msgs/msg/WrenchStamped", {})
    with pytest.raises(SchemaError, match=r"has no number 'forse.x'.*wrench.force.x"):
        template.rows(1, forse__x=1.0)


def test_wrong_length_is_an_error_and_not_a_guess() -> None:
    template = telemetry_template("follower", JOINTS)
    with pytest.raises(ValueError, match="broadcast"):
        template.rows(3, position=np.zeros((3, 2)))
