# SPDX-License-Identifier: Apache-2.0
"""Damage of every kind: what was written in intact chunks always comes back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from mcap.reader import make_reader
from rosbags.highlevel import AnyReader

from na_core.nad.errors import BagFormatError, EpisodeExistsError, NadError
from na_core.nad.example import Example, write_example
from na_core.nad.layout import FOLLOWER_TELEMETRY
from na_core.nad.mcap_salvage import Salvage
from na_core.nad.reader import read_episode
from na_core.nad.recover import recover
from na_core.nad.validate import validate
from na_core.nad.writer import EpisodeWriter

Message = tuple[int, int, bytes]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An episode of several small chunks."""
    example = Example(seconds=1.5, rate=20.0, arms=("follower",), joint_states=False)
    return write_example(tmp_path_factory.mktemp("small") / "episode", example, flush_period=0.25)


class _Whole:
    """The intact file: bytes, and per chunk where it lies and what it holds."""

    def __init__(self, bag: Path) -> None:
        file = next(bag.glob("*.mcap"))
        self.data = file.read_bytes()
        with file.open("rb") as stream:
            reader = make_reader(stream)
            chunks = sorted(reader.get_summary().chunk_indexes, key=lambda c: c.chunk_start_offset)
        self.spans = [(c.chunk_start_offset, c.chunk_start_offset + c.chunk_length) for c in chunks]
        self.messages = _messages(self.data)
        self.ends = [len(_messages(self.data[:stop])) for _, stop in self.spans]


def _messages(data: bytes) -> list[Message]:
    return [(channel, log, cdr) for channel, log, _, cdr in Salvage(data).messages()]


def test_intact_file_gives_everything_and_no_damage(small: Path) -> None:
    whole = _Whole(small)
    salvage = Salvage(whole.data)
    assert len(list(salvage.messages())) == 32
    assert salvage.damage == []
    assert len(whole.spans) >= 5


def test_truncated_at_every_byte_of_the_last_two_chunks(small: Path) -> None:
    whole = _Whole(small)
    first, last = whole.spans[-2][0], whole.spans[-1][1]
    assert last - first > 500
    for cut in range(first, last + 1):
        saved = _messages(whole.data[:cut])
        complete = max(
            (n for n, (_, stop) in zip(whole.ends, whole.spans, strict=True) if stop <= cut),
            default=0,
        )
        assert saved[:complete] == whole.messages[:complete], cut
        assert saved == whole.messages[: len(saved)], cut


@pytest.mark.slow
def test_truncated_at_every_byte_of_the_whole_file(small: Path) -> None:
    whole = _Whole(small)
    for cut in range(len(whole.data) + 1):
        saved = _messages(whole.data[:cut])
        assert saved == whole.messages[: len(saved)], cut


def _flip_everywhere(whole: _Whole, step: int, seed: int = 5) -> None:
    rng = np.random.default_rng(seed)
    for offset in range(8, len(whole.data), step):
        damaged = bytearray(whole.data)
        damaged[offset] ^= 1 << int(rng.integers(8))
        hit = [i for i, (a, b) in enumerate(whole.spans) if a <= offset < b]
        lost = {m for i in hit for m in range(whole.ends[i - 1] if i else 0, whole.ends[i])}
        kept = [m for i, m in enumerate(whole.messages) if i not in lost]
        saved = _messages(bytes(damaged))
        for message in kept:
            assert message in saved, (offset, hit)
        assert all(message in whole.messages for message in saved), offset


def test_a_bit_flip_costs_at_most_its_own_chunk(small: Path) -> None:
    _flip_everywhere(_Whole(small), 23)


@pytest.mark.slow
def test_a_bit_flip_at_every_byte_costs_at_most_its_own_chunk(small: Path) -> None:
    for seed in range(3):
        _flip_everywhere(_Whole(small), 1, seed)


@pytest.mark.parametrize("share", [0.3, 0.7, 0.95])
def test_recover_writes_a_complete_episode_and_leaves_the_original(
    tmp_path: Path, share: float
) -> None:
    source = write_example(tmp_path / "episode", Example(seconds=8))
    file = source / "episode_0.mcap"
    file.write_bytes(file.read_bytes()[: int(file.stat().st_size * share)])
    (source / "metadata.yaml").unlink()
    before = file.read_bytes()
    report = recover(source)
    assert report.output == tmp_path / "episode_recovered"
    assert file.read_bytes() == before and [p.name for p in source.iterdir()] == [file.name]
    assert report.damage
    with AnyReader([report.output]) as reader:
        assert reader.message_count == report.total
    follower = read_episode(report.output).follower
    assert follower is not None
    assert follower.sequence.tolist() == list(range(len(follower)))
    assert validate(report.output).verdict in ("good", "warnings")


def test_report_names_the_damaged_bytes_and_times(tmp_path: Path) -> None:
    source = write_example(tmp_path / "episode", Example(seconds=3))
    file = source / "episode_0.mcap"
    data = bytearray(file.read_bytes())
    with file.open("rb") as stream:
        chunk = make_reader(stream).get_summary().chunk_indexes[2]
    data[chunk.chunk_start_offset + 200] ^= 1
    file.write_bytes(data)
    report = recover(source)
    (damage,) = report.damage
    assert f"bytes {chunk.chunk_start_offset} to" in damage
    assert "chunk does not match its checksum" in damage
    assert f"log times {chunk.message_start_time} to {chunk.message_end_time} ns" in damage
    lost = sum(1 for _ in range(4)) * 30
    assert 2 + 720 - report.total == pytest.approx(lost, abs=8)


def test_killed_recording_with_an_empty_second_file(tmp_path: Path) -> None:
    source = write_example(tmp_path / "episode", Example(seconds=2))
    (source / "episode_1.mcap").write_bytes(b"")
    report = recover(source)
    assert report.total == 482
    assert any("episode_1.mcap: is empty (0 bytes)" in damage for damage in report.damage)


@pytest.mark.parametrize("content", [b"", b"\x89MCAP0\r\n", b"\x89MCAP0", bytes(1000)])
def test_nothing_to_recover_is_said_and_leaves_nothing(tmp_path: Path, content: bytes) -> None:
    source = tmp_path / "episode"
    source.mkdir()
    (source / "episode_0.mcap").write_bytes(content)
    with pytest.raises(BagFormatError, match="no message can be recovered"):
        recover(source)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["episode"]


def test_missing_source_and_existing_output(tmp_path: Path) -> None:
    with pytest.raises(BagFormatError, match="does not exist"):
        recover(tmp_path / "none")
    source = write_example(tmp_path / "episode", Example(seconds=1))
    recover(source)
    with pytest.raises(EpisodeExistsError, match="episode_recovered: an episode of this name"):
        recover(source)
    assert recover(source, tmp_path / "other").total == 242


def test_a_running_recording_is_left_alone(tmp_path: Path) -> None:
    writer = EpisodeWriter(tmp_path / "episode")
    with pytest.raises(NadError, match="being recorded by a living process"):
        recover(tmp_path / ".episode.part")
    writer.discard()


def test_damaged_first_bytes_do_not_hide_the_rest(tmp_path: Path) -> None:
    source = write_example(tmp_path / "episode", Example(seconds=1))
    file = source / "episode_0.mcap"
    file.write_bytes(bytes(30) + file.read_bytes()[30:])
    assert recover(source).messages[FOLLOWER_TELEMETRY] == 60


def test_lost_first_chunk_does_not_make_the_rest_undecodable(tmp_path: Path) -> None:
    source = write_example(tmp_path / "episode", Example(seconds=2))
    file = source / "episode_0.mcap"
    with file.open("rb") as stream:
        chunk = make_reader(stream).get_summary().chunk_indexes[0]
        stop = make_reader(stream).get_summary().chunk_indexes[-1].chunk_start_offset
    data = bytearray(file.read_bytes()[:stop])
    data[chunk.chunk_start_offset + 100] ^= 1
    file.write_bytes(data)
    report = recover(source)
    assert report.messages[FOLLOWER_TELEMETRY] >= 60
    assert len(read_episode(report.output).follower or ()) >= 60
