# SPDX-License-Identifier: Apache-2.0
"""Writing episodes: complete, compatible, and nothing lost when something goes wrong."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from mcap.reader import make_reader
from rosbags.highlevel import AnyReader

from na_core.nad import mcap_file
from na_core.nad.errors import (
    DiskReserveError,
    EpisodeExistsError,
    EpisodeWriteError,
    NadError,
    SchemaError,
)
from na_core.nad.example import Example, write_example
from na_core.nad.layout import FOLLOWER_TELEMETRY, TELEMETRY
from na_core.nad.reader import read_episode
from na_core.nad.recover import recover
from na_core.nad.schemas import default_source
from na_core.nad.writer import EpisodeWriter, is_locked

TYPE = "na_msgs/msg/ActuatorTelemetry"
MS = 1_000_000


def _open(path: Path, **options: object) -> EpisodeWriter:
    writer = EpisodeWriter(path, **options)  # type: ignore[arg-type]
    writer.add_topic(FOLLOWER_TELEMETRY, TYPE, [TELEMETRY])
    return writer


def _logged(file: Path) -> list[int]:
    with file.open("rb") as stream:
        return [message.log_time for _, _, message in make_reader(stream).iter_messages()]


def test_mcap_and_rosbags_libraries_read_the_same_messages(tmp_path: Path) -> None:
    path = write_example(tmp_path / "episode", Example(seconds=2))
    with AnyReader([path]) as reader:
        theirs = [(c.topic, t, bytes(d)) for c, t, d in reader.messages()]
        types = {c.topic: c.msgtype for c in reader.connections}
    with next(path.glob("*.mcap")).open("rb") as stream:
        mcap = make_reader(stream)
        assert mcap.get_header().profile == "ros2"
        ours = [(c.topic, m.log_time, m.data) for _, c, m in mcap.iter_messages()]
    assert sorted(ours) == sorted(theirs)
    assert types[FOLLOWER_TELEMETRY] == TYPE
    assert len(ours) == 2 + 4 * 120


def test_metadata_is_that_of_rosbag2_jazzy(tmp_path: Path) -> None:
    path = write_example(tmp_path / "episode", Example(seconds=1))
    content = yaml.safe_load((path / "metadata.yaml").read_text())["rosbag2_bagfile_information"]
    assert content["version"] == 9
    assert content["storage_identifier"] == "mcap"
    assert content["relative_file_paths"] == ["episode_0.mcap"]
    assert content["message_count"] == 242
    topics = {t["topic_metadata"]["name"]: t for t in content["topics_with_message_count"]}
    telemetry = topics[FOLLOWER_TELEMETRY]
    assert telemetry["message_count"] == 60
    (qos,) = telemetry["topic_metadata"]["offered_qos_profiles"]
    assert (qos["reliability"], qos["durability"], qos["depth"]) == ("reliable", "volatile", 100)
    expected = default_source().definition(TYPE).hash
    assert telemetry["topic_metadata"]["type_description_hash"] == expected


def test_nothing_appears_under_the_final_name_before_close(tmp_path: Path) -> None:
    writer = _open(tmp_path / "episode")
    writer.write(FOLLOWER_TELEMETRY, 1, b"\0\1\0\0")
    assert not (tmp_path / "episode").exists()
    assert is_locked(tmp_path / ".episode.part")
    assert writer.close() == tmp_path / "episode"
    assert [item.name for item in tmp_path.iterdir()] == ["episode"]
    assert sorted(p.name for p in (tmp_path / "episode").iterdir()) == [
        "episode_0.mcap",
        "metadata.yaml",
    ]


def test_a_chunk_closes_after_the_flush_period_of_log_time(tmp_path: Path) -> None:
    with _open(tmp_path / "episode", flush_period=0.1) as writer:
        for i in range(101):
            writer.write(FOLLOWER_TELEMETRY, i * 10 * MS, b"\0\1\0\0" + bytes(40))
    with (tmp_path / "episode/episode_0.mcap").open("rb") as stream:
        summary = make_reader(stream).get_summary()
    spans = [c.message_end_time - c.message_start_time for c in summary.chunk_indexes]
    assert max(spans) == 100 * MS
    assert len(spans) == 10


def test_a_chunk_closes_at_its_size(tmp_path: Path) -> None:
    with _open(tmp_path / "episode", chunk_bytes=1000) as writer:
        for i in range(100):
            writer.write(FOLLOWER_TELEMETRY, i, b"\0\1\0\0" + bytes(96))
    with (tmp_path / "episode/episode_0.mcap").open("rb") as stream:
        assert len(make_reader(stream).get_summary().chunk_indexes) == 10


def test_tick_flushes_what_waits_and_nothing_else(tmp_path: Path) -> None:
    writer = _open(tmp_path / "episode", flush_period=0.0)
    file = tmp_path / ".episode.part/episode_0.mcap"
    writer.write(FOLLOWER_TELEMETRY, 5, b"\0\1\0\0")
    before = file.stat().st_size
    writer.tick()
    after = file.stat().st_size
    assert after > before
    writer.tick()
    assert file.stat().st_size == after
    writer.discard()


def test_splits_by_size_and_both_files_stand_alone(tmp_path: Path) -> None:
    path = write_example(tmp_path / "episode", Example(seconds=4), split_bytes=40_000)
    files = sorted(path.glob("*.mcap"))
    assert len(files) >= 2
    assert sum(len(_logged(file)) for file in files) == 2 + 4 * 240
    assert len(read_episode(path).follower or ()) == 240
    with AnyReader([path]) as reader:
        assert reader.message_count == 2 + 4 * 240


def test_two_recorders_to_one_directory(tmp_path: Path) -> None:
    first = _open(tmp_path / "episode")
    with pytest.raises(EpisodeExistsError, match="another recorder is writing this episode"):
        _open(tmp_path / "episode")
    first.write(FOLLOWER_TELEMETRY, 1, b"\0\1\0\0")
    first.close()
    with pytest.raises(EpisodeExistsError, match="exists; choose another"):
        _open(tmp_path / "episode")
    assert _logged(tmp_path / "episode/episode_0.mcap") == [1]


def test_a_leftover_is_named_with_the_way_out(tmp_path: Path) -> None:
    _open(tmp_path / "episode").abandon()
    part = tmp_path / ".episode.part"
    with pytest.raises(EpisodeExistsError, match=f"interrupted.*./na bag recover {part}"):
        _open(tmp_path / "episode")


def test_reserve_refuses_to_start(tmp_path: Path) -> None:
    with pytest.raises(DiskReserveError, match=r"1.0 MB free, the reserve is 2.0 MB.*not started"):
        _open(tmp_path / "episode", reserve_bytes=2_000_000, free=lambda _: 1_000_000)
    assert list(tmp_path.iterdir()) == []


def test_reserve_stops_a_running_episode_and_keeps_everything(tmp_path: Path) -> None:
    left = [10_000_000, 10_000_000]
    writer = _open(tmp_path / "episode", reserve_bytes=5_000_000, free=lambda _: left[0])
    written = 0
    with pytest.raises(DiskReserveError, match="everything so far is written"):
        for i in range(1000):
            writer.write(FOLLOWER_TELEMETRY, i * 10 * MS, b"\0\1\0\0" + bytes(20))
            written += 1
            if i == 500:
                left[0] = 4_000_000
    writer.close()
    assert len(_logged(tmp_path / "episode/episode_0.mcap")) == written + 1


def test_full_disk_keeps_every_chunk_and_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, room = os.write, [60_000]

    def full(descriptor: int, data: bytes) -> int:
        if len(data) > room[0]:
            if room[0] > 0:
                half, room[0] = room[0], 0
                return real(descriptor, data[:half])
            raise OSError(28, "No space left on device")
        room[0] -= len(data)
        return real(descriptor, data)

    monkeypatch.setattr(mcap_file.os, "write", full)
    path = tmp_path / "episode"
    with pytest.raises(EpisodeWriteError, match=r"No space left.*kept there.*./na bag recover"):
        write_example(path, Example(seconds=20))
    monkeypatch.undo()
    part = tmp_path / ".episode.part"
    assert not path.exists()
    report = recover(part)
    assert report.damage == []
    assert report.messages[FOLLOWER_TELEMETRY] > 60
    step = read_episode(report.output).follower
    assert step is not None and (step.sequence == range(len(step))).all()


def test_read_only_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, *_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(EpisodeWriteError, match=r"\.episode\.part: cannot create.*Permission"):
        _open(tmp_path / "episode")


def test_an_exception_leaves_the_recording_for_recover(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), _open(tmp_path / "episode") as writer:
        writer.write(FOLLOWER_TELEMETRY, 7, b"\0\1\0\0")
        raise RuntimeError
    assert recover(tmp_path / ".episode.part").total == 1


def test_discard_leaves_nothing(tmp_path: Path) -> None:
    writer = _open(tmp_path / "episode")
    writer.write(FOLLOWER_TELEMETRY, 7, b"\0\1\0\0")
    writer.discard()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(NadError, match="the episode is discarded"):
        writer.write(FOLLOWER_TELEMETRY, 8, b"\0\1\0\0")


def test_undeclared_topic_and_changed_type_are_refused(tmp_path: Path) -> None:
    writer = _open(tmp_path / "episode")
    with pytest.raises(NadError, match="/unknown was not declared; call add_topic"):
        writer.write("/unknown", 1, b"")
    with pytest.raises(SchemaError, match="cannot also be std_msgs/msg/Header"):
        writer.add_topic(FOLLOWER_TELEMETRY, "std_msgs/msg/Header")
    writer.discard()


def test_an_empty_episode_is_readable(tmp_path: Path) -> None:
    _open(tmp_path / "episode").close()
    assert read_episode(tmp_path / "episode").tracks == {}


_CHILD = """
import sys, time
from pathlib import Path
from na_core.nad.example import Example, messages
from na_core.nad.layout import TOPICS_BY_NAME
from na_core.nad.writer import EpisodeWriter
writer = EpisodeWriter(Path(sys.argv[1]), flush_period=0.5)
for topic, stamp, cdr in messages(Example(seconds=30)):
    if topic not in writer.counts:
        writer.add_topic(topic, TOPICS_BY_NAME[topic].type)
    writer.write(topic, stamp, cdr)
    print(writer.messages, flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("lines", [200, 1203])
def test_killed_writer_loses_at_most_the_last_chunk(
    tmp_path: Path, lines: int, run_python: Callable[..., subprocess.Popen[str]]
) -> None:
    process = run_python(_CHILD, str(tmp_path / "episode"))
    accepted = 0
    for line in process.stdout or ():
        accepted = int(line)
        if accepted >= lines:
            break
    process.send_signal(signal.SIGKILL)
    accepted += sum(1 for _ in process.stdout or ())
    process.wait()
    assert not is_locked(tmp_path / ".episode.part")
    report = recover(tmp_path / ".episode.part")
    assert accepted - report.total <= 0.5 * 240 + 4
    assert len(read_episode(report.output).tracks) >= 4


@pytest.fixture
def run_python() -> Callable[..., subprocess.Popen[str]]:
    def start(code: str, *arguments: str) -> subprocess.Popen[str]:
        paths = [path for path in sys.path if path]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        return subprocess.Popen(
            [sys.executable, "-c", code, *arguments],
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    return start
