# SPDX-License-Identifier: Apache-2.0
"""The import rules between packages hold in every module, also inside functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

#: Package -> top-level names that none of its modules may import.
FORBIDDEN = {
    "na_core": {"rclpy", "torch", "onnxruntime", "mujoco", "na_sim", "na_teleop", "na_inference"},
    "na_sim": {"torch", "na_teleop", "na_inference"},
    "na_teleop": {"torch", "mujoco", "na_sim", "na_inference"},
    "na_inference": {"torch", "mujoco", "na_sim", "na_teleop", "na_training"},
}

#: Modules that may import rclpy: the thin nodes and their common ROS helpers.
ROS_MODULES = ("_node.py", "client.py", "recorder_keyboard.py", "ros_helpers.py")


def modules(package: str) -> Iterator[Path]:
    yield from sorted((ROOT / "src" / package / package).rglob("*.py"))


def imported_names(source: str) -> set[str]:
    """Top-level package names imported anywhere in a module."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module.split(".")[0])
    return names


@pytest.mark.parametrize("package", sorted(FORBIDDEN))
def test_package_imports_nothing_forbidden(package: str) -> None:
    found = {
        str(path.relative_to(ROOT)): sorted(bad)
        for path in modules(package)
        if (bad := imported_names(path.read_text(encoding="utf-8")) & FORBIDDEN[package])
    }
    assert not found


@pytest.mark.parametrize("package", ["na_inference", "na_sim", "na_teleop"])
def test_only_nodes_import_rclpy(package: str) -> None:
    found = [
        str(path.relative_to(ROOT))
        for path in modules(package)
        if not path.name.endswith(ROS_MODULES)
        and imported_names(path.read_text(encoding="utf-8")) & {"rclpy", "na_msgs"}
    ]
    assert not found


def test_rule_catches_an_import_inside_a_function() -> None:
    assert "torch" in imported_names("def f():\n    from torch import nn\n")


@pytest.mark.parametrize("package", sorted(FORBIDDEN))
def test_every_package_has_modules(package: str) -> None:
    assert len(list(modules(package))) > 3
