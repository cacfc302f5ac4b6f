# SPDX-License-Identifier: Apache-2.0
"""Checks of a robot file's `model` section: link figures, shapes and the tree of joints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from na_core.robot_schema import Node, RobotSpecError, as_number

_MOMENTS = ("xx", "xy", "xz", "yy", "yz", "zz")


def check_model(top: Node, actuated: Sequence[str], base: str, end_effector: str) -> None:
    """Check the section `model` that the xacro turns into URDF.

    Args:
        top: the whole robot file.
        actuated: names of the joints in the `joints` list.
        base: `base_frame`, which must be the root link.
        end_effector: `end_effector_frame`, which must be a link.

    Raises:
        RobotSpecError: a figure is missing, of the wrong kind or impossible, or the joints do not
            form one tree that hangs from the base.
    """
    model = top.child("model", "materials, links and joints")
    materials = model.child("materials", "a colour per material name")
    for name in materials.names():
        vector(materials, name, 4, "red, green, blue and opacity")
    links = model.child("links", "figures per link name")
    for name in links.names():
        _link(links.child(name, "mass, com, inertia and shapes; {} for a frame"), materials.names())
    joints = model.child("joints", "place per joint name")
    for name in joints.names():
        _joint(joints.child(name, "parent, child and xyz"), name, actuated, links.names())
    for name in actuated:
        if name not in joints.names():
            raise joints.fail(name, "a place for this joint of the list `joints`")
    _check_tree(top, joints, links.names(), base, end_effector)
    model.finish()


def vector(node: Node, name: str, size: int, meaning: str) -> list[float]:
    """Return a list of `size` finite numbers."""
    expected = f"a list of {size} finite numbers ({meaning})"
    values = node.sequence(name, expected)
    if len(values) != size:
        raise node.fail(name, expected)
    return [as_number(node.file, node.path(name), value, expected) for value in values]


def _link(node: Node, materials: Sequence[str]) -> None:
    if node.has("mass") or node.has("inertia") or node.has("com"):
        node.number("mass", "kg", above=0.0)
        vector(node, "com", 3, "centre of mass in the link frame, m")
        _inertia(node.child("inertia", "the six moments about the centre of mass"))
    if node.has("shapes"):
        for i, row in enumerate(node.sequence("shapes", "a list of shapes")):
            _shape(Node(node.file, f"{node.path('shapes')}[{i}]", row), materials)
    node.finish()


def _inertia(node: Node) -> None:
    xx, xy, xz, yy, yz, zz = (node.number(name, "kg·m²") for name in _MOMENTS)
    node.finish()
    moments = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if moments[0] <= 0.0 or moments[0] + moments[1] < moments[2]:
        shown = ", ".join(f"{moment:.4g}" for moment in moments)
        expected = "principal moments that are positive, none above the sum of the other two"
        raise RobotSpecError(node.file, node.key, f"principal moments {shown}", expected)


def _shape(node: Node, materials: Sequence[str]) -> None:
    if node.choice("shape", ("box", "cylinder")) == "box":
        size = vector(node, "size", 3, "edges, m")
        if min(size) <= 0.0:
            raise node.fail("size", "three positive edges [m]")
    else:
        node.number("radius", "m", above=0.0)
        node.number("length", "m", above=0.0)
    _placement(node)
    node.choice("material", materials)
    node.flag("collide", True)
    node.finish()


def _placement(node: Node) -> None:
    vector(node, "xyz", 3, "position, m")
    if node.has("rpy"):
        vector(node, "rpy", 3, "roll, pitch, yaw, rad")


def _joint(node: Node, name: str, actuated: Sequence[str], links: Sequence[str]) -> None:
    node.choice("parent", links)
    node.choice("child", links)
    _placement(node)
    if node.has("mimic"):
        mimic = node.child("mimic", "joint, multiplier and offset")
        mimic.choice("joint", actuated)
        mimic.number("multiplier", "per joint unit")
        mimic.number("offset", "rad or m")
        mimic.finish()
    if node.has("mimic") or name in actuated:
        axis = np.array(vector(node, "axis", 3, "unit axis in the joint frame"))
        if abs(np.linalg.norm(axis) - 1.0) > 1e-6:
            raise node.fail("axis", "a vector of length 1")
    node.finish()


def _check_tree(
    top: Node, joints: Node, links: Sequence[str], base: str, end_effector: str
) -> None:
    parents: dict[str, str] = {}
    for name in joints.names():
        place: dict[str, Any] = joints.get(name, "")
        child = place["child"]
        if child in parents:
            place_node = joints.child(name, "")
            raise place_node.fail("child", "a link that no other joint has as its child")
        parents[child] = place["parent"]
    for key, link in (("base_frame", base), ("end_effector_frame", end_effector)):
        if link not in links:
            raise top.fail(key, f"one of the links: {', '.join(links)}")
    if base in parents:
        raise top.fail("base_frame", f"a root link, but '{base}' is a child of '{parents[base]}'")
    for link in links:
        steps, current = 0, link
        while current in parents and steps <= len(links):
            current, steps = parents[current], steps + 1
        if current != base:
            raise top.fail(
                "base_frame", f"the root of the tree, but link '{link}' hangs from '{current}'"
            )
