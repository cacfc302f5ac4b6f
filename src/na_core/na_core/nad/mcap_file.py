# SPDX-License-Identifier: Apache-2.0
"""One growing MCAP file: whole chunks reach the operating system in one write each."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from mcap.data_stream import RecordBuilder
from mcap.records import Channel, Schema
from mcap.writer import CompressionType, Writer

from na_core.nad.metadata import FileSpan

_NEVER = 1 << 62  # the library must not close chunks by itself: we flush by size and time


class AppendStream:
    """The minimal output stream that mcap's Writer needs; `flush` writes all that was gathered.

    After a failed flush the file is cut back to its last good byte and the gathered bytes are
    dropped, so that the file always ends at a record boundary.
    """

    def __init__(self, path: Path) -> None:
        """Create `path`, which must not exist."""
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        self._pending: list[bytes] = []
        self._pending_size = 0
        self.good = 0

    def write(self, data: bytes) -> int:
        """Gather `data`."""
        self._pending.append(data)
        self._pending_size += len(data)
        return len(data)

    def tell(self) -> int:
        """Return the offset [bytes] at which the next write lands."""
        return self.good + self._pending_size

    def flush(self) -> None:
        """Write everything gathered; OSError leaves the file at its last good length."""
        if not self._pending:
            return
        view = memoryview(b"".join(self._pending))
        self._pending, self._pending_size = [], 0
        size = len(view)
        try:
            while view:
                view = view[os.write(self._fd, view) :]
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, self.good)
            raise
        self.good += size

    def sync(self) -> None:
        """Make everything written so far survive a power cut."""
        os.fdatasync(self._fd)

    def close(self) -> None:
        """Close the descriptor; nothing is written."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class McapFile:
    """An MCAP file of profile `ros2` under construction, with its time span and message count."""

    def __init__(self, path: Path, library: str, compress: bool = True) -> None:
        """Create `path` and write the header."""
        self.path = path
        self.span = FileSpan(path.name)
        self._stream = AppendStream(path)
        self._writer = Writer(
            self._stream,  # type: ignore[arg-type]
            chunk_size=_NEVER,
            compression=CompressionType.ZSTD if compress else CompressionType.NONE,
        )
        self._writer.start(profile="ros2", library=library)
        self._stream.flush()
        self._schemas: dict[str, int] = {}
        self.channels: dict[str, int] = {}

    @property
    def size(self) -> int:
        """Bytes in the file, chunk in progress not counted."""
        return self._stream.good

    def add_channel(self, topic: str, type_name: str, text: str, metadata: dict[str, str]) -> int:
        """Register `topic`; returns the channel id.

        Schema and channel are also written outside the chunk in progress, so that losing that one
        chunk does not make the rest of the file undecodable.
        """
        loose = RecordBuilder()
        schema_id = self._schemas.get(type_name)
        if schema_id is None:
            data = text.encode()
            schema_id = self._writer.register_schema(type_name, "ros2msg", data)
            self._schemas[type_name] = schema_id
            Schema(id=schema_id, data=data, encoding="ros2msg", name=type_name).write(loose)
        channel_id: int = self._writer.register_channel(topic, "cdr", schema_id, metadata)
        Channel(
            id=channel_id,
            topic=topic,
            message_encoding="cdr",
            schema_id=schema_id,
            metadata=metadata,
        ).write(loose)
        self._stream.write(loose.end())
        self.channels[topic] = channel_id
        return channel_id

    def add_message(
        self, channel: int, log_time: int, data: bytes, publish_time: int, sequence: int
    ) -> None:
        """Append to the chunk in progress; times in [ns]."""
        self._writer.add_message(channel, log_time, data, publish_time, sequence)
        span = self.span
        if not span.messages:
            span.start = span.end = log_time
        elif log_time > span.end:
            span.end = log_time
        elif log_time < span.start:
            span.start = log_time
        span.messages += 1

    def flush(self) -> None:
        """Close the chunk in progress and hand everything to the operating system."""
        self._writer.flush()

    def finish(self, metadata_yaml: str | None = None) -> None:
        """Flush, write the summary section (and the rosbag2 metadata record), fsync and close."""
        try:
            self._writer.flush()
            if metadata_yaml is not None:
                self._writer.add_metadata("rosbag2", {"serialized_metadata": metadata_yaml})
            self._writer.finish()
            self._stream.flush()
            self._stream.sync()
        finally:
            self._stream.close()

    def abandon(self) -> None:
        """Close the descriptor without finishing: the file stays as a crash would leave it."""
        self._stream.close()
