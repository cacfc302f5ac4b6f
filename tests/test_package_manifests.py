# SPDX-License-Identifier: Apache-2.0
"""package.xml of every package: licence, build type, and every import that a package provides."""

from __future__ import annotations

import ast
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MANIFESTS = sorted(
    path for folder in ("src", "launch", "urdf") for path in (ROOT / folder).rglob("package.xml")
)
#: rosdep key of an imported module where it is not the module's own name.
KEYS = {
    "numpy": "python3-numpy",
    "scipy": "python3-scipy",
    "yaml": "python3-yaml",
    "matplotlib": "python3-matplotlib",
}
#: Come from requirements/*.txt: in no rosdep list, or pinned to another version than apt has.
PIP_ONLY = {
    "dynamixel_sdk", "llvmlite", "mcap", "mujoco", "numba", "onnx", "onnxruntime", "pyarrow",
    "rerun", "rosbags", "scservo_sdk", "sklearn", "torch", "zstandard",
}  # fmt: skip


def imports(folder: Path) -> set[str]:
    found: set[str] = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.split(".")[0])
    return found - set(sys.stdlib_module_names)


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda path: path.parent.name)
def test_a_manifest_is_complete(manifest: Path) -> None:
    package = ElementTree.parse(manifest).getroot()
    name = package.findtext("name", "")
    assert package.get("format") == "3"
    assert package.findtext("license") == "Apache-2.0"
    assert package.findtext("description") and package.find("maintainer") is not None
    build = package.findtext("export/build_type")
    assert build == ("ament_cmake" if name == "na_msgs" else "ament_python")
    declared = {node.text for node in package if node.tag in ("depend", "exec_depend")}
    folder = manifest.parent / name
    needed = {KEYS.get(module, module) for module in imports(folder) - PIP_ONLY - {name}}
    assert needed <= declared, f"{manifest}: add <exec_depend> for {sorted(needed - declared)}"
    if (manifest.parent / "test").is_dir():
        tests = {node.text for node in package if node.tag == "test_depend"}
        assert "python3-pytest" in tests


def test_all_eight_packages_are_seen() -> None:
    assert len(MANIFESTS) == 8
