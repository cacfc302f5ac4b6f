# SPDX-License-Identifier: Apache-2.0
"""Finding storage files whatever is left of the metadata."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from na_core.nad.errors import BagFormatError
from na_core.nad.example import Example, write_example
from na_core.nad.locate import find_files, read_metadata
from na_core.testing import shared_data


@pytest.fixture
def bag(tmp_path: Path) -> Path:
    return write_example(tmp_path / "episode", Example(seconds=1))


def test_directory_file_and_metadata_lead_to_the_same_file(bag: Path) -> None:
    file = bag / "episode_0.mcap"
    assert find_files(bag).files == [file]
    assert find_files(file).files == [file]
    assert find_files(bag / "metadata.yaml").files == [file]
    assert find_files(bag).remarks == []


def test_without_metadata(bag: Path) -> None:
    (bag / "metadata.yaml").unlink()
    found = find_files(bag)
    assert [file.name for file in found.files] == ["episode_0.mcap"]
    assert found.remarks == ["metadata.yaml is missing"]


def test_metadata_that_names_another_file(bag: Path) -> None:
    (bag / "episode_0.mcap").rename(bag / "renamed.mcap")
    found = find_files(bag)
    assert [file.name for file in found.files] == ["renamed.mcap"]
    assert "names episode_0.mcap, which is not there; reading renamed.mcap" in found.remarks[0]


@pytest.mark.parametrize("text", ["", "a: b", "rosbag2_bagfile_information: 3", "[", "\x00"])
def test_unusable_metadata_is_a_remark(bag: Path, text: str) -> None:
    (bag / "metadata.yaml").write_text(text)
    content, remark = read_metadata(bag)
    assert content is None and "cannot be used" in remark
    assert len(find_files(bag).files) == 1


def test_files_are_read_in_numeric_order(bag: Path) -> None:
    content = (bag / "episode_0.mcap").read_bytes()
    (bag / "metadata.yaml").unlink()
    for number in (10, 2):
        (bag / f"episode_{number}.mcap").write_bytes(content)
    names = [file.name for file in find_files(bag).files]
    assert names == ["episode_0.mcap", "episode_2.mcap", "episode_10.mcap"]


def test_extra_file_is_not_read_and_said(bag: Path) -> None:
    (bag / "other.mcap").write_bytes((bag / "episode_0.mcap").read_bytes())
    found = find_files(bag)
    assert [file.name for file in found.files] == ["episode_0.mcap"]
    assert found.remarks == ["other.mcap is not named by metadata.yaml and is not read"]


def test_old_metadata_paths_with_folders(bag: Path) -> None:
    path = bag / "metadata.yaml"
    content = yaml.safe_load(path.read_text())
    content["rosbag2_bagfile_information"]["relative_file_paths"] = ["old/episode_0.mcap"]
    path.write_text(yaml.safe_dump(content))
    assert find_files(bag).files == [bag / "episode_0.mcap"]


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"", r"empty \(0 bytes\)"), (b"hello world", "neither MCAP nor SQLite: it starts with 68")],
)
def test_foreign_file(tmp_path: Path, content: bytes, words: str) -> None:
    file = tmp_path / "x.mcap"
    file.write_bytes(content)
    with pytest.raises(BagFormatError, match=words):
        find_files(file)


def test_missing_and_empty_places(tmp_path: Path) -> None:
    with pytest.raises(BagFormatError, match="does not exist"):
        find_files(tmp_path / "none")
    with pytest.raises(BagFormatError, match=r"no .mcap or .db3 file \(it is empty\)"):
        find_files(tmp_path)


def test_ros1_bag_is_refused_with_its_converter(tmp_path: Path) -> None:
    (tmp_path / "old.bag").write_bytes(b"#ROSBAG V2.0\n" + bytes(100))
    for path in (tmp_path, tmp_path / "old.bag"):
        with pytest.raises(BagFormatError, match=r"ROS 1 bag.*rosbags-convert --src old.bag"):
            find_files(path)


def test_real_ros1_bag_is_refused() -> None:
    data = shared_data()
    if data is None:
        pytest.skip("no shared data folder")
    with pytest.raises(BagFormatError, match=r"id1.bag: is a ROS 1 bag; .*rosbags-convert"):
        find_files(data / "ur3-identification/id1.bag")
