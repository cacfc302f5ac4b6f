# SPDX-License-Identifier: Apache-2.0
"""Merge, trim and relabel: right messages, right description, provenance, source untouched."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from na_core.nad.cache import content_hash
from na_core.nad.edit import merge, relabel, trim
from na_core.nad.errors import BagFormatError, EpisodeExistsError, SchemaError
from na_core.nad.example import Example, write_example
from na_core.nad.layout import FOLLOWER_TELEMETRY
from na_core.nad.raw_bag import RawBag
from na_core.nad.reader import read_episode
from na_core.nad.validate import validate
from na_core.nad.writer import EpisodeWriter


@pytest.fixture
def source(tmp_path: Path) -> Path:
    example = Example(seconds=6, category="force_labelled", payload=0.2, label_mass=0.2)
    return write_example(tmp_path / "source", example)


def test_trim_keeps_the_part_and_the_label_in_force(source: Path, tmp_path: Path) -> None:
    whole, before = read_episode(source).follower, content_hash(source)
    episode = read_episode(trim(source, tmp_path / "part", 2.0, 5.0))
    assert whole is not None and episode.follower is not None and episode.labels is not None
    np.testing.assert_array_equal(episode.follower.sequence, whole.sequence[120:300])
    assert len(episode.labels) == 1
    assert episode.info.episode == "part"
    written = dict(zip(episode.info.topic, episode.info.written, strict=True))
    assert written[FOLLOWER_TELEMETRY] == 180
    assert validate(tmp_path / "part").verdict == "good"
    assert content_hash(source) == before


def test_trim_counts_what_is_missing_in_its_part(tmp_path: Path) -> None:
    source = write_example(tmp_path / "s", Example(seconds=4, dropped=(10, 150, 151)))
    info = read_episode(trim(source, tmp_path / "t", 1.0)).info
    assert dict(zip(info.topic, info.missed, strict=True))[FOLLOWER_TELEMETRY] == 2


def test_trim_to_nothing_leaves_nothing(source: Path, tmp_path: Path) -> None:
    with pytest.raises(BagFormatError, match=r"no message between 100.0 s and 101.0 s"):
        trim(source, tmp_path / "part", 100.0, 101.0)
    with pytest.raises(ValueError, match="expected 0 <= start < stop"):
        trim(source, tmp_path / "part", 3.0, 2.0)
    assert not list(tmp_path.glob("*part*"))


def test_merge_keeps_a_message_of_two_sources_once(source: Path, tmp_path: Path) -> None:
    first = trim(source, tmp_path / "a", 0.0, 4.0)
    second = trim(source, tmp_path / "b", 3.0)
    merged = read_episode(merge([first, second], tmp_path / "m"))
    whole = read_episode(source)
    assert merged.follower is not None and whole.follower is not None
    np.testing.assert_array_equal(merged.follower.sequence, whole.follower.sequence)
    assert validate(tmp_path / "m").verdict == "good"


def test_merge_refuses_different_definitions(source: Path, tmp_path: Path) -> None:
    with EpisodeWriter(tmp_path / "other") as writer:
        writer.add_topic(FOLLOWER_TELEMETRY, "std_msgs/msg/Header")
        writer.write(FOLLOWER_TELEMETRY, 1, b"\0\1\0\0" + bytes(13))
    with pytest.raises(SchemaError, match="differ in type or definition between the sources"):
        merge([source, tmp_path / "other"], tmp_path / "m")
    assert not list(tmp_path.glob("*m*.part"))


def test_relabel_changes_description_and_label_only(source: Path, tmp_path: Path) -> None:
    label = {
        "header": {"frame_id": "link1"},
        "source": 1,
        "force": {"z": -0.5 * 9.80665},
        "mass": 0.5,
        "valid": True,
    }
    changes = {"payload": 0.5, "task": "hold", "pair_id": "p1"}
    episode = read_episode(relabel(source, tmp_path / "new", changes, label))
    old = read_episode(source)
    assert (episode.info.task, episode.info.payload, episode.info.pair_id) == ("hold", 0.5, "p1")
    assert episode.info.robot == old.info.robot
    counts = [dict(zip(i.topic, i.written, strict=True)) for i in (episode.info, old.info)]
    assert counts[0] == counts[1]
    assert episode.labels is not None and episode.labels.mass.tolist() == [0.5]
    assert episode.follower is not None and old.follower is not None
    np.testing.assert_array_equal(episode.follower.position, old.follower.position)
    assert validate(tmp_path / "new").verdict == "good"


def test_relabel_refuses_an_unknown_field(source: Path, tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="EpisodeInfo has no field 'colour'"):
        relabel(source, tmp_path / "new", {"colour": "red"})


def test_provenance_grows_step_by_step(source: Path, tmp_path: Path) -> None:
    part = trim(source, tmp_path / "part", 1.0)
    new = relabel(part, tmp_path / "new", {"task": "x"})
    history = json.loads(RawBag(new).custom_data()["history"])
    assert [step["what"] for step in history] == ["trim 1 inf", "relabel task=x"]
    assert history[0]["from"] == [{"name": "source", "sha256": content_hash(source)}]
    assert history[1]["from"] == [{"name": "part", "sha256": content_hash(part)}]


def test_existing_output_is_never_overwritten(source: Path, tmp_path: Path) -> None:
    before = content_hash(source)
    with pytest.raises(EpisodeExistsError):
        trim(source, source, 1.0)
    assert content_hash(source) == before
