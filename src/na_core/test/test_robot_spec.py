# SPDX-License-Identifier: Apache-2.0
"""Robot files: what loads, where it is looked for, and what each mistake is called."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from na_core.robot_paths import find_robot_file
from na_core.robot_spec import RobotSpecError, load_robot_spec, parse_robot

OMX = find_robot_file("omx")
Content = dict[str, Any]


@pytest.fixture(scope="module")
def original() -> Content:
    loaded: Content = yaml.safe_load(OMX.read_text())
    return loaded


@pytest.mark.parametrize("robot", ["omx", "so101", "panda"])
def test_every_robot_loads(robot: str) -> None:
    spec = load_robot_spec(robot)
    assert spec.robot == robot
    assert spec.home.shape == spec.lower.shape == spec.effort_limit.shape == (spec.n,)
    assert (spec.lower <= spec.home).all() and (spec.home <= spec.upper).all()
    assert len(spec.digest) == 64
    assert spec.gripper_index == spec.n - 1
    assert spec.placeholders


def test_omx_has_five_joints_and_the_published_ids() -> None:
    spec = load_robot_spec("omx")
    assert spec.names == ("joint1", "joint2", "joint3", "joint4", "gripper_left_joint")
    assert spec.servo_ids == (11, 12, 13, 14, 15)
    assert spec.bus is not None and spec.bus.baud == 1_000_000
    gains = spec.joints[0].gains
    assert gains is not None and (gains.p, gains.i, gains.d) == (800, 100, 100)


def test_panda_is_offline_only() -> None:
    spec = load_robot_spec("panda")
    assert spec.offline_only and spec.bus is None and spec.supply is None
    assert spec.servo_ids == () and spec.n == 8


def test_arrays_cannot_be_changed() -> None:
    spec = load_robot_spec("omx")
    for array in (spec.home, spec.lower, spec.effort_limit):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


def test_a_spec_travels_to_worker_processes() -> None:
    spec = load_robot_spec("omx")
    copied = pickle.loads(pickle.dumps(spec))
    assert copied.joints == spec.joints and copied.digest == spec.digest
    np.testing.assert_array_equal(copied.home, spec.home)


def test_the_digest_follows_the_bytes(tmp_path: Path) -> None:
    copied = write(tmp_path, OMX.read_text())
    assert load_robot_spec(copied).digest == load_robot_spec("omx").digest
    copied.write_text(OMX.read_text() + "# a remark\n")
    assert load_robot_spec(copied).digest != load_robot_spec("omx").digest


def write(folder: Path, text: str) -> Path:
    """Write a robot file beside a copy of the xacro name it refers to."""
    path = folder / "omx.yaml"
    path.write_text(text)
    (folder / "omx.urdf.xacro").write_text("<robot/>")
    return path


def edit(*keys: str | int, to: Any) -> Callable[[Content], None]:
    """Return an edit that sets one entry."""

    def apply(content: Content) -> None:
        node: Any = content
        for key in keys[:-1]:
            node = node[key]
        node[keys[-1]] = to

    return apply


def drop(*keys: str | int) -> Callable[[Content], None]:
    """Return an edit that removes one entry."""

    def apply(content: Content) -> None:
        node: Any = content
        for key in keys[:-1]:
            node = node[key]
        del node[keys[-1]]

    return apply


NAN, INF = float("nan"), float("inf")
J = "joints"
# edit, key named, value named, words of the expectation
ROWS: list[tuple[Callable[[Content], None], str, str, str]] = [
    (drop("schema"), "schema", "None", "this entry to be present: the integer 1"),
    (edit("schema", to=2), "schema", "2", "1, the only schema"),
    (edit("schema", to=True), "schema", "True", "1, the only schema"),
    (edit("robot", to="omy"), "robot", "'omy'", "'omx', the name of the file"),
    (edit("description", to=""), "description", "''", "a non-empty text"),
    (edit("urdf", to="gone.xacro"), "urdf", "'gone.xacro'", "a file in"),
    (edit("colour", to="red"), "colour", "'red'", "no such entry; known: base_frame, bus"),
    (edit("offline_only", to="no"), "offline_only", "'no'", "true or false"),
    (edit("offline_only", to=True), "bus", "{", "no entry, because offline_only is true"),
    (edit("base_frame", to="link2"), "base_frame", "'link2'", "a root link, but 'link2' is"),
    (edit("end_effector_frame", to="tip"), "end_effector_frame", "'tip'", "one of the links"),
    (edit("control_rate", to=0), "control_rate", "0", "a finite number greater than 0 [Hz]"),
    (edit("control_rate", to=NAN), "control_rate", "nan", "a finite number"),
    (edit("supply", "nominal_voltage", to=9.0), "supply.nominal_voltage", "9.0", "between min"),
    (drop("supply", "min_voltage"), "supply.min_voltage", "None", "to be present"),
    (edit("supply", to=12), "supply", "12", "a mapping of named entries"),
    (drop("bus"), "bus", "None", "protocol, baud and return_delay_us (or offline_only: true)"),
    (edit("bus", "protocol", to="modbus"), "bus.protocol", "'modbus'", "dynamixel2, feetech"),
    (edit("bus", "protocol", to="feetech"), J + "[0].servo.model", "'xm430-w350'", "sts3215"),
    (edit("bus", "baud", to=1e6), "bus.baud", "1000000.0", "an integer in 9600..4500000"),
    (edit("bus", "parity", to="odd"), "bus.parity", "'odd'", "known: baud, protocol"),
    (edit("home", "joint2", to=-2.0), "home.joint2", "-2.0", "within the limits -1.5..1.5 [rad]"),
    (drop("home", "joint3"), "home.joint3", "None", "a finite number [rad]"),
    (edit("home", "joint9", to=0.0), "home.joint9", "0.0", "no such entry; known: gripper_left"),
    (edit("home", "gripper_left_joint", to=0.03), "home.gripper_left_joint", "0.03", "0.02 [m]"),
    (edit(J, to=[]), J, "[]", "a non-empty list of joints"),
    (edit(J, to={"joint1": {}}), J, "{", "a non-empty list of joints"),
    (edit(J, 1, to="joint2"), J + "[1]", "'joint2'", "a mapping of named entries"),
    (edit(J, 1, "name", to="joint1"), J + "[1].name", "'joint1'", "joints[0].name does not have"),
    (edit(J, 1, "type", to="ball"), J + "[1].type", "'ball'", "one of revolute, prismatic"),
    (edit(J, 1, "role", to="hand"), J + "[1].role", "'hand'", "one of arm, gripper"),
    (edit(J, 1, "role", to="gripper"), J + "[4].role", "'gripper'", "at most one joint"),
    (drop(J, 1, "servo"), J + "[1].servo", "None", "the joint's servo"),
    (edit(J, 1, "servo", "model", to="mx64"), J + "[1].servo.model", "'mx64'", "xm430-w350"),
    (edit(J, 1, "servo", "id", to=300), J + "[1].servo.id", "300", "an integer in 0..252 (bus id)"),
    (edit(J, 1, "servo", "id", to=11), J + "[1].servo.id", "11", "joints[0].servo.id does not"),
    (edit(J, 1, "servo", "id", to="12"), J + "[1].servo.id", "'12'", "an integer in 0..252"),
    (edit(J, 1, "servo", "id", to=True), J + "[1].servo.id", "True", "an integer in 0..252"),
    (edit(J, 1, "servo", "sign", to=0), J + "[1].servo.sign", "0", "1 or -1"),
    (edit(J, 1, "servo", "sign", to=2), J + "[1].servo.sign", "2", "+1 or -1"),
    (edit(J, 1, "servo", "sign", to=-1.0), J + "[1].servo.sign", "-1.0", "+1 or -1"),
    (edit(J, 1, "servo", "zero_count", to=5000), J + "[1].servo.zero_count", "5000", "0..4095"),
    (edit(J, 1, "servo", "offset", to=0.1), J + "[1].servo.offset", "0.1", "no such entry"),
    (edit(J, 1, "gains", "p", to=-1), J + "[1].gains.p", "-1", "an integer in 0..16383"),
    (edit(J, 1, "lower", to=1.6), J + "[1].lower", "1.6", "a value below upper = 1.5 [rad]"),
    (edit(J, 1, "lower", to=-4.0), J + "[1].lower", "-4.0", "counts 0..4095; this is -560"),
    (edit(J, 0, "upper", to=3.14159), J + "[0].upper", "3.14159", "this is 4096"),
    (edit(J, 1, "upper", to=INF), J + "[1].upper", "inf", "a finite number [rad]"),
    (edit(J, 1, "upper", to="1.5e0"), J + "[1].upper", "'1.5e0'", "write a decimal point"),
    (edit(J, 1, "upper", to="wide"), J + "[1].upper", "'wide'", "a finite number [rad]"),
    (edit(J, 1, "effort_limit", to=0.0), J + "[1].effort_limit", "0.0", "greater than 0 [N·m]"),
    (edit(J, 4, "effort_limit", to=-5.0), J + "[4].effort_limit", "-5.0", "greater than 0 [N]"),
    (edit(J, 1, "velocity_limit", to=None), J + "[1].velocity_limit", "None", "[rad/s]"),
    (edit(J, 1, "ratio", to=0.0), J + "[1].ratio", "0.0", "greater than 0"),
    (edit(J, 1, "ratio", to=-1.0), J + "[1].ratio", "-1.0", "the sign is servo.sign"),
    (edit("plant", to=[1]), "plant", "[1]", "a mapping of named entries"),
    (edit("placeholders", to=None), "placeholders", "None", "a list of replaced figures"),
    (edit("placeholders", 0, "why", to=None), "placeholders[0].why", "None", "a non-empty text"),
]


@pytest.mark.parametrize(
    ("change", "key", "value", "expected"), ROWS, ids=[f"{row[1]}={row[2]}" for row in ROWS]
)
def test_a_mistake_names_file_key_value_and_expectation(
    original: Content, change: Callable[[Content], None], key: str, value: str, expected: str
) -> None:
    content = copy.deepcopy(original)
    change(content)
    with pytest.raises(RobotSpecError) as caught:
        parse_robot(content, OMX, "0")
    error = caught.value
    assert error.key == key
    assert str(error).startswith(f"{OMX}: {key} = {value}")
    assert expected in error.expected
    assert error.expected in str(error)


def test_a_key_given_twice_is_refused(tmp_path: Path) -> None:
    """Plain YAML keeps the last of two `lower` entries without a word."""
    text = OMX.read_text().replace("    lower: -1.5\n", "    lower: -1.5\n    lower: -1.2\n", 1)
    with pytest.raises(RobotSpecError, match=r"key `lower` is given twice.*line"):
        load_robot_spec(write(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("schema: [1", "expected well-formed YAML"),
        ("- 1\n- 2\n", "expected a mapping of named entries"),
        ("", "expected a mapping of named entries"),
        ("schema: !degrees 45\n", "could not determine a constructor for the tag `!degrees`"),
    ],
)
def test_a_file_that_is_no_robot_is_refused(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(RobotSpecError, match=re.escape(words)):
        load_robot_spec(write(tmp_path, text))


def test_an_absent_file_and_an_unknown_robot_say_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(RobotSpecError, match="expected an existing robot file"):
        load_robot_spec(tmp_path / "none.yaml")
    with pytest.raises(RobotSpecError, match=r"robot = 'r2d2': expected one of: omx, panda, so101"):
        load_robot_spec("r2d2")


def test_home_positions_are_in_canonical_order(original: Content) -> None:
    content = copy.deepcopy(original)
    content["home"] = dict(reversed(content["home"].items()))
    spec = parse_robot(content, OMX, "0")
    np.testing.assert_array_equal(spec.home, load_robot_spec("omx").home)


def test_the_gripper_of_omx_is_current_limited_as_published() -> None:
    spec = load_robot_spec("omx")
    modes = [(joint.operating_mode, joint.goal_current) for joint in spec.joints]
    assert modes == [("position", None)] * 4 + [("current_position", 200)]


@pytest.mark.parametrize(
    ("joint", "values", "expected"),
    [
        (0, {"operating_mode": "current_position"}, "goal_current = None"),
        (0, {"goal_current": 200}, "unless operating_mode is current_position"),
        (4, {"goal_current": 4000}, r"an integer in 1\.\.2047"),
        (4, {"operating_mode": "velocity"}, "one of position, current_position"),
    ],
)
def test_operating_modes_that_make_no_sense_are_refused(
    original: Content, joint: int, values: Content, expected: str
) -> None:
    content = copy.deepcopy(original)
    content["joints"][joint].update(values)
    with pytest.raises(RobotSpecError, match=expected):
        parse_robot(content, OMX, "")


def test_a_servo_without_current_sensor_cannot_be_current_limited(original: Content) -> None:
    content = copy.deepcopy(original)
    content["joints"][4]["servo"]["model"] = "xl430-w250"
    with pytest.raises(RobotSpecError, match="cannot limit its current"):
        parse_robot(content, OMX, "")
