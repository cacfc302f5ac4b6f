# SPDX-License-Identifier: Apache-2.0
"""Episodes as typed arrays: right values, old layouts, odd recordings, cache."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rosbags.highlevel import AnyReader

from na_core.nad import reader as reader_module
from na_core.nad.cdr_rows import MessageTemplate
from na_core.nad.errors import SchemaError
from na_core.nad.example import JOINTS, Example, motion, telemetry_template, write_example
from na_core.nad.layout import (
    EPISODE,
    FOLLOWER_JOINT_STATES,
    FOLLOWER_TELEMETRY,
    LABEL_SOURCES,
    TOPICS_BY_NAME,
)
from na_core.nad.reader import find_episodes, find_unfinished, load_episode, read_episode
from na_core.nad.schemas import default_source, store_from_texts
from na_core.nad.typestore import encode, nad_typestore
from na_core.nad.writer import EpisodeWriter
from na_core.testing import shared_data

TELEMETRY_TYPE = "na_msgs/msg/ActuatorTelemetry"


def _telemetry_bag(path: Path, rows: list[bytes], times: list[int] | None = None) -> Path:
    with EpisodeWriter(path) as writer:
        writer.add_topic(FOLLOWER_TELEMETRY, TELEMETRY_TYPE)
        for i, row in enumerate(rows):
            writer.write(FOLLOWER_TELEMETRY, times[i] if times else 10**18 + i * 10**7, row)
    return path


def test_arrays_equal_what_was_recorded(tmp_path: Path) -> None:
    example = Example(seconds=2, label_mass=0.2)
    episode = read_episode(write_example(tmp_path / "episode", example))
    expected, track = motion(example), episode.follower
    assert track is not None
    assert track.names == JOINTS and track.arm == "follower"
    for name in ("position", "velocity", "goal_requested", "current", "load", "sequence"):
        np.testing.assert_array_equal(getattr(track, name), expected[name])
    np.testing.assert_array_equal(track.stamp_ns, expected["stamp_ns"])
    np.testing.assert_array_equal(track.log_ns, expected["stamp_ns"] + 500_000)
    assert not track.measured("load").any() and track.measured("position").all()
    assert not track.capabilities()["load"].any() and track.capabilities()["current"].all()
    states = episode.joint_states[FOLLOWER_JOINT_STATES]
    np.testing.assert_array_equal(states.position, expected["position"])
    assert np.isnan(states.effort).all()
    labels = episode.labels
    assert labels is not None
    source, force, valid = labels.at(track.time_ns)
    assert valid.all() and (source == LABEL_SOURCES["payload"]).all()
    np.testing.assert_allclose(force, [[0.0, 0.0, -0.2 * 9.80665]] * len(track))
    assert episode.info.task == "example" and episode.info.written[0] > 0


def test_arrays_equal_the_rosbags_library(tmp_path: Path) -> None:
    path = write_example(tmp_path / "episode", Example(seconds=1))
    track = read_episode(path).follower
    assert track is not None
    with AnyReader([path]) as reader:
        connections = [c for c in reader.connections if c.topic == FOLLOWER_TELEMETRY]
        for i, (connection, time, raw) in enumerate(reader.messages(connections)):
            message: Any = reader.deserialize(raw, connection.msgtype)
            assert time == track.log_ns[i]
            np.testing.assert_array_equal(message.position, track.position[i])
            assert message.sequence == track.sequence[i]


def test_joint_names_permuted_mid_bag_are_sorted_by_name(tmp_path: Path) -> None:
    values = np.arange(5.0)
    first = telemetry_template("follower", JOINTS).rows(2, sequence=[0, 1], position=values)
    swapped = telemetry_template("follower", JOINTS[::-1])
    second = swapped.rows(2, sequence=[2, 3], position=values[::-1])
    episode = read_episode(_telemetry_bag(tmp_path / "e", first + second))
    track = episode.follower
    assert track is not None and track.names == JOINTS
    np.testing.assert_array_equal(track.position, [values] * 4)
    assert any("2 different orders" in remark for remark in episode.remarks)


def test_a_joint_that_is_sometimes_absent_is_nan_there(tmp_path: Path) -> None:
    whole = telemetry_template("follower", JOINTS).rows(1, sequence=[0], position=np.ones(5))
    part = telemetry_template("follower", JOINTS[:3]).rows(1, sequence=[1], position=np.ones(3))
    track = read_episode(_telemetry_bag(tmp_path / "e", whole + part)).follower
    assert track is not None
    np.testing.assert_array_equal(np.isnan(track.position[1]), [False] * 3 + [True] * 2)


def test_nan_positions_stay_nan(tmp_path: Path) -> None:
    position = np.ones((3, 5))
    position[1, 2] = np.nan
    rows = telemetry_template("follower", JOINTS).rows(3, sequence=range(3), position=position)
    track = read_episode(_telemetry_bag(tmp_path / "e", rows)).follower
    assert track is not None
    np.testing.assert_array_equal(track.position, position)


def test_values_that_do_not_match_the_names_are_unmeasured(tmp_path: Path) -> None:
    prototype = {"name": ["a", "b"], "position": [1.0]}
    row = MessageTemplate(nad_typestore(), "sensor_msgs/msg/JointState", prototype).rows(2)
    with EpisodeWriter(tmp_path / "e") as writer:
        writer.add_topic("/joint_states", "sensor_msgs/msg/JointState")
        writer.write("/joint_states", 1, row[0])
    episode = read_episode(tmp_path / "e")
    assert np.isnan(episode.joint_states["/joint_states"].position).all()
    assert any("1 values in position for 2 names" in remark for remark in episode.remarks)


def test_header_time_that_is_zero_everywhere_falls_back_and_says_so(tmp_path: Path) -> None:
    rows = telemetry_template("follower", JOINTS).rows(3, sequence=range(3))
    episode = read_episode(_telemetry_bag(tmp_path / "e", rows))
    assert episode.follower is not None and episode.follower.base == "log"
    assert any("every header stamp is 0" in remark for remark in episode.remarks)


def test_time_base_is_chosen_and_checked(tmp_path: Path) -> None:
    path = write_example(tmp_path / "episode", Example(seconds=1))
    header, log = load_episode(path).follower, load_episode(path, time_base="log").follower
    assert header is not None and log is not None
    np.testing.assert_array_equal(log.time_ns, header.log_ns)
    with pytest.raises(ValueError, match="time_base = 'wall': expected one of header, log"):
        load_episode(path, time_base="wall")


def test_clock_jump_splits_the_episode(tmp_path: Path) -> None:
    stamps = 10**18 + np.arange(100) * 16_666_667
    stamps[60:] -= 3_600_000_000_000
    rows = telemetry_template("follower", JOINTS).rows(
        100, sequence=range(100), stamp_ns=stamps, position=np.zeros(5)
    )
    times = [10**18 + i * 16_666_667 for i in range(100)]
    episode = read_episode(_telemetry_bag(tmp_path / "e", rows, times))
    track = episode.follower
    assert track is not None and track.segments.tolist() == [[0, 60], [60, 100]]
    assert any("1 clock jumps" in remark for remark in episode.remarks)


OLD_TELEMETRY = """
std_msgs/Header header
uint64 sequence
string arm
string[] name
float64[] goal
float64[] position
float32 supply
================================================================================
MSG: std_msgs/Header
builtin_interfaces/Time stamp
string frame_id
================================================================================
MSG: builtin_interfaces/Time
int32 sec
uint32 nanosec
"""


def test_an_older_definition_in_the_bag_is_used(tmp_path: Path) -> None:
    store = store_from_texts([(TELEMETRY_TYPE, OLD_TELEMETRY)])
    values = {"sequence": 3, "arm": "follower", "name": ["a"], "goal": [0.5], "position": [0.25]}
    cdr = encode(store, TELEMETRY_TYPE, values)
    with EpisodeWriter(tmp_path / "e") as writer:
        writer.add_topic_text(FOLLOWER_TELEMETRY, TELEMETRY_TYPE, OLD_TELEMETRY)
        writer.write(FOLLOWER_TELEMETRY, 5, cdr)
    track = read_episode(tmp_path / "e").follower
    assert track is not None
    assert track.position.tolist() == [[0.25]] and track.sequence.tolist() == [3]
    assert np.isnan(track.current).all() and np.isnan(track.goal_sent).all()


def test_wrong_schema_names_topic_and_message(tmp_path: Path) -> None:
    rows = telemetry_template("follower", JOINTS).rows(2, sequence=range(2))
    wrong = default_source().definition("sensor_msgs/msg/JointState").text
    with EpisodeWriter(tmp_path / "e") as writer:
        writer.add_topic_text(FOLLOWER_TELEMETRY, "sensor_msgs/msg/JointState", wrong)
        for row in rows:
            writer.write(FOLLOWER_TELEMETRY, 5, row)
    with pytest.raises(SchemaError, match=f"topic {FOLLOWER_TELEMETRY}:.*message 0.*does not fit"):
        read_episode(tmp_path / "e")


def test_other_types_become_numbers(tmp_path: Path) -> None:
    kind = TOPICS_BY_NAME["/neural_actuator/contact"].type
    with EpisodeWriter(tmp_path / "e") as writer:
        writer.add_topic("/neural_actuator/contact", kind)
        for i in range(3):
            cdr = encode(nad_typestore(), kind, {"probability": i / 10})
            writer.write("/neural_actuator/contact", i + 1, cdr)
    track: Any = read_episode(tmp_path / "e").tracks["/neural_actuator/contact"]
    assert track.numbers["probability"].tolist() == [0.0, 0.1, 0.2]


def test_cache_gives_the_same_read_only_arrays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_example(tmp_path / "episode", Example(seconds=1, label_mass=0.1))
    cold = load_episode(path)
    monkeypatch.setattr(reader_module, "read_episode", None)  # a miss would fail
    warm = load_episode(path)
    assert warm.remarks == cold.remarks and warm.info == cold.info
    assert warm.tracks.keys() == cold.tracks.keys()
    for name, track in cold.tracks.items():
        for key, value in vars(track).items():
            other = getattr(warm.tracks[name], key)
            if isinstance(value, np.ndarray):
                np.testing.assert_array_equal(other, value)
                assert other.dtype == value.dtype and not other.flags.writeable
            else:
                assert other == value


def test_cache_follows_content_and_options(tmp_path: Path) -> None:
    path = write_example(tmp_path / "a", Example(seconds=1, seed=1))
    first = load_episode(path).follower
    for file in path.iterdir():
        file.unlink()
    other = write_example(tmp_path / "b", Example(seconds=1, seed=2))
    for file in other.iterdir():
        file.rename(path / file.name)
    second = load_episode(path).follower
    assert first is not None and second is not None
    assert not np.array_equal(first.position, second.position)
    assert load_episode(path, time_base="log").follower is not None


def test_damaged_cache_entry_is_ignored(tmp_path: Path) -> None:
    path = write_example(tmp_path / "episode", Example(seconds=1))
    load_episode(path, cache_dir=tmp_path / "c")
    (entry,) = (tmp_path / "c").rglob("*.nadc")
    for content in (b"", b"NADC0001", entry.read_bytes()[:-1]):
        entry.write_bytes(content)
        assert len(load_episode(path, cache_dir=tmp_path / "c").follower or ()) == 60


def test_find_episodes_leaves_unfinished_ones_out(tmp_path: Path) -> None:
    for name in ("b", "a"):
        write_example(tmp_path / name, Example(seconds=1))
    EpisodeWriter(tmp_path / "c").abandon()
    running = EpisodeWriter(tmp_path / "d")
    assert find_unfinished(tmp_path) == [tmp_path / ".c.part"]
    running.discard()
    assert [path.name for path in find_episodes(tmp_path)] == ["a", "b"]
    assert list(find_episodes(tmp_path / "a")) == [tmp_path / "a"]


def test_info_of_a_bag_without_description_is_blank() -> None:
    data = shared_data()
    if data is None:
        pytest.skip("no shared data folder")
    episode = read_episode(data / "unisa-rosbag2/panda_exciting_trajectory.db3")
    assert EPISODE not in episode.tracks and np.isnan(episode.info.payload)


@pytest.mark.parametrize(
    ("name", "count", "rate", "joint"),
    [
        ("panda_exciting_trajectory.db3", 727, 30.0, "fer_joint7"),
        ("ur10_exciting_trajectory.db3", 3441, 125.0, "wrist_3_joint"),
    ],
)
def test_real_bags_in_full(name: str, count: int, rate: float, joint: str) -> None:
    data = shared_data()
    if data is None:
        pytest.skip("no shared data folder")
    track = read_episode(data / "unisa-rosbag2" / name).primary()
    assert track is not None and len(track) == count
    assert track.names[-1] == joint
    assert (count - 1) / track.seconds[-1] == pytest.approx(rate, rel=1e-3)
    assert np.isfinite(track.position).all()
    assert track.segments.tolist() == [[0, count]]


def test_duplicate_and_out_of_order_messages_lose_nothing(tmp_path: Path) -> None:
    stamps = 10**18 + np.arange(100) * 16_666_667
    rows = telemetry_template("follower", JOINTS).rows(
        100, sequence=range(100), stamp_ns=stamps, position=np.arange(100.0)[:, None] * np.ones(5)
    )
    order = [*range(40), 41, 40, *range(42, 70), 69, 69, *range(70, 100)]
    path = _telemetry_bag(tmp_path / "e", [rows[i] for i in order])
    episode = read_episode(path)
    track = episode.follower
    assert track is not None and track.segments.tolist() == [[0, 100]]
    assert track.position[:, 0].tolist() == list(range(100))
    expected = f"{FOLLOWER_TELEMETRY}: 2 duplicates dropped, 1 late messages put back in order"
    assert expected in episode.remarks
    log = read_episode(path, time_base="log").follower
    assert log is not None and log.position[:, 0].tolist() == list(range(100))


def test_a_foreign_topic_that_cannot_be_decoded_does_not_hide_the_rest(tmp_path: Path) -> None:
    rows = telemetry_template("follower", JOINTS).rows(2, sequence=range(2))
    with EpisodeWriter(tmp_path / "e") as writer:
        writer.add_topic(FOLLOWER_TELEMETRY, TELEMETRY_TYPE)
        writer.add_topic_text("/camera", "camera_msgs/msg/Odd", "wstring w\n")
        writer.add_topic_text("/broken", "camera_msgs/msg/Broken", "float64[ x\n")
        for i, row in enumerate(rows):
            writer.write(FOLLOWER_TELEMETRY, i + 1, row)
        writer.write("/camera", 3, b"\0\1\0\0" + bytes(8))
        writer.write("/broken", 4, b"\0\1\0\0" + bytes(8))
    episode = read_episode(tmp_path / "e")
    assert len(episode.follower or ()) == 2
    for words in ("/camera is not read: ", "/broken is not read: "):
        assert any(remark.startswith(words) for remark in episode.remarks), episode.remarks
