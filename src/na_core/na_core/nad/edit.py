# SPDX-License-Identifier: Apache-2.0
"""Merge, trim and relabel episodes: always into a new episode that says where it came from."""

from __future__ import annotations

import heapq
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from na_core.nad.cache import content_hash
from na_core.nad.errors import BagFormatError, NadError, SchemaError
from na_core.nad.layout import EPISODE, LABEL, LATCHED, TOPICS_BY_NAME, EpisodeInfo
from na_core.nad.raw_bag import RawBag, RawTopic
from na_core.nad.reader import load_episode
from na_core.nad.typestore import encode, encode_episode_info, nad_typestore, stamp
from na_core.nad.writer import EpisodeWriter

Stamped = tuple[int, int, RawTopic, bytes]
"""Log time [ns], publish time [ns], topic, CDR."""

INFO_TYPE = "na_msgs/msg/EpisodeInfo"
LABEL_TYPE = "na_msgs/msg/ForceLabel"


def merge(sources: Sequence[Path], output: Path) -> Path:
    """Merge bags into one episode ordered by log time, for example two recorders of one trial.

    Raises SchemaError when a topic has different types or definitions in the sources.
    """
    bags = [RawBag(source) for source in sources]
    streams = [sorted(_stream(bag), key=lambda item: item[0]) for bag in bags]
    merged = heapq.merge(*streams, key=lambda item: item[0])
    return _write(output, merged, sources, "merge")


def trim(source: Path, output: Path, start: float = 0.0, stop: float = math.inf) -> Path:
    """Keep the messages logged from `start` to before `stop` [s] after the first message.

    The last label and description before `start` are kept as well, logged at `start`: they hold
    until the next one.
    """
    if not 0.0 <= start < stop:
        raise ValueError(f"trim from {start} s to {stop} s: expected 0 <= start < stop")
    items = list(_stream(RawBag(source)))
    if not items:
        raise BagFormatError(source, "holds no message")
    zero = min(item[0] for item in items)
    begin = zero + round(start * 1e9)
    end = math.inf if math.isinf(stop) else zero + round(stop * 1e9)
    latched: dict[str, Stamped] = {}
    for item in items:
        spec = TOPICS_BY_NAME.get(item[2].name)
        if item[0] < begin and spec is not None and spec.qos.durability == "transient_local":
            latched[item[2].name] = (begin, item[1], item[2], item[3])
    kept = [*latched.values(), *(item for item in items if begin <= item[0] < end)]
    if not kept:
        raise BagFormatError(source, f"no message between {start} s and {stop} s")
    return _write(output, kept, [source], f"trim {start:g} {stop:g}")


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
    bag = RawBag(source)
    items = list(_stream(bag))
    if not items:
        raise BagFormatError(source, "holds no message")
    kept = [item for item in items if item[2].name != EPISODE]
    if label is not None:
        kept = [item for item in kept if item[2].name != LABEL]
    store = nad_typestore()
    zero, last = min(item[0] for item in items), max(item[0] for item in items)
    old = load_episode(source, time_base="log", use_cache=False)
    info = replace(old.info, **changes)
    info.episode = changes.get("episode", output.name)
    described = _topic(EPISODE, INFO_TYPE)
    first = replace(info, topic=[], written=[], missed=[])
    fresh: list[Stamped] = [(zero, zero, described, encode_episode_info(store, first, zero))]
    if label is not None:
        values = {**label, "header": {"stamp": stamp(zero), **label.get("header", {})}}
        fresh.append((zero, zero, _topic(LABEL, LABEL_TYPE), encode(store, LABEL_TYPE, values)))
        if LABEL in info.topic:
            info.written = list(info.written)
            info.written[info.topic.index(LABEL)] = 1
    fresh += kept
    if info.written:
        fresh.append((last, last, described, encode_episode_info(store, info, last)))
    what = "relabel " + " ".join(f"{key}={value}" for key, value in sorted(changes.items()))
    return _write(output, fresh, [source], what.strip() + (" label" if label is not None else ""))


# ------------------------------------------------------------------- details


def _topic(name: str, type_name: str) -> RawTopic:
    return RawTopic(name, type_name, "", qos=[LATCHED.rosbag2()])


def _stream(bag: RawBag) -> Iterator[Stamped]:
    for number, log_time, publish_time, cdr in bag.messages():
        yield log_time, publish_time, bag.topics[number], cdr


def _write(
    output: Path, items: Iterator[Stamped] | list[Stamped], sources: Sequence[Path], what: str
) -> Path:
    """Write `items` as a new episode; topics without a definition get today's."""
    seen: dict[str, RawTopic] = {}
    with EpisodeWriter(output, custom_data=_provenance(sources, what)) as writer:
        try:
            for log_time, publish_time, topic, cdr in items:
                known = seen.get(topic.name)
                if known is None:
                    seen[topic.name] = topic
                    _declare(writer, topic)
                elif known is not topic and (known.type, known.text) != (topic.type, topic.text):
                    raise SchemaError(
                        output,
                        f"topic {topic.name}: {known.type} and {topic.type} differ in type or "
                        "definition between the sources",
                    )
                writer.write(topic.name, log_time, cdr, publish_time)
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
