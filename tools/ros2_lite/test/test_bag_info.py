# SPDX-License-Identifier: Apache-2.0
"""`ros2 bag info` on a tiny bag that is written here."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from ros2_lite import cli
from ros2_lite.verbs.bag import format_size, summarize_file, summarize_folder

rosbag2 = pytest.importorskip("rosbags.rosbag2", reason="needs the rosbags library")
typesys = pytest.importorskip("rosbags.typesys", reason="needs the rosbags library")

START = 1_764_558_000_123_456_789


@pytest.fixture
def bag(tmp_path: Path) -> Path:
    """A bag with 3 strings on /chatter and 2 on /quiet, over 0.4 s."""
    store = typesys.get_typestore(typesys.Stores.ROS2_JAZZY)
    text = store.types["std_msgs/msg/String"]
    path = tmp_path / "episode"
    with rosbag2.Writer(path, version=9, storage_plugin=rosbag2.StoragePlugin.MCAP) as writer:
        for topic, count in (("/chatter", 3), ("/quiet", 2)):
            connection = writer.add_connection(topic, text.__msgtype__, typestore=store)
            for i in range(count):
                data = store.serialize_cdr(text(f"{topic} {i}"), text.__msgtype__)
                writer.write(connection, START + i * 200_000_000, data)
    return path


def test_the_text(bag: Path, capsys: pytest.CaptureFixture[str], monkeypatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    assert cli.run(["bag", "info", str(bag)]) is None
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == ""
    assert lines[1] == "Files:             episode.mcap"
    assert lines[2].startswith("Bag size:          ")
    assert lines[3] == "Storage id:        mcap"
    assert lines[4].startswith("ROS Distro:        ")
    assert lines[5:] == [
        "Duration:          0.400000000s",
        "Start:             Dec  1 2025 03:00:00.123456789 (1764558000.123456789)",
        "End:               Dec  1 2025 03:00:00.523456789 (1764558000.523456789)",
        "Messages:          5",
        "Topic information: Topic: /chatter | Type: std_msgs/msg/String | Count: 3 | "
        "Serialization Format: cdr",
        "                   Topic: /quiet | Type: std_msgs/msg/String | Count: 2 | "
        "Serialization Format: cdr",
    ]


def test_rosbags_and_mcap_agree_on_the_same_bag(bag: Path) -> None:
    folder, file = summarize_folder(bag), summarize_file(bag / "episode.mcap")
    for name in ("files", "size", "storage", "start", "end", "messages", "topics"):
        assert getattr(folder, name) == getattr(file, name), name


def test_an_empty_bag(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "empty"
    with rosbag2.Writer(path, version=9, storage_plugin=rosbag2.StoragePlugin.MCAP):
        pass
    assert cli.run(["bag", "info", str(path)]) is None
    text = capsys.readouterr().out
    assert "Duration:          0.000000000s" in text
    assert "Messages:          0" in text


def test_what_is_no_bag(bag: Path, tmp_path: Path) -> None:
    assert "does not exist" in str(cli.run(["bag", "info", str(tmp_path / "nowhere")]))
    (bag / "metadata.yaml").unlink()
    answer = str(cli.run(["bag", "info", str(bag)]))
    assert "cannot read a bag at" in answer
    assert "was its recorder killed?" in answer
    file = bag / "episode.mcap"
    file.write_bytes(file.read_bytes()[:200])
    assert "cannot read" in str(cli.run(["bag", "info", str(file)]))


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (5 << 30, "5.0 GiB")]
)
def test_sizes(size: int, text: str) -> None:
    assert format_size(size) == text
