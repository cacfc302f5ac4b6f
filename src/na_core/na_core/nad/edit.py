# SPDX-License-Identifier: Apache-2.0
"""Merge, trim and relabel episodes: always into a new episode that says where it came from."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from na_core.nad.arrays import Episode
from na_core.nad.cache import content_hash
from na_core.nad.cdr_view import decode
from na_core.nad.errors import BagFormatError, NadError, SchemaError
from na_core.nad.layout import EPISODE, LABEL, LATCHED, TOPICS_BY_NAME, EpisodeInfo
from na_core.nad.raw_bag import RawBag, RawTopic, topic_store
from na_core.nad.reader import load_episode
from na_core.nad.typestore import encode, encode_episode_info, nad_typestore, stamp
from na_core.nad.writer import EpisodeWriter

INFO_TYPE = "na_msgs/msg/EpisodeInfo"
LABEL_TYPE = "na_msgs/msg/ForceLabel"


@dataclass(frozen=True)
class Item:
    """One message on its way from a source to the new episode; times in [ns]."""

    log: int
    publish: int
    topic: RawTopic
    cdr: bytes


def merge(sources: Sequence[Path], output: Path) -> Path:
    """Merge bags into one episode ordered by log time, for example two recorders of one trial.

    A message that several sources hold is kept once. The description is that of the first source
    that has one. Raises SchemaError when a topic differs in type or definition between sources.
    """
    items: list[Item] = []
    owner: dict[tuple[str, bytes], int] = {}
    for number, source in enumerate(sources):
        for item in _items(source):
            if owner.setdefault((item.topic.name, item.cdr), number) == number:
                items.append(item)
    items.sort(key=lambda item: item.log)
    described = next((source for source in sources if _has_info(source)), None)
    info = _info(described) if described is not None else None
    return _write(output, items, info, sources, "merge")


def trim(source: Path, output: Path, start: float = 0.0, stop: float = math.inf) -> Path:
    """Keep the messages logged from `start` to before `stop` [s] after the first message.

    The last label before `start` is kept as well, logged at `start`: it holds until the next one.
    """
    if not 0.0 <= start < stop:
        raise ValueError(f"trim from {start} s to {stop} s: expected 0 <= start < stop")
    items = _items(source)
    zero = min(item.log for item in items)
    begin = zero + round(start * 1e9)
    end = math.inf if math.isinf(stop) else zero + round(stop * 1e9)
    latched: dict[str, Item] = {}
    for item in items:
        spec = TOPICS_BY_NAME.get(item.topic.name)
        if item.log < begin and spec is not None and spec.qos.durability == "transient_local":
            latched[item.topic.name] = replace(item, log=begin)
    kept = [item for item in items if begin <= item.log < end]
    if not any(item.topic.name != EPISODE for item in kept):
        raise BagFormatError(source, f"no message between {start} s and {stop} s")
    info = _info(source) if _has_info(source) else None
    what = f"trim {start:g} {stop:g}"
    return _write(output, [*latched.values(), *kept], info, [source], what)


def relabel(
    source: Path,
    output: Path,
    changes: Mapping[str, Any],
    label: Mapping[str, Any] | None = None,
) -> Path:
    """Change the description of an episode and, with `label`, replace its force labels.

    `changes` maps fields of EpisodeInfo to new values; `label` is a nested mapping of ForceLabel
    fields that holds from the first message on. SchemaError for a field that does not exist.
    """
    unknown = sorted(set(changes) - set(EpisodeInfo().to_dict()))
    if unknown:
        raise SchemaError(source, f"EpisodeInfo has no field {unknown[0]!r}")
    items = _items(source)
    if label is not None:
        zero = min(item.log for item in items)
        values = {**label, "header": {"stamp": stamp(zero), **label.get("header", {})}}
        cdr = encode(nad_typestore(), LABEL_TYPE, values)
        fresh = Item(zero, zero, RawTopic(LABEL, LABEL_TYPE, qos=[LATCHED.rosbag2()]), cdr)
        items = [fresh, *(item for item in items if item.topic.name != LABEL)]
    info = replace(_info(source), **changes)
    words = [f"{key}={value}" for key, value in sorted(changes.items())]
    what = " ".join(["relabel", *words, *(["label"] if label is not None else [])])
    return _write(output, items, info, [source], what)


# ------------------------------------------------------------------- details


def _items(source: Path) -> list[Item]:
    bag = RawBag(source)
    items = [
        Item(log, publish, bag.topics[number], cdr) for number, log, publish, cdr in bag.messages()
    ]
    if not items:
        raise BagFormatError(source, "holds no message")
    return items


def _load(source: Path) -> Episode:
    return load_episode(source, time_base="log", use_cache=False)


def _has_info(source: Path) -> bool:
    return EPISODE in _load(source).tracks


def _info(source: Path) -> EpisodeInfo:
    return _load(source).info


def _described(items: list[Item], info: EpisodeInfo, name: str) -> Iterator[Item]:
    """Yield `items` with the descriptions in them replaced by one at each end."""
    kept = [item for item in items if item.topic.name != EPISODE]
    counts = Counter(item.topic.name for item in kept)
    missed = _missed(kept)
    topic = RawTopic(EPISODE, INFO_TYPE, qos=[LATCHED.rosbag2()])
    store = nad_typestore()
    first, last = min(item.log for item in kept), max(item.log for item in kept)
    opening = replace(info, episode=name, topic=[], written=[], missed=[])
    yield Item(first, first, topic, encode_episode_info(store, opening, first))
    yield from kept
    closing = replace(
        opening,
        topic=sorted(counts),
        written=[counts[key] for key in sorted(counts)],
        missed=[missed.get(key, 0) for key in sorted(counts)],
    )
    yield Item(last, last, topic, encode_episode_info(store, closing, last))


def _missed(items: list[Item]) -> dict[str, int]:
    """Count the gaps in `sequence` per topic."""
    raw: dict[str, list[bytes]] = defaultdict(list)
    types = {}
    for item in items:
        spec = TOPICS_BY_NAME.get(item.topic.name)
        if spec is not None and spec.sequenced and item.topic.type == spec.type:
            raw[item.topic.name].append(item.cdr)
            types[item.topic.name] = item.topic
    found = {}
    for name, messages in raw.items():
        groups = decode(topic_store(types[name]), types[name].type, messages)
        sequence = np.concatenate([group.numbers["sequence"].astype(np.int64) for group in groups])
        step = np.diff(np.unique(sequence))
        found[name] = int((step - 1)[step < 1 << 32].sum())
    return found


def _write(
    output: Path,
    items: list[Item],
    info: EpisodeInfo | None,
    sources: Sequence[Path],
    what: str,
) -> Path:
    """Write `items` as a new episode; topics without a definition get today's."""
    seen: dict[str, RawTopic] = {}
    stream = items if info is None else _described(items, info, output.name)
    with EpisodeWriter(output, custom_data=_provenance(sources, what)) as writer:
        try:
            for item in stream:
                known = seen.get(item.topic.name)
                if known is None:
                    seen[item.topic.name] = item.topic
                    _declare(writer, item.topic)
                elif known is not item.topic and (known.type, known.text) != (
                    item.topic.type,
                    item.topic.text,
                ):
                    raise SchemaError(
                        output,
                        f"topic {item.topic.name}: {known.type} and {item.topic.type} differ in "
                        "type or definition between the sources",
                    )
                writer.write(item.topic.name, item.log, item.cdr, item.publish)
        except NadError:
            writer.discard()
            raise
    return output


def _declare(writer: EpisodeWriter, topic: RawTopic) -> None:
    if topic.encoding != "ros2msg":
        raise SchemaError(topic.name, f"definition stored as {topic.encoding}; cannot be rewritten")
    if topic.text:
        writer.add_topic_text(topic.name, topic.type, topic.text, topic.hash, topic.qos)
    else:
        writer.add_topic(topic.name, topic.type)


def _provenance(sources: Sequence[Path], what: str) -> dict[str, str]:
    """Return custom_data with one more step of history."""
    data: dict[str, str] = {}
    history: list[Any] = []
    for source in sources:
        own = RawBag(source).custom_data()
        data = {**own, **data}
        history += json.loads(own.get("history", "[]"))
    entry = {
        "what": what,
        "from": [{"name": source.name, "sha256": content_hash(source)} for source in sources],
    }
    data["history"] = json.dumps([*history, entry])
    return data
