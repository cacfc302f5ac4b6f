# SPDX-License-Identifier: Apache-2.0
"""Rebuilds a complete episode from a recording that was cut off, never closed or damaged."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from na_core.nad.errors import BagFormatError, NadError
from na_core.nad.locate import SUFFIXES, storage_kind
from na_core.nad.mcap_salvage import Salvage
from na_core.nad.raw_bag import RawBag, RawTopic, mcap_topic
from na_core.nad.writer import EpisodeWriter, is_locked


@dataclass
class RecoverReport:
    """What was saved and what was not; `damage` holds one sentence per lost byte range."""

    source: Path
    output: Path
    messages: dict[str, int] = field(default_factory=dict)
    damage: list[str] = field(default_factory=list)

    @property
    def total(self) -> int:
        """Messages saved on all topics."""
        return sum(self.messages.values())


def recovered_path(source: Path) -> Path:
    """Return the default output: `<name>_recovered` beside the source."""
    name = source.name.removeprefix(".").removesuffix(".part")
    if source.is_file():
        name = source.name.split(".")[0]
    return source.parent / f"{name}_recovered"


def recover(source: Path | str, output: Path | str | None = None) -> RecoverReport:
    """Copy every complete message of `source` into a new, complete episode at `output`.

    `source` is a bag directory (finished or `.name.part`) or one storage file; it is only read.
    Raises BagFormatError when nothing at all can be saved, EpisodeExistsError when the output
    exists, NadError when the source is still being recorded.
    """
    source = Path(source)
    if not source.exists():
        raise BagFormatError(source, "does not exist")
    if source.is_dir() and is_locked(source):
        raise NadError(source, "is being recorded by a living process; stop that recorder first")
    target = Path(output) if output is not None else recovered_path(source)
    report = RecoverReport(source, target)
    files = _files(source)
    with _Output(target, source, report) as out:
        for file in files:
            _copy(file, out, report)
        if not report.total:
            raise BagFormatError(
                source,
                "no message can be recovered: "
                + ("; ".join(report.damage) or "nothing was recorded into it"),
            )
        out.finish()
    return report


class _Output:
    """Writer that appears with the first message and leaves nothing behind when there is none."""

    def __init__(self, target: Path, source: Path, report: RecoverReport) -> None:
        self.writer = EpisodeWriter(target, custom_data={"recovered_from": str(source.name)})
        self._report = report
        self._done = False

    def topic(self, topic: RawTopic) -> None:
        self.writer.add_topic_text(topic.name, topic.type, topic.text, topic.hash, topic.qos)

    def finish(self) -> None:
        data = self.writer.custom_data
        data["recovered_messages"] = str(self._report.total)
        if self._report.damage:
            data["recover_damage"] = "; ".join(self._report.damage)
        self.writer.close()
        self._done = True

    def __enter__(self) -> _Output:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._done:
            self.writer.discard()


def _files(source: Path) -> list[Path]:
    if source.is_file():
        return [source]
    files = sorted(
        (item for item in source.iterdir() if item.name.endswith(SUFFIXES)),
        key=lambda item: (len(item.name), item.name),
    )
    if not files:
        raise BagFormatError(source, "holds no .mcap or .db3 file")
    return files


def _copy(file: Path, out: _Output, report: RecoverReport) -> None:
    try:
        kind = _kind(file)
    except BagFormatError as error:
        report.damage.append(str(error))
        return
    messages = _salvaged(file, report) if kind == "mcap" else _readable(file, report)
    for topic, log_time, publish_time, data in messages:
        out.topic(topic)
        out.writer.write(topic.name, log_time, data, publish_time)
        report.messages[topic.name] = report.messages.get(topic.name, 0) + 1


def _kind(file: Path) -> str:
    try:
        return storage_kind(file)
    except BagFormatError:
        # A damaged first byte hides the kind; the suffix still tells.
        if file.suffix == ".mcap" and file.stat().st_size > 8:
            return "mcap"
        raise


def _salvaged(file: Path, report: RecoverReport) -> Iterator[tuple[RawTopic, int, int, bytes]]:
    with file.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
        yield from _salvaged_from(Salvage(data), file, report)


def _salvaged_from(
    salvage: Salvage, file: Path, report: RecoverReport
) -> Iterator[tuple[RawTopic, int, int, bytes]]:
    topics: dict[int, RawTopic] = {}
    unknown = 0
    for channel_id, log_time, publish_time, data in salvage.messages():
        topic = topics.get(channel_id)
        if topic is None:
            topic = _topic(salvage, channel_id)
            if topic is None:
                unknown += 1
                continue
            topics[channel_id] = topic
        yield topic, log_time, publish_time, data
    report.damage += [f"{file.name}: {damage}" for damage in salvage.damage]
    if unknown:
        report.damage.append(f"{file.name}: {unknown} messages whose topic description is lost")


def _topic(salvage: Salvage, channel_id: int) -> RawTopic | None:
    channel = salvage.channels.get(channel_id)
    schema = salvage.schemas.get(channel.schema_id) if channel else None
    if channel is None or schema is None:
        return None
    return mcap_topic(channel, schema)


def _readable(file: Path, report: RecoverReport) -> Iterator[tuple[RawTopic, int, int, bytes]]:
    bag = RawBag(file)
    try:
        for number, log_time, publish_time, data in bag.messages():
            yield bag.topics[number], log_time, publish_time, data
    except BagFormatError as error:
        report.damage.append(str(error))
