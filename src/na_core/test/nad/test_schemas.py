# SPDX-License-Identifier: Apache-2.0
"""Definitions carry their dependencies and hash as ROS itself does."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from na_core.nad.errors import SchemaError
from na_core.nad.schemas import (
    MessageSource,
    default_source,
    dependencies,
    normalise,
    store_from_texts,
    type_hash,
)


def test_definition_lists_dependencies_once_after_separators() -> None:
    text = default_source().definition("na_msgs/msg/NeuralActuatorState").text
    parts = text.split("=" * 80 + "\n")
    heads = [part.split("\n", 1)[0] for part in parts[1:]]
    assert heads[0] == "MSG: std_msgs/Header"
    assert sorted(set(heads)) == sorted(heads)
    assert "MSG: na_msgs/ContactGate" in heads
    assert "MSG: geometry_msgs/Vector3" in heads
    assert "MSG: builtin_interfaces/Time" in heads


def test_hash_equals_the_one_ros_computed() -> None:
    for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep):
        path = Path(prefix) / "share/sensor_msgs/msg/JointState.json"
        if prefix and path.is_file():
            hashes = json.loads(path.read_text())["type_hashes"]
            expected = {entry["type_name"]: entry["hash_string"] for entry in hashes}
            found = default_source().definition("sensor_msgs/msg/JointState").hash
            assert found == expected["sensor_msgs/msg/JointState"]
            return
    pytest.skip("no installed sensor_msgs/msg/JointState.json to compare with")


def test_dependencies_skip_constants_comments_arrays_and_bounds() -> None:
    text = (
        "# Foo foo\nuint8 A=1\nBar[3] a\nstd_msgs/Header h\nstring<=5 s\nfloat64[<=4] v\nHeader k"
    )
    assert dependencies("pkg/msg/X", text) == ["pkg/msg/Bar", "std_msgs/msg/Header"]


def test_source_directory_wins_over_builtin_types(tmp_path: Path) -> None:
    folder = tmp_path / "std_msgs" / "msg"
    folder.mkdir(parents=True)
    (folder / "Header.msg").write_text("uint32 seq\n")
    assert MessageSource([tmp_path]).text("std_msgs/msg/Header") == "uint32 seq\n"


def test_unknown_type_says_where_it_looked(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match=rf"looked in {tmp_path}.*./na setup"):
        MessageSource([tmp_path]).definition("nobody/msg/Knows")


def test_unusable_text_is_a_schema_error_naming_the_type() -> None:
    with pytest.raises(SchemaError, match="a/msg/B: message definition cannot be used"):
        store_from_texts([("a/msg/B", "float64[ x\n")])


def test_hash_changes_with_a_field() -> None:
    assert type_hash("a/msg/B", "int32 x\n") != type_hash("a/msg/B", "int64 x\n")


def test_normalise_adds_msg_and_refuses_nonsense() -> None:
    assert normalise("std_msgs/Header") == "std_msgs/msg/Header"
    with pytest.raises(ValueError, match="expected 'package/msg/Name'"):
        normalise("Header")
