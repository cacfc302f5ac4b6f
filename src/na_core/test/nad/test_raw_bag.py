# SPDX-License-Identifier: Apache-2.0
"""Raw messages from every rosbag2 layout there is."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from mcap.writer import Writer as McapWriter
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer

from na_core.nad.errors import BagFormatError
from na_core.nad.example import Example, messages, write_example
from na_core.nad.layout import FOLLOWER_TELEMETRY, TOPICS_BY_NAME
from na_core.nad.raw_bag import RawBag, message_counts
from na_core.nad.reader import read_episode
from na_core.nad.schemas import default_source
from na_core.nad.typestore import encode, nad_typestore

EXAMPLE = Example(seconds=1)
EXPECTED = sorted((topic, time, cdr) for topic, time, cdr in messages(EXAMPLE))


def _foreign(path: Path, storage: StoragePlugin, mode: CompressionMode, version: Any = 9) -> Path:
    writer = Writer(path, version=version, storage_plugin=storage)
    writer.set_compression(mode, CompressionFormat.ZSTD)
    with writer:
        connections: dict[str, Any] = {}
        for topic, time, cdr in messages(EXAMPLE):
            if topic not in connections:
                kind = TOPICS_BY_NAME[topic].type
                store = nad_typestore()
                connections[topic] = writer.add_connection(topic, kind, typestore=store)
            writer.write(connections[topic], time, cdr)
    return path


def _read(path: Path) -> list[tuple[str, int, bytes]]:
    bag = RawBag(path)
    return sorted((bag.topics[n].name, time, cdr) for n, time, _, cdr in bag.messages())


@pytest.mark.parametrize(
    "mode", [CompressionMode.NONE, CompressionMode.MESSAGE, CompressionMode.FILE]
)
@pytest.mark.parametrize("storage", [StoragePlugin.SQLITE3, StoragePlugin.MCAP])
@pytest.mark.parametrize("metadata", [True, False])
def test_reads_foreign_bags(
    tmp_path: Path, storage: StoragePlugin, mode: CompressionMode, metadata: bool
) -> None:
    path = _foreign(tmp_path / "bag", storage, mode)
    if not metadata:
        (path / "metadata.yaml").unlink()
    assert _read(path) == EXPECTED


def test_reads_chunk_compressed_mcap_of_another_writer(tmp_path: Path) -> None:
    assert _read(_foreign(tmp_path / "b", StoragePlugin.MCAP, CompressionMode.STORAGE)) == EXPECTED


def test_reads_its_own(tmp_path: Path) -> None:
    path = write_example(tmp_path / "episode", EXAMPLE)
    assert [item for item in _read(path) if not item[0].startswith("/nad")] == EXPECTED
    counts = message_counts(path)
    assert counts is not None and counts[FOLLOWER_TELEMETRY] == 60


def test_sqlite_without_stored_definitions_uses_todays_and_says_so(tmp_path: Path) -> None:
    path = _foreign(tmp_path / "bag", StoragePlugin.SQLITE3, CompressionMode.NONE)
    import apsw

    database = apsw.Connection(str(next(path.glob("*.db3"))))
    database.execute("DROP TABLE message_definitions; UPDATE schema SET schema_version = 3")
    database.close()
    episode = read_episode(path)
    assert len(episode.follower or ()) == 60
    assert any("stored without its definition; today's is used" in r for r in episode.remarks)


def test_unclosed_file_says_so_after_its_last_message(tmp_path: Path) -> None:
    path = write_example(tmp_path / "episode", EXAMPLE)
    file = path / "episode_0.mcap"
    file.write_bytes(file.read_bytes()[:-8])
    with pytest.raises(BagFormatError, match=r"242 messages were read before; try: ./na bag recov"):
        _read(path)


def test_bit_flip_in_a_chunk_is_noticed(tmp_path: Path) -> None:
    path = write_example(tmp_path / "episode", EXAMPLE)
    file = path / "episode_0.mcap"
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 4
    file.write_bytes(data)
    with pytest.raises(BagFormatError, match=r"is damaged near byte \d+ of \d+: .*\./na bag recov"):
        _read(path)


def test_damaged_sqlite_names_the_file(tmp_path: Path) -> None:
    path = _foreign(tmp_path / "bag", StoragePlugin.SQLITE3, CompressionMode.NONE)
    file = next(path.glob("*.db3"))
    data = file.read_bytes()
    file.write_bytes(data[:4096] + bytes(len(data) - 4096))
    with pytest.raises(BagFormatError, match=f"{file.name}"):
        _read(path)


def test_truncated_compressed_file(tmp_path: Path) -> None:
    path = _foreign(tmp_path / "bag", StoragePlugin.SQLITE3, CompressionMode.FILE)
    file = next(path.glob("*.zstd"))
    file.write_bytes(file.read_bytes()[:1000])
    with pytest.raises(BagFormatError):
        _read(path)


def test_source_is_never_changed(tmp_path: Path) -> None:
    path = _foreign(tmp_path / "bag", StoragePlugin.SQLITE3, CompressionMode.NONE)
    before = {item.name: item.read_bytes() for item in path.iterdir()}
    for item in path.iterdir():
        item.chmod(0o444)
    path.chmod(0o555)
    try:
        assert _read(path) == EXPECTED
    finally:
        path.chmod(0o755)
    assert {item.name: item.read_bytes() for item in path.iterdir()} == before
    shutil.rmtree(path)


def test_channels_that_are_not_ros2_are_left_out_with_a_remark(tmp_path: Path) -> None:
    file = tmp_path / "mixed.mcap"
    with file.open("wb") as stream:
        writer = McapWriter(stream)
        writer.start()
        schema = writer.register_schema("thing", "jsonschema", b"{}")
        words = writer.register_channel("/json", "json", schema)
        writer.add_message(words, 1, b"{}", 1)
        text = default_source().definition("sensor_msgs/msg/JointState").text.encode()
        schema = writer.register_schema("sensor_msgs/msg/JointState", "ros2msg", text)
        joints = writer.register_channel("/joint_states", "cdr", schema)
        prototype = {"name": ["a"], "position": [1.0]}
        cdr = encode(nad_typestore(), "sensor_msgs/msg/JointState", prototype)
        writer.add_message(joints, 2, cdr, 2)
        writer.finish()
    assert _read(file) == [("/joint_states", 2, cdr)]
    bag = RawBag(file)
    list(bag.messages())
    expected = "/json is not read: its messages are 'json' with schema encoding 'jsonschema'"
    assert bag.remarks[0].startswith(expected)
