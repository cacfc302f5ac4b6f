# SPDX-License-Identifier: Apache-2.0
"""URDF text: figures come from the robot file given, and failures name the files."""

from __future__ import annotations

import shutil
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from na_core.robot_paths import find_robot_file
from na_core.robot_spec import load_robot_spec
from na_core.robot_urdf import UrdfError, urdf_string

SOURCE = find_robot_file("omx").parent.parent


def copied(folder: Path) -> Path:
    """Copy robots/ and xacro/; return the omx file of the copy."""
    for name in ("robots", "xacro"):
        shutil.copytree(SOURCE / name, folder / name)
    return folder / "robots" / "omx.yaml"


def test_the_text_is_one_robot_element_and_names_no_folder() -> None:
    spec = load_robot_spec("omx")
    text = urdf_string(spec)
    assert ElementTree.fromstring(text).get("name") == "omx"
    assert str(spec.path.parent) not in text
    assert urdf_string(spec) is text  # cached


def test_an_edited_robot_file_changes_the_urdf(tmp_path: Path) -> None:
    path = copied(tmp_path)
    path.write_text(path.read_text().replace("mass: 0.0466", "mass: 0.0512", 1))
    root = ElementTree.fromstring(urdf_string(load_robot_spec(path)))
    mass = root.find("link[@name='gripper_left_link']/inertial/mass")
    assert mass is not None and mass.get("value") == "0.0512"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('<xacro:na_link name="link3"/>', '<xacro:na_link name="link9"/>', "link9"),
        ("</robot>", "", "no element found"),
        ("parts.xacro", "missing.xacro", "missing.xacro"),
    ],
)
def test_a_broken_xacro_names_file_and_reason(
    tmp_path: Path, old: str, new: str, words: str
) -> None:
    path = copied(tmp_path)
    xacro = tmp_path / "xacro" / "omx.urdf.xacro"
    xacro.write_text(xacro.read_text().replace(old, new))
    with pytest.raises(UrdfError, match="cannot expand the robot description") as caught:
        urdf_string(load_robot_spec(path))
    assert str(xacro) in str(caught.value)
    assert words in str(caught.value)
