# SPDX-License-Identifier: Apache-2.0
"""Load a robot file and check it: every mistake names file, key, value and what was expected."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from na_core.robot_model import check_model
from na_core.robot_paths import find_robot_file
from na_core.robot_schema import SCHEMA, Node, RobotSpecError, read_yaml
from na_core.robot_types import (
    Array,
    BusSpec,
    JointSpec,
    Placeholder,
    RobotSpec,
    ServoGains,
    ServoSpec,
    SupplySpec,
    frozen,
)
from na_core.robot_urdf import urdf_string
from na_core.servo_models import SERVO_MODELS

__all__ = [
    "BusSpec",
    "JointSpec",
    "Placeholder",
    "RobotSpec",
    "RobotSpecError",
    "ServoGains",
    "ServoSpec",
    "SupplySpec",
    "load_robot_spec",
    "parse_robot",
    "urdf_string",
]


def load_robot_spec(robot: str | Path) -> RobotSpec:
    """Load and check a robot file.

    Args:
        robot: a robot name ("omx"), looked up as `na_core.robot_paths.find_robot_file` says, or the
            path of a robot file.

    Raises:
        RobotSpecError: no such robot, or the file is wrong; the text names file, key, value and
            what was expected.
    """
    path = find_robot_file(robot)
    content, data = read_yaml(path)
    return parse_robot(content, path, hashlib.sha256(data).hexdigest())


def parse_robot(content: Mapping[str, Any], path: Path, digest: str) -> RobotSpec:
    """Check the content of a robot file (schema 1) and return it as a `RobotSpec`."""
    top = Node(path, "", content)
    schema = top.get("schema", f"the integer {SCHEMA}")
    if schema != SCHEMA or isinstance(schema, bool):
        raise top.fail("schema", f"{SCHEMA}, the only schema this version reads")
    offline = top.flag("offline_only", False)
    bus = None if offline else _bus(top)
    supply = None if offline else _supply(top.child("supply", "the supply voltages"))
    if offline:
        for name in ("bus", "supply"):
            if top.has(name):
                raise top.fail(name, "no entry, because offline_only is true")
    joints = _joints(top, bus)
    spec = RobotSpec(
        robot=top.text("robot"),
        description=top.text("description"),
        urdf=_urdf_path(top, path),
        base_frame=top.text("base_frame"),
        end_effector_frame=top.text("end_effector_frame"),
        offline_only=offline,
        supply=supply,
        bus=bus,
        control_rate=top.number("control_rate", "Hz", above=0.0),
        home=_home(top, joints),
        joints=joints,
        plant=dict(top.free("plant")),
        simulator=dict(top.free("simulator")),
        placeholders=_placeholders(top),
        path=path,
        digest=digest,
    )
    check_model(top, spec.names, spec.base_frame, spec.end_effector_frame)
    top.finish()
    if spec.robot != path.stem:
        raise top.fail("robot", f"'{path.stem}', the name of the file")
    return spec


def _urdf_path(top: Node, path: Path) -> Path:
    name = top.text("urdf")
    for candidate in (path.parent.parent / "xacro" / name, path.parent / name):
        if candidate.is_file():
            return candidate
    raise top.fail("urdf", f"a file in {path.parent.parent / 'xacro'} or {path.parent}")


def _supply(node: Node) -> SupplySpec:
    supply = SupplySpec(
        nominal_voltage=node.number("nominal_voltage", "V", above=0.0),
        min_voltage=node.number("min_voltage", "V", above=0.0),
        max_voltage=node.number("max_voltage", "V", above=0.0),
    )
    node.finish()
    if not supply.min_voltage < supply.nominal_voltage < supply.max_voltage:
        low, high = supply.min_voltage, supply.max_voltage
        raise node.fail(
            "nominal_voltage", f"a value between min_voltage {low:g} and max_voltage {high:g} [V]"
        )
    return supply


def _bus(top: Node) -> BusSpec:
    node = top.child("bus", "protocol, baud and return_delay_us (or offline_only: true)")
    bus = BusSpec(
        protocol=node.choice("protocol", ("dynamixel2", "feetech")),
        baud=node.integer("baud", 9_600, 4_500_000, "bit/s"),
        return_delay_us=node.integer("return_delay_us", 0, 508, "µs", default=0),
    )
    node.finish()
    return bus


def _joints(top: Node, bus: BusSpec | None) -> tuple[JointSpec, ...]:
    rows = top.sequence("joints", "a non-empty list of joints in canonical order")
    if not rows:
        raise top.fail("joints", "a non-empty list of joints in canonical order")
    nodes = [Node(top.file, f"joints[{i}]", row) for i, row in enumerate(rows)]
    joints = tuple(_joint(node, bus) for node in nodes)
    _refuse_repeats(nodes, "name", [joint.name for joint in joints])
    if bus is not None:
        _refuse_repeats(nodes, "servo.id", [joint.servo.id for joint in joints if joint.servo])
    grippers = [node for node, joint in zip(nodes, joints, strict=True) if joint.role == "gripper"]
    if len(grippers) > 1:
        raise grippers[1].fail("role", "at most one joint with role gripper")
    return joints


def _refuse_repeats(nodes: list[Node], name: str, values: list[Any]) -> None:
    for i, value in enumerate(values):
        first = values.index(value)
        if first < i:
            raise nodes[i].fail(name, f"a value that joints[{first}].{name} does not have", value)


def _joint(node: Node, bus: BusSpec | None) -> JointSpec:
    kind = node.choice("type", ("revolute", "prismatic"))
    unit, effort = ("rad", "N·m") if kind == "revolute" else ("m", "N")
    if bus is None and node.has("servo"):
        raise node.fail("servo", "no entry, because offline_only is true")
    servo = None if bus is None else _servo(node.child("servo", "the joint's servo"), bus)
    gains = None
    if node.has("gains"):
        gains = _gains(node.child("gains", "p, i and d"))
    mode, goal_current = _mode(node, servo)
    joint = JointSpec(
        name=node.text("name"),
        type=kind,
        role=node.choice("role", ("arm", "gripper")),
        servo=servo,
        gains=gains,
        lower=node.number("lower", unit),
        upper=node.number("upper", unit),
        velocity_limit=node.number("velocity_limit", f"{unit}/s", above=0.0),
        effort_limit=node.number("effort_limit", effort, above=0.0),
        ratio=node.number("ratio", f"{unit} per servo rad; the sign is servo.sign", above=0.0),
        operating_mode=mode,
        goal_current=goal_current,
    )
    node.finish()
    if joint.lower >= joint.upper:
        raise node.fail("lower", f"a value below upper = {joint.upper:g} [{unit}]")
    if servo is not None:
        _check_range(node, joint, servo)
    return joint


def _mode(node: Node, servo: ServoSpec | None) -> tuple[str, int | None]:
    """Return a joint's optional operating mode and current limit, which belong together."""
    if not node.has("operating_mode"):
        if node.has("goal_current"):
            raise node.fail("goal_current", "no entry, unless operating_mode is current_position")
        return "position", None
    mode = node.choice("operating_mode", ("position", "current_position"))
    if mode == "position":
        if node.has("goal_current"):
            raise node.fail("goal_current", "no entry, unless operating_mode is current_position")
        return mode, None
    if servo is None or servo.info.protocol != "dynamixel2" or not servo.info.has_current:
        raise node.fail("operating_mode", "position: this joint's servo cannot limit its current")
    return mode, node.integer("goal_current", 1, 2047, "register units of Goal Current")


def _check_range(node: Node, joint: JointSpec, servo: ServoSpec) -> None:
    """Refuse limits that position control (one turn, counts 0..4095) cannot reach."""
    counts = servo.info.counts_per_turn
    scale = joint.ratio * servo.sign * servo.info.count_angle
    for name in ("lower", "upper"):
        count = round(getattr(joint, name) / scale) + servo.zero_count
        if not 0 <= count < counts:
            raise node.fail(
                name, f"a position within one servo turn, counts 0..{counts - 1}; this is {count}"
            )


def _servo(node: Node, bus: BusSpec) -> ServoSpec:
    allowed = [name for name, model in SERVO_MODELS.items() if model.protocol == bus.protocol]
    model = node.get("model", f"one of {', '.join(allowed)}")
    if model not in allowed:
        raise node.fail("model", f"one of {', '.join(allowed)} (bus protocol {bus.protocol})")
    servo = ServoSpec(
        model=model,
        id=node.integer("id", 0, 252, "bus id"),
        sign=node.integer("sign", -1, 1, "+1 or -1"),
        zero_count=node.integer("zero_count", 0, 4095, "encoder count at joint zero"),
    )
    node.finish()
    if servo.sign == 0:
        raise node.fail("sign", "1 or -1")
    return servo


def _gains(node: Node) -> ServoGains:
    gains = ServoGains(*(node.integer(k, 0, 16383, "register units") for k in ("p", "i", "d")))
    node.finish()
    return gains


def _home(top: Node, joints: tuple[JointSpec, ...]) -> Array:
    node = top.child("home", "one position per joint")
    values = []
    for joint in joints:
        unit = "rad" if joint.type == "revolute" else "m"
        value = node.number(joint.name, unit)
        if not joint.lower <= value <= joint.upper:
            raise node.fail(
                joint.name, f"a value within the limits {joint.lower:g}..{joint.upper:g} [{unit}]"
            )
        values.append(value)
    node.finish()
    return frozen(values)


def _placeholders(top: Node) -> tuple[Placeholder, ...]:
    rows = top.sequence("placeholders", "a list of replaced figures (may be empty)")
    result = []
    for i, row in enumerate(rows):
        node = Node(top.file, f"placeholders[{i}]", row)
        result.append(Placeholder(*(node.text(k) for k in ("item", "published", "ours", "why"))))
        node.finish()
    return tuple(result)
