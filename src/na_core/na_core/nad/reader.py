# SPDX-License-Identifier: Apache-2.0
"""Loads NAD episodes (and any rosbag2) into typed arrays."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from na_core.nad import cache
from na_core.nad.arrays import Episode, Track
from na_core.nad.assemble import TYPED, Input, build
from na_core.nad.cdr_view import decode
from na_core.nad.errors import SchemaError
from na_core.nad.layout import TOPICS_BY_NAME
from na_core.nad.locate import SUFFIXES
from na_core.nad.metadata import FILE_NAME
from na_core.nad.raw_bag import RawBag, topic_store
from na_core.nad.writer import is_locked

TIME_BASES = ("header", "log")
MAX_GAP = 1.0
"""Default longest pause within a segment [s]."""


def load_episode(
    path: Path | str,
    *,
    time_base: str = "header",
    max_gap: float = MAX_GAP,
    use_cache: bool = True,
    cache_dir: Path | None = None,
) -> Episode:
    """Load one bag: a directory or a single storage file.

    `time_base` is "header" (the moment of measurement) or "log" (the recorder's clock); `max_gap`
    [s] is the longest pause within a segment. Arrays are read-only when they come from the cache.
    Raises BagFormatError for damaged or foreign files and SchemaError where messages do not fit
    their stored definition, naming topic and message.
    """
    if time_base not in TIME_BASES:
        raise ValueError(f"time_base = {time_base!r}: expected one of {', '.join(TIME_BASES)}")
    path = Path(path)
    if not use_cache or not path.exists():
        return read_episode(path, time_base, max_gap)
    content = cache.content_hash(path)
    options = f"{time_base} {max_gap!r}"
    entry = cache.entry_path(cache_dir or cache.cache_directory(), content, options)
    episode = cache.load(entry, path, content)
    if episode is None:
        episode = read_episode(path, time_base, max_gap, content)
        cache.store(entry, episode)
    return episode


def read_episode(
    path: Path | str, time_base: str = "header", max_gap: float = MAX_GAP, content: str = ""
) -> Episode:
    """Decode one bag without looking at the cache; arguments as for `load_episode`."""
    return episode_from(RawBag(path), time_base, max_gap, content)


def episode_from(
    bag: RawBag, time_base: str = "header", max_gap: float = MAX_GAP, content: str = ""
) -> Episode:
    """Decode a bag that is open already; its `topics` are complete afterwards."""
    times: list[list[int]] = []
    data: list[list[bytes]] = []
    for number, log_time, _, cdr in bag.messages():
        while number >= len(times):
            times.append([])
            data.append([])
        times[number].append(log_time)
        data[number].append(cdr)
    tracks: dict[str, Track] = {}
    remarks: list[str] = []
    for topic, log_times, messages in zip(bag.topics, times, data, strict=False):
        if topic.name in tracks:
            remarks.append(f"{topic.name}: {len(messages)} messages of a second type are not read")
            continue
        try:
            groups = decode(topic_store(topic, bag.remarks), topic.type, messages)
        except SchemaError as error:
            if topic.type in TYPED or topic.name in TOPICS_BY_NAME:
                raise SchemaError(bag.path, f"topic {topic.name}: {error}") from error
            remarks.append(f"{topic.name} is not read: {error}")
            continue
        log_ns = np.asarray(log_times, dtype=np.int64)
        source = Input(topic.name, topic.type, log_ns, groups, time_base, int(max_gap * 1e9))
        track = build(source, remarks)
        if track is not None:
            tracks[topic.name] = track
    return Episode(bag.path, content, tracks, tuple(bag.remarks + remarks))


def find_unfinished(root: Path | str) -> list[Path]:
    """Return the directories directly below `root` that a dead recorder left behind, sorted."""
    root = Path(root)
    if not root.is_dir():
        return []
    parts = sorted(item for item in root.glob(".*.part") if item.is_dir())
    return [part for part in parts if not is_locked(part)]


def find_episodes(root: Path | str) -> Iterator[Path]:
    """Yield the bag directories at or below `root`, sorted; unfinished ones are left out."""
    root = Path(root)
    if root.is_dir():
        names = sorted(item.name for item in root.iterdir())
        if FILE_NAME in names or any(name.endswith(SUFFIXES) for name in names):
            yield root
            return
        for name in names:
            if not name.startswith(".") and (root / name).is_dir():
                yield from find_episodes(root / name)
