# SPDX-License-Identifier: Apache-2.0
"""Serialised messages of a rosbag2 bag, from MCAP (mcap library) or SQLite (rosbags library)."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml
import zstandard
from mcap.records import Channel, Chunk, Footer, Message, Schema, Statistics
from mcap.stream_reader import StreamReader, breakup_chunk
from rosbags.interfaces import ConnectionExtRosbag2, MessageDefinitionFormat
from rosbags.rosbag2 import ReaderError
from rosbags.rosbag2.storage_sqlite3 import Sqlite3Reader
from rosbags.typesys import get_types_from_idl
from rosbags.typesys.store import Typestore

from na_core.nad.errors import BagFormatError, NadError, SchemaError
from na_core.nad.layout import Qos
from na_core.nad.locate import ZSTD_MAGIC, BagFiles, YamlLoader, find_files, storage_kind
from na_core.nad.schemas import default_source, normalise, store_from_texts

RawMessage = tuple[int, int, int, bytes]
"""Topic number, log time [ns], publish time [ns], CDR."""


@dataclass
class RawTopic:
    """One topic as the bag describes it; `text` is the stored definition ("" if there is none)."""

    name: str
    type: str
    text: str = ""
    encoding: str = "ros2msg"
    hash: str = ""
    qos: list[dict[str, Any]] = field(default_factory=list)


class RawBag:
    """A bag opened for one sequential pass (or several).

    `topics` grows while messages are read: MCAP files that were never closed name their topics
    only as they appear. `remarks` collects what is odd but harmless.
    """

    def __init__(self, path: Path | str) -> None:
        """Find the storage files; see `find_files` for what is raised."""
        self.files: BagFiles = find_files(path)
        self.path = self.files.path
        self.remarks = list(self.files.remarks)
        self.topics: list[RawTopic] = []
        self._numbers: dict[tuple[str, str, str], int] = {}

    def messages(self) -> Iterator[RawMessage]:
        """Yield every message in file order.

        Raises BagFormatError at damage, saying where and how many messages came before it.
        """
        done = 0
        for file in self.files.files:
            try:
                for message in self._file_messages(file):
                    yield message
                    done += 1
            except BagFormatError as error:
                raise BagFormatError(
                    error.path,
                    f"{str(error).removeprefix(f'{error.path}: ')}; {done} messages were read "
                    f"before; try: ./na bag recover {self.path}",
                ) from error

    def custom_data(self) -> dict[str, str]:
        """Return custom_data of metadata.yaml ({} when there is none)."""
        data = (self.files.metadata or {}).get("custom_data") or {}
        return {str(key): str(value) for key, value in data.items()}

    # --------------------------------------------------------------- details

    def _file_messages(self, file: Path) -> Iterator[RawMessage]:
        kind = storage_kind(file)
        if kind == "zstd":
            with _decompressed(file) as plain:
                yield from self._file_messages(plain)
        elif kind == "mcap":
            yield from self._mcap(file)
        else:
            yield from self._sqlite(file)

    def _topic(self, topic: RawTopic) -> int:
        key = (topic.name, topic.type, topic.text)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.topics)
            self.topics.append(topic)
        return number

    def _channel(self, channel: Channel, schemas: dict[int, Schema]) -> int | None:
        """Number a channel; None, with a remark, for one that does not carry ROS 2 messages."""
        schema = schemas.get(channel.schema_id)
        encoding = schema.encoding if schema is not None else "none"
        if channel.message_encoding == "cdr" and encoding in ("ros2msg", "ros2idl"):
            return self._topic(mcap_topic(channel, schemas[channel.schema_id]))
        remark = (
            f"{channel.topic} is not read: its messages are {channel.message_encoding!r} with "
            f"schema encoding {encoding!r}, not ROS 2 CDR"
        )
        if remark not in self.remarks:
            self.remarks.append(remark)
        return None

    def _mcap(self, file: Path) -> Iterator[RawMessage]:
        schemas: dict[int, Schema] = {}
        numbers: dict[int, int | None] = {}
        footer = False
        with file.open("rb") as stream:
            try:
                for record in StreamReader(stream, emit_chunks=True).records:
                    records: Sequence[Any] = (record,)
                    if isinstance(record, Chunk):
                        records = breakup_chunk(record, validate_crc=True)
                    for item in records:
                        if isinstance(item, Message):
                            data = item.data
                            if data[:4] == ZSTD_MAGIC:
                                data = zstandard.decompress(data)
                            number = numbers[item.channel_id]
                            if number is not None:
                                yield number, item.log_time, item.publish_time, data
                        elif isinstance(item, Schema):
                            schemas[item.id] = item
                        elif isinstance(item, Channel):
                            numbers[item.id] = self._channel(item, schemas)
                        elif isinstance(item, Footer):
                            footer = True
            except NadError:
                raise
            except Exception as error:
                # Damage surfaces as whatever the library trips over: McapError, struct.error,
                # ZstdError, ValueError, KeyError, MemoryError for an absurd length.
                raise BagFormatError(file, _damage(error, stream.tell(), file)) from error
        if not footer:
            raise BagFormatError(file, "was never closed: it has no footer")

    def _sqlite(self, file: Path) -> Iterator[RawMessage]:
        reader = Sqlite3Reader(file)
        try:
            reader.open()
        except Exception as error:  # apsw and rosbags raise unrelated classes
            raise BagFormatError(file, f"cannot be opened as SQLite bag: {error}") from error
        try:
            numbers = {}
            for connection in reader.connections:
                numbers[connection.id] = self._topic(_sqlite_topic(connection))
            for connection, log_time, data in reader.messages(reader.connections):
                raw = bytes(data)
                if raw[:4] == ZSTD_MAGIC:
                    raw = zstandard.decompress(raw)
                yield numbers[connection.id], log_time, log_time, raw
        except GeneratorExit:
            raise
        except (ReaderError, zstandard.ZstdError) as error:
            raise BagFormatError(file, f"is damaged: {error}") from error
        except Exception as error:
            if type(error).__module__.startswith("apsw"):
                raise BagFormatError(file, f"is damaged: {error}") from error
            raise
        finally:
            with contextlib.suppress(Exception):
                reader.close()


def topic_store(topic: RawTopic, remarks: list[str] | None = None) -> Typestore:
    """Return a typestore of the definition stored with `topic`, so that old layouts stay readable.

    A topic stored without one (old SQLite bags) gets today's, with a remark. Raises SchemaError
    when the definition cannot be parsed or is not known.
    """
    text = topic.text
    if not text:
        remark = f"{topic.type} is stored without its definition; today's is used"
        if remarks is not None and remark not in remarks:
            remarks.append(remark)
        text = default_source().definition(topic.type).text
    return _store(topic.type, topic.encoding, text)


@lru_cache(maxsize=256)
def _store(type_name: str, encoding: str, text: str) -> Typestore:
    """Make the store once: the episodes of one data set share their definitions."""
    if encoding == "ros2msg":
        return store_from_texts([(type_name, text)])
    store = store_from_texts([])
    separator = "=" * 80 + "\n"
    parts = [part for part in text.split(separator) if part.strip()] or [text]
    try:
        for part in parts:
            body = part.split("\n", 1)[1] if part.startswith("IDL: ") else part
            store.register(get_types_from_idl(body))
    except Exception as error:  # rosbags raises several unrelated classes on bad text
        raise SchemaError(type_name, f"IDL definition cannot be used: {error}") from error
    return store


def message_counts(path: Path | str) -> dict[str, int] | None:
    """Return messages per topic from MCAP summaries, or None when a file has no usable one.

    Reads only the end of each file.
    """
    counts: dict[str, int] = {}
    for file in find_files(path).files:
        if storage_kind(file) != "mcap":
            return None
        part = _summary_counts(file)
        if part is None:
            return None
        for name, count in part.items():
            counts[name] = counts.get(name, 0) + count
    return counts


def _summary_counts(file: Path) -> dict[str, int] | None:
    from mcap.reader import SeekingReader

    with file.open("rb") as stream:
        try:
            summary = SeekingReader(stream).get_summary()
        except Exception:  # a damaged summary is not an error here: the data can be scanned
            return None
    if summary is None or not isinstance(summary.statistics, Statistics):
        return None
    counts = summary.statistics.channel_message_counts
    return {channel.topic: counts.get(key, 0) for key, channel in summary.channels.items()}


def mcap_topic(channel: Channel, schema: Schema) -> RawTopic:
    """Return the topic that an MCAP channel and its schema describe."""
    try:
        text = channel.metadata.get("offered_qos_profiles", "") or "[]"
        qos = yaml.load(text, Loader=YamlLoader)
    except yaml.YAMLError:
        qos = []
    return RawTopic(
        channel.topic,
        normalise(schema.name),
        schema.data.decode("utf-8", "replace"),
        schema.encoding,
        channel.metadata.get("topic_type_hash", ""),
        qos if isinstance(qos, list) else [],
    )


def _sqlite_topic(connection: Any) -> RawTopic:
    extra = connection.ext
    profiles: list[dict[str, Any]] = []
    if isinstance(extra, ConnectionExtRosbag2):
        for qos in extra.offered_qos_profiles:
            profile = Qos(
                reliability=qos.reliability.name.lower(),
                durability=qos.durability.name.lower(),
                history=qos.history.name.lower(),
                depth=qos.depth,
            )
            profiles.append(profile.rosbag2())
    idl = connection.msgdef.format == MessageDefinitionFormat.IDL
    return RawTopic(
        connection.topic,
        normalise(connection.msgtype),
        connection.msgdef.data,
        "ros2idl" if idl else "ros2msg",
        connection.digest,
        profiles,
    )


def _damage(error: Exception, offset: int, file: Path) -> str:
    size = file.stat().st_size
    text = str(error) or type(error).__name__
    kind = "is cut off" if offset >= size else "is damaged"
    return f"{kind} near byte {offset} of {size}: {text}"


@contextlib.contextmanager
def _decompressed(file: Path) -> Iterator[Path]:
    """Provide the plain content of a file-compressed storage file in a temporary directory."""
    with tempfile.TemporaryDirectory(prefix="nad-") as folder:
        plain = Path(folder) / file.name.removesuffix(".zstd")
        try:
            with (
                file.open("rb") as source,
                plain.open("wb") as target,
                zstandard.ZstdDecompressor().stream_reader(source) as stream,
            ):
                shutil.copyfileobj(stream, target)
        except zstandard.ZstdError as error:
            raise BagFormatError(file, f"cannot be decompressed: {error}") from error
        yield plain
