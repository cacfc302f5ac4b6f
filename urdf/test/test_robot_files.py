# SPDX-License-Identifier: Apache-2.0
"""The URDF holds exactly what the robot file says, and every replaced figure is on its list."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
import yaml

from na_core.robot_spec import load_robot_spec, urdf_string
from na_core.servo_models import SERVO_MODELS

ROBOTS = ("omx", "so101", "panda")
SOURCE = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module", params=ROBOTS)
def robot(request: pytest.FixtureRequest) -> tuple[dict[str, Any], ElementTree.Element]:
    """The robot file and the URDF made from it."""
    spec = load_robot_spec(request.param)
    return yaml.safe_load(spec.path.read_text()), ElementTree.fromstring(urdf_string(spec))


def floats(text: str | None) -> list[float]:
    return [float(part) for part in (text or "").split()]


def attribute(element: ElementTree.Element, path: str, name: str) -> str:
    found = element.find(path)
    if found is None:
        raise AssertionError(f"{element.get('name')} has no {path}")
    return found.get(name, "")


def test_links_of_file_and_urdf_are_the_same(
    robot: tuple[dict[str, Any], ElementTree.Element],
) -> None:
    content, urdf = robot
    links = {link.get("name"): link for link in urdf.findall("link")}
    assert set(links) == set(content["model"]["links"])
    for name, figures in content["model"]["links"].items():
        link = links[name]
        assert len(link.findall("visual")) == len(figures.get("shapes", []))
        if "mass" not in figures:
            assert link.find("inertial") is None
            continue
        assert float(attribute(link, "inertial/mass", "value")) == figures["mass"]
        assert floats(attribute(link, "inertial/origin", "xyz")) == figures["com"]
        for moment, value in figures["inertia"].items():
            assert float(attribute(link, "inertial/inertia", f"i{moment}")) == value


def test_joints_of_file_and_urdf_are_the_same(
    robot: tuple[dict[str, Any], ElementTree.Element],
) -> None:
    content, urdf = robot
    joints = {joint.get("name"): joint for joint in urdf.findall("joint")}
    assert set(joints) == set(content["model"]["joints"])
    for row in content["joints"]:
        joint = joints[row["name"]]
        assert joint.get("type") == row["type"]
        for name, key in (("lower", "lower"), ("upper", "upper"), ("effort", "effort_limit")):
            assert float(attribute(joint, "limit", name)) == row[key]
        assert float(attribute(joint, "limit", "velocity")) == row["velocity_limit"]
    for name, place in content["model"]["joints"].items():
        assert floats(attribute(joints[name], "origin", "xyz")) == place["xyz"]
        assert attribute(joints[name], "parent", "link") == place["parent"]
        assert attribute(joints[name], "child", "link") == place["child"]
        if "mimic" in place:
            leader = joints[place["mimic"]["joint"]]
            assert attribute(joints[name], "mimic", "joint") == place["mimic"]["joint"]
            for limit in ("lower", "upper", "effort", "velocity"):
                own = attribute(joints[name], "limit", limit)
                assert own == attribute(leader, "limit", limit)


def test_shapes_are_our_own_primitives_in_several_colours(
    robot: tuple[dict[str, Any], ElementTree.Element],
) -> None:
    _, urdf = robot
    assert not list(urdf.iter("mesh"))
    colours = {element.get("rgba") for element in urdf.iter("color")}
    assert len(colours) >= 3
    assert list(urdf.iter("collision"))


def test_no_placeholder_of_the_published_models_is_left(
    robot: tuple[dict[str, Any], ElementTree.Element],
) -> None:
    """Masses of a gram, efforts of 1000 and velocities of 10 are nobody's hardware."""
    _, urdf = robot
    assert not list(urdf.iter("dynamics"))
    for mass in urdf.iter("mass"):
        assert float(mass.get("value", "nan")) >= 0.010
    for limit in urdf.iter("limit"):
        assert float(limit.get("effort", "nan")) < 400.0
        assert float(limit.get("velocity", "nan")) < 5.0


# robot, words in the item, path below the file's top, value in the file
LISTED: list[tuple[str, str, tuple[str | int, ...], Any]] = [
    ("omx", "finger mass", ("model", "links", "gripper_left_link", "mass"), 0.0466),
    ("omx", "finger mass", ("model", "links", "gripper_right_link", "mass"), 0.0466),
    ("omx", "effort limit of joint1", ("joints", 0, "effort_limit"), 4.1),
    ("omx", "effort limit of gripper", ("joints", 4, "effort_limit"), 356.8),
    ("omx", "velocity limit of gripper", ("joints", 4, "velocity_limit"), 0.055),
    ("omx", "limits of joint1", ("joints", 0, "upper"), 3.14),
    ("omx", "height of joint1", ("model", "joints", "joint1", "xyz", 2), 0.017),
    ("so101", "effort limit", ("joints", 0, "effort_limit"), 2.94),
    ("so101", "velocity limit", ("joints", 0, "velocity_limit"), 4.71),
    ("so101", "mass of gripper_frame_link", ("model", "links", "gripper_frame_link"), {}),
    ("so101", "rotations", ("model", "joints", "elbow_flex", "rpy", 2), math.pi / 2.0),
    ("so101", "sign and zero", ("joints", 0, "servo", "zero_count"), 2048),
    ("panda", "link masses", ("model", "links", "panda_link1", "mass"), 4.970684),
    ("panda", "effort limit", ("joints", 7, "effort_limit"), 70.0),
    ("panda", "velocity limit", ("joints", 7, "velocity_limit"), 0.05),
    ("panda", "finger mass", ("model", "links", "panda_leftfinger", "com", 2), 0.027),
    ("panda", "panda_link8 and panda_hand_tcp", ("model", "links", "panda_hand_tcp"), {}),
]


@pytest.mark.parametrize(
    ("name", "item", "path", "value"), LISTED, ids=[f"{row[0]}:{row[1]}" for row in LISTED]
)
def test_every_replaced_figure_is_listed_and_in_force(
    name: str, item: str, path: tuple[str | int, ...], value: Any
) -> None:
    spec = load_robot_spec(name)
    assert any(item in entry.item for entry in spec.placeholders)
    node: Any = yaml.safe_load(spec.path.read_text())
    for key in path:
        node = node[key]
    assert node == pytest.approx(value) if isinstance(value, float) else node == value


@pytest.mark.parametrize("name", ROBOTS)
def test_no_entry_of_the_list_is_untested(name: str) -> None:
    spec = load_robot_spec(name)
    untested = [
        entry.item
        for entry in spec.placeholders
        if not any(row[0] == name and row[1] in entry.item for row in LISTED)
        and "damping" not in entry.item  # test_no_placeholder_of_the_published_models_is_left
    ]
    assert not untested


@pytest.mark.parametrize("name", ROBOTS)
def test_the_guide_lists_the_same_replacements(name: str) -> None:
    guide = (SOURCE.parent / "docs" / "robots.md").read_text()
    for entry in load_robot_spec(name).placeholders:
        assert f"| {name} | {entry.item} |" in guide


def test_limits_follow_the_servo_and_the_linkage() -> None:
    """An effort limit above the stall torque, or a speed above no load, could never be reached."""
    for name in ("omx", "so101"):
        for joint in load_robot_spec(name).joints:
            if joint.servo is None:
                raise AssertionError(f"{name} {joint.name} has no servo")
            model = SERVO_MODELS[joint.servo.model]
            assert joint.effort_limit == pytest.approx(model.stall_torque / joint.ratio, rel=1e-3)
            assert joint.velocity_limit <= model.no_load_speed * joint.ratio
            assert joint.velocity_limit == pytest.approx(
                model.no_load_speed * joint.ratio, rel=0.01
            )


def test_the_hand_of_the_omx_weighs_what_the_manual_says() -> None:
    """e-manual: everything past joint4 is 236.5 g with its centre 60.5 mm ahead of the joint."""
    links = yaml.safe_load(load_robot_spec("omx").path.read_text())["model"]["links"]
    masses = [links[n]["mass"] for n in ("link5", "gripper_left_link", "gripper_right_link")]
    places = [links["link5"]["com"][0]] + [0.0817 + links["gripper_left_link"]["com"][0]] * 2
    total = sum(masses)
    assert total == pytest.approx(0.23650927, abs=5e-4)
    centre = sum(m * x for m, x in zip(masses, places, strict=True)) / total
    assert centre == pytest.approx(0.0604729, abs=5e-4)


def test_numbers_stay_out_of_the_xacro() -> None:
    """Only neutral zeros may stand in the xacro files."""
    for path in (SOURCE / "xacro").glob("*.xacro"):
        body = re.sub(r"<\?xml.*?\?>|<!--.*?-->|\$\{.*?\}", "", path.read_text(), flags=re.S)
        numbers = re.findall(r"(?<![\w.])-?\d+\.?\d*(?![\w.])", body)
        assert set(numbers) <= {"0"}, path.name
