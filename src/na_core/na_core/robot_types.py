# SPDX-License-Identifier: Apache-2.0
"""The types of a robot description: joints in canonical order, servos, limits, frames."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from na_core.joint_order import JointOrder
from na_core.servo_models import SERVO_MODELS, ServoModel

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ServoSpec:
    """The servo behind one joint.

    Attributes:
        model: key of `SERVO_MODELS`.
        id: bus id, 0..252.
        sign: +1 where growing counts mean a growing joint position, -1 otherwise.
        zero_count: register count at joint position zero.
        homing_offset: what the servo's own homing offset register must hold for `zero_count` to
            be right; 0 unless an imported calibration says otherwise.
    """

    model: str
    id: int
    sign: int
    zero_count: int
    homing_offset: int = 0

    @property
    def info(self) -> ServoModel:
        """Units and ratings of the model."""
        return SERVO_MODELS[self.model]


@dataclass(frozen=True)
class ServoGains:
    """Position loop gains in register units."""

    p: int
    i: int
    d: int


@dataclass(frozen=True)
class SupplySpec:
    """Supply voltage of the servos [V]."""

    nominal_voltage: float
    min_voltage: float
    max_voltage: float


@dataclass(frozen=True)
class BusSpec:
    """The servo bus: protocol "dynamixel2" or "feetech", rate [bit/s], return delay [µs]."""

    protocol: str
    baud: int
    return_delay_us: int


@dataclass(frozen=True)
class Placeholder:
    """A published figure that this robot file replaces, and why."""

    item: str
    published: str
    ours: str
    why: str


@dataclass(frozen=True)
class JointSpec:
    """One joint. Positions are rad (revolute) or m (prismatic), efforts N·m or N.

    Attributes:
        name: joint name, the same in URDF and messages.
        type: "revolute" or "prismatic".
        role: "arm" or "gripper".
        servo: the servo, None on a robot that is offline only.
        gains: position loop gains, None to leave the servo's own.
        lower: lowest allowed position.
        upper: highest allowed position.
        velocity_limit: largest commanded speed, per second.
        effort_limit: largest effort of the servo at the joint.
        ratio: joint units per servo radian, positive (1 for a joint on the output shaft).
        operating_mode: of a follower: "position", or "current_position" (position control that
            pulls no harder than `goal_current`).
        goal_current: current limit of "current_position" in register units, None otherwise.
    """

    name: str
    type: str
    role: str
    servo: ServoSpec | None
    gains: ServoGains | None
    lower: float
    upper: float
    velocity_limit: float
    effort_limit: float
    ratio: float
    operating_mode: str = "position"
    goal_current: int | None = None


@dataclass(frozen=True, eq=False)
class RobotSpec:
    """One robot file, checked. Arrays are (n,) in canonical joint order and read-only.

    `plant` and `simulator` are free mappings read by na_sim and na_training. Two specs compare
    equal only if they are the same object; `digest` tells whether two files are the same.
    `calibration` is the hash of the calibration applied to it, empty where there is none.
    """

    robot: str
    description: str
    urdf: Path
    base_frame: str
    end_effector_frame: str
    offline_only: bool
    supply: SupplySpec | None
    bus: BusSpec | None
    control_rate: float
    home: Array
    joints: tuple[JointSpec, ...]
    plant: Mapping[str, Any]
    simulator: Mapping[str, Any]
    placeholders: tuple[Placeholder, ...]
    path: Path
    digest: str
    calibration: str = ""

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.joints)

    @property
    def names(self) -> tuple[str, ...]:
        """Joint names in canonical order."""
        return tuple(joint.name for joint in self.joints)

    @cached_property
    def order(self) -> JointOrder:
        """Canonical joint order, for reordering messages by name."""
        return JointOrder(self.names)

    @cached_property
    def lower(self) -> Array:
        """Lowest positions (n,) [rad or m]."""
        return frozen([joint.lower for joint in self.joints])

    @cached_property
    def upper(self) -> Array:
        """Highest positions (n,) [rad or m]."""
        return frozen([joint.upper for joint in self.joints])

    @cached_property
    def velocity_limit(self) -> Array:
        """Largest commanded speeds (n,) [rad/s or m/s]."""
        return frozen([joint.velocity_limit for joint in self.joints])

    @cached_property
    def effort_limit(self) -> Array:
        """Largest efforts (n,) [N·m or N]."""
        return frozen([joint.effort_limit for joint in self.joints])

    @property
    def gripper_index(self) -> int | None:
        """Position of the gripper joint, None where there is none."""
        for i, joint in enumerate(self.joints):
            if joint.role == "gripper":
                return i
        return None

    @property
    def servo_ids(self) -> tuple[int, ...]:
        """Bus ids in canonical order; empty on a robot that is offline only."""
        return tuple(joint.servo.id for joint in self.joints if joint.servo is not None)

    def __repr__(self) -> str:
        return f"RobotSpec({self.robot}, {self.n} joints, {self.path})"


def frozen(values: list[float]) -> Array:
    """Return the values as a read-only array (n,)."""
    array = np.array(values, dtype=np.float64)
    array.setflags(write=False)
    return array
