# SPDX-License-Identifier: Apache-2.0
"""The model section: impossible figures and broken trees are refused by name."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml

from na_core.robot_paths import find_robot_file
from na_core.robot_spec import RobotSpecError, parse_robot

OMX = find_robot_file("omx")
NAN = float("nan")
LINK = ("links", "link3")
FINGER = ("joints", "gripper_right_joint")
GONE = object()

# keys below `model`, new value, key named, words of the expectation
ROWS: list[tuple[tuple[str | int, ...], Any, str, str]] = [
    ((*LINK, "mass"), GONE, "model.links.link3.mass", "to be present"),
    ((*LINK, "mass"), 0.0, "model.links.link3.mass", "greater than 0 [kg]"),
    ((*LINK, "mass"), NAN, "model.links.link3.mass", "a finite number"),
    ((*LINK, "com"), [0.0, 0.0], "model.links.link3.com", "a list of 3 finite numbers"),
    ((*LINK, "com", 1), "x", "model.links.link3.com", "a list of 3 finite numbers"),
    ((*LINK, "inertia", "yz"), GONE, "model.links.link3.inertia.yz", "to be present"),
    ((*LINK, "inertia", "xx"), 1.0, "model.links.link3.inertia", "none above the sum of"),
    ((*LINK, "inertia", "zz"), -1e-5, "model.links.link3.inertia", "that are positive"),
    ((*LINK, "inertia", "zx"), 0.0, "model.links.link3.inertia.zx", "no such entry"),
    ((*LINK, "weight"), 0.1, "model.links.link3.weight", "no such entry; known: com, inertia"),
    ((*LINK, "shapes", 0, "shape"), "mesh", "model.links.link3.shapes[0].shape", "box, cylinder"),
    ((*LINK, "shapes", 0, "size", 2), 0.0, "model.links.link3.shapes[0].size", "three positive"),
    ((*LINK, "shapes", 0, "material"), "gold", "model.links.link3.shapes[0].material", "motor"),
    ((*LINK, "shapes", 4, "radius"), -0.1, "model.links.link3.shapes[4].radius", "greater than 0"),
    (("materials", "motor"), [1.0, 0.0], "model.materials.motor", "a list of 4 finite numbers"),
    (("joints", "joint3"), GONE, "model.joints.joint3", "a place for this joint"),
    (("joints", "joint3", "axis"), GONE, "model.joints.joint3.axis", "to be present"),
    (("joints", "joint3", "axis"), [0, 2, 0], "model.joints.joint3.axis", "a vector of length 1"),
    (("joints", "joint3", "parent"), "elbow", "model.joints.joint3.parent", "one of link1, link2"),
    (("joints", "joint3", "child"), "link3", "model.joints.joint3.child", "no other joint has"),
    ((*FINGER, "mimic", "joint"), "joint9", "model.joints.gripper_right_joint.mimic.joint", "one"),
    ((*FINGER, "mimic", "multiplier"), GONE, "model.joints.gripper_right_joint.mimic", "present"),
    (("joints", "end_effector_joint"), GONE, "base_frame", "'end_effector_link' hangs from"),
    (("meshes",), {}, "model.meshes", "no such entry; known: joints, links, materials"),
]


@pytest.mark.parametrize(
    ("keys", "value", "named", "expected"), ROWS, ids=[f"{row[2]}:{row[1]}" for row in ROWS]
)
def test_a_wrong_figure_is_named(
    keys: tuple[str | int, ...], value: Any, named: str, expected: str
) -> None:
    content = yaml.safe_load(OMX.read_text())
    node = content["model"]
    for key in keys[:-1]:
        node = node[key]
    if value is GONE:
        del node[keys[-1]]
    else:
        node[keys[-1]] = value
    with pytest.raises(RobotSpecError) as caught:
        parse_robot(content, OMX, "0")
    assert caught.value.key.startswith(named)
    assert expected in str(caught.value)


def test_a_loop_of_links_is_refused() -> None:
    """Two links that are each other's child never reach the base."""
    content = yaml.safe_load(OMX.read_text())
    content["model"]["joints"]["joint2"]["parent"] = "link5"
    with pytest.raises(RobotSpecError, match="the root of the tree, but link"):
        parse_robot(copy.deepcopy(content), OMX, "0")
