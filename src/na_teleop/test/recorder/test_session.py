# SPDX-License-Identifier: Apache-2.0
"""The recorder's state without ROS: episodes, counters, labels, absent topics, full disks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from na_core.nad import mcap_file
from na_core.nad.example import JOINTS, label_cdr, telemetry_template
from na_core.nad.layout import (
    FOLLOWER_TELEMETRY,
    LABEL,
    LEADER_TELEMETRY,
    TELEMETRY,
    TOPICS,
    EpisodeInfo,
    Qos,
    TopicSpec,
)
from na_core.nad.reader import find_episodes, read_episode
from na_core.nad.recover import recover
from na_teleop.recorder.session import RecorderConfig, RecorderSession, SessionError
from na_teleop.recorder.status import ERROR, OK, WARN, diagnose

START = 1_790_000_000_000_000_000
ROWS = telemetry_template("follower", JOINTS).rows(
    2000, sequence=np.arange(2000), stamp_ns=START + np.arange(2000) * 16_666_667
)


class Rig:
    """A session with a clock and a disk of its own; `said` collects what the operator is told."""

    def __init__(self, out_dir: Path, **config: Any) -> None:
        self.now = START
        self.left = 10_000_000_000
        self.said: list[tuple[str, str]] = []
        self.announced = 0
        options = {"reserve_bytes": 1_000_000, **config}
        self.session = RecorderSession(
            RecorderConfig(out_dir, **options),
            EpisodeInfo(robot="omx", task="lift"),
            offered=lambda topic: [TELEMETRY if "telemetry" in topic else Qos()],
            report=lambda level, text: self.said.append((level, text)),
            announce=self._announce,
            free=lambda _: self.left,
            wall_ns=lambda: self.now,
            monotonic=lambda: self.now * 1e-9,
        )

    def _announce(self, _: bytes) -> None:
        self.announced += 1

    def feed(self, first: int, last: int, topic: str = FOLLOWER_TELEMETRY) -> None:
        for i in range(first, last):
            self.now = START + i * 16_666_667
            self.session.message(topic, ROWS[i], self.now)
            self.session.tick()

    def texts(self, level: str) -> str:
        return "\n".join(text for own, text in self.said if own == level)


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


def test_start_record_stop(rig: Rig, tmp_path: Path) -> None:
    path = rig.session.start(EpisodeInfo(episode="first", category="free_motion"))
    assert path == tmp_path / "first" and not path.exists()
    rig.feed(0, 120)
    stopped = rig.session.stop()
    assert stopped.path == path and stopped.messages == 122
    assert stopped.duration == pytest.approx(119 / 60, abs=0.01)
    episode = read_episode(path)
    info = episode.info
    assert (info.task, info.category, info.robot) == ("lift", "free_motion", "omx")
    assert dict(zip(info.topic, info.written, strict=True))[FOLLOWER_TELEMETRY] == 120
    assert dict(zip(info.topic, info.missed, strict=True))[FOLLOWER_TELEMETRY] == 0
    assert len(episode.follower or ()) == 120
    assert rig.announced == 2


def test_drops_are_counted_and_told(rig: Rig) -> None:
    rig.session.start()
    rig.feed(0, 50)
    rig.feed(53, 60)
    path = rig.session.stop().path
    assert path is not None
    info = read_episode(path).info
    assert dict(zip(info.topic, info.missed, strict=True))[FOLLOWER_TELEMETRY] == 3
    assert "missed {'/follower/telemetry': 3}" in rig.texts("warn")


def test_discard_and_redo(rig: Rig, tmp_path: Path) -> None:
    rig.session.start(EpisodeInfo(episode="one", task="push"))
    rig.feed(0, 10)
    rig.session.redo()
    rig.feed(10, 20)
    path = rig.session.stop().path
    assert path == tmp_path / "one"
    episode = read_episode(path)
    assert episode.info.task == "push" and len(episode.follower or ()) == 10
    assert episode.follower is not None and episode.follower.sequence[0] == 10
    rig.session.start()
    assert rig.session.stop(keep=False).path is None
    assert [p.name for p in tmp_path.iterdir()] == ["one"]


def test_requests_at_the_wrong_time_say_what_to_do(rig: Rig) -> None:
    for request in (rig.session.stop, rig.session.redo):
        with pytest.raises(SessionError, match="no episode is being recorded"):
            request()
    rig.session.start(EpisodeInfo(episode="one"))
    with pytest.raises(SessionError, match="episode one is being recorded; stop it first"):
        rig.session.start()
    rig.session.stop()
    with pytest.raises(SessionError, match="exists; choose another"):
        rig.session.start(EpisodeInfo(episode="one"))
    with pytest.raises(SessionError, match="cannot start: episode name"):
        rig.session.start(EpisodeInfo(episode="../one"))


def test_automatic_names_never_collide(rig: Rig, tmp_path: Path) -> None:
    for _ in range(3):
        rig.session.start()
        rig.session.stop()
    names = sorted(path.name for path in find_episodes(tmp_path))
    assert names == [f"omx_lift_20260921_141320{suffix}" for suffix in ("", "_2", "_3")]


def test_relabel_inside_an_episode_is_a_message_with_its_stamp(rig: Rig) -> None:
    path = rig.session.start(EpisodeInfo(episode="one"))
    rig.feed(0, 60)
    rig.session.relabel(task="push", payload=0.3)
    rig.feed(60, 120)
    rig.session.stop()
    track: Any = read_episode(path).tracks["/nad/episode"]
    assert [info.task for info in track.infos] == ["lift", "push", "push"]
    assert track.log_ns[1] == START + 59 * 16_666_667
    assert rig.session.defaults.payload == 0.3
    with pytest.raises(SessionError, match="cannot relabel 'robot'; expected one of task"):
        rig.session.relabel(robot="x")


def test_label_set_before_the_start_is_in_every_episode(rig: Rig) -> None:
    rig.session.message(LABEL, label_cdr(0.2, START), START)
    for number, name in enumerate(("one", "two")):
        path = rig.session.start(EpisodeInfo(episode=name))
        rig.feed(10 * number, 10 * number + 10)
        rig.session.message(LABEL, label_cdr(0.5, rig.now), rig.now)
        rig.session.stop()
        labels = read_episode(path).labels
        assert labels is not None and len(labels) == 2 and labels.mass[-1] == 0.5


def test_missing_and_silent_topics_are_named_within_two_seconds(rig: Rig) -> None:
    rig.session.start()
    rig.feed(0, 180)
    assert rig.texts("warn").startswith(f"{LEADER_TELEMETRY}: no message 1.5")
    report = diagnose(rig.session)
    assert report.level == WARN and f"nothing from {LEADER_TELEMETRY}" in report.message
    rig.feed(180, 181, LEADER_TELEMETRY)
    assert f"{LEADER_TELEMETRY}: first message 3.0 s after the start" in rig.texts("info")


def test_reserve_closes_the_episode_cleanly(rig: Rig, tmp_path: Path) -> None:
    path = rig.session.start(EpisodeInfo(episode="one"))
    rig.feed(0, 200)
    rig.left = 500_000
    rig.feed(200, 300)
    assert not rig.session.recording
    assert "stopping: " in rig.texts("error") and "0.5 MB free" in rig.texts("error")
    info = read_episode(path).info
    written = dict(zip(info.topic, info.written, strict=True))[FOLLOWER_TELEMETRY]
    assert 200 <= written < 300 and written == len(read_episode(path).follower or ())
    with pytest.raises(SessionError, match=r"cannot start: .*reserve is 1.0 MB.*not started"):
        rig.session.start()


def test_full_disk_ends_loudly_and_the_recording_is_recovered(
    rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig.session.start(EpisodeInfo(episode="one"))
    rig.feed(0, 200)

    def full(*_: Any) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(mcap_file.os, "write", full)
    rig.feed(200, 300)
    monkeypatch.undo()
    assert not rig.session.recording
    assert "episode lost its disk" in rig.texts("error")
    assert f"./na bag recover {tmp_path / '.one.part'}" in rig.texts("error")
    report = recover(tmp_path / ".one.part")
    assert report.messages[FOLLOWER_TELEMETRY] >= 180
    rig.session.start(EpisodeInfo(episode="two"))
    rig.feed(300, 310)
    assert rig.session.stop().messages == 12


def test_messages_that_cannot_be_understood_are_recorded_all_the_same(rig: Rig) -> None:
    rig.session.start()
    rig.session.message(FOLLOWER_TELEMETRY, b"\0\1\0\0", START)
    assert f"{FOLLOWER_TELEMETRY}: expected little-endian" in rig.texts("warn")
    assert rig.session.stop().messages == 3


def test_a_topic_without_definition_costs_only_itself(tmp_path: Path) -> None:
    odd = TopicSpec("/odd", "nobody/msg/Knows")
    rig = Rig(tmp_path, topics=(*TOPICS, odd))
    rig.session.start()
    for i in range(3):
        rig.session.message("/odd", b"\0\1\0\0", START)
        rig.feed(i, i + 1)
    assert rig.texts("error").count("/odd is not recorded: ") == 1
    assert rig.session.stop().messages == 5


def test_close_keeps_a_running_episode(rig: Rig, tmp_path: Path) -> None:
    rig.session.start(EpisodeInfo(episode="one"))
    rig.feed(0, 10)
    rig.session.close()
    rig.session.close()
    assert len(read_episode(tmp_path / "one").follower or ()) == 10


def test_diagnostics_when_idle_and_with_losses(rig: Rig) -> None:
    assert diagnose(rig.session).level == OK
    rig.session.start(EpisodeInfo(episode="one"))
    rig.feed(0, 5)
    rig.feed(7, 9)
    report = diagnose(rig.session)
    values = dict(report.values)
    assert report.level == WARN and "2 messages missed" in report.message
    assert values[f"{FOLLOWER_TELEMETRY} written"] == "7"
    assert values[f"{FOLLOWER_TELEMETRY} missed"] == "2"
    assert ERROR > WARN
    rig.session.stop()
    assert dict(diagnose(rig.session).values)["episodes kept"] == "1"


def test_defaults_are_not_changed_by_one_request(rig: Rig) -> None:
    before = replace(rig.session.defaults)
    rig.session.start(EpisodeInfo(episode="one", task="other", payload=1.0))
    rig.session.stop()
    assert rig.session.defaults == before
