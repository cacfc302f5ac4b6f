# SPDX-License-Identifier: Apache-2.0
"""Gets every intact message out of an MCAP file that was cut off, never closed or damaged."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO

import zstandard
from mcap.data_stream import ReadDataStream
from mcap.records import Channel, Chunk, Schema
from mcap.stream_reader import get_chunk_data_stream

SCHEMA, CHANNEL, MESSAGE, CHUNK = 0x03, 0x04, 0x05, 0x06
_LAST_OPCODE = 0x0F
_RECORD = struct.Struct("<BQ")
_MESSAGE = struct.Struct("<HIQQ")
_COMPRESSION_AT = _RECORD.size + 28  # offset of the compression name within a chunk record
_MARKS = (b"\x04\x00\x00\x00zstd", b"\x03\x00\x00\x00lz4")
_MAGIC = 8


@dataclass(frozen=True)
class Damage:
    """A byte range [start, stop) that gave nothing, and why."""

    start: int
    stop: int
    reason: str

    def __str__(self) -> str:
        """Return the sentence of a report."""
        return f"bytes {self.start} to {self.stop}: {self.reason}"


SalvagedMessage = tuple[int, int, int, bytes]
"""Channel id, log time [ns], publish time [ns], data."""


@dataclass
class Salvage:
    """Scanner of one file's bytes; `schemas`, `channels` and `damage` fill as messages are read."""

    data: bytes | mmap.mmap
    schemas: dict[int, Schema] = field(default_factory=dict)
    channels: dict[int, Channel] = field(default_factory=dict)
    damage: list[Damage] = field(default_factory=list)

    def messages(self) -> Iterator[SalvagedMessage]:
        """Yield the messages of chunks whose checksum holds, and of a chunk cut off at the end.

        Chunks with a wrong checksum are left out and listed in `damage`: their content cannot be
        told from noise. After damage the scan goes on at the next chunk that verifies.
        """
        data, size = self.data, len(self.data)
        pos = min(_MAGIC, size)
        # In a chunked file a message outside chunks is another record with a damaged type.
        chunked = any(data.find(mark) >= 0 for mark in _MARKS)
        while pos < size:
            if pos + _RECORD.size > size:
                self._note(pos, size, "a record header is cut off")
                return
            opcode, length = _RECORD.unpack_from(data, pos)
            stop = pos + _RECORD.size + length
            good = 0 < opcode <= _LAST_OPCODE and stop <= size
            if good and opcode == CHUNK:
                plain = self._chunk(pos)
                if plain is not None:
                    yield from self._records(plain)
                    pos, chunked = self._after(pos), True
                    continue
            elif good and opcode in (SCHEMA, CHANNEL):
                self._describe(opcode, data[pos + _RECORD.size : stop])
            elif good and opcode == MESSAGE and length >= _MESSAGE.size and not chunked:
                yield self._message(data, pos + _RECORD.size, stop)
            if good and opcode != CHUNK and self._next_chunk(pos, stop) is None:
                pos = stop
                if data[pos : pos + _MAGIC] == data[:_MAGIC] and pos + _MAGIC == size:
                    return
                continue
            # Damage: a chunk that does not verify, a header that makes no sense, or a record
            # whose length swallows a good chunk.
            start = self._next_chunk(pos, size)
            if start is None:
                if opcode == CHUNK and stop > size:
                    yield from self._cut_chunk(pos)
                else:
                    self._note(pos, size, "does not verify, and no good chunk follows")
                return
            if start > pos:  # else only its record header was damaged
                self._note(pos, start, self._reason(opcode, pos))
            plain = self._chunk(start)
            if plain is not None:
                yield from self._records(plain)
            pos = self._after(start)

    # --------------------------------------------------------------- details

    def _note(self, start: int, stop: int, reason: str) -> None:
        self.damage.append(Damage(start, stop, reason))

    def _reason(self, opcode: int, pos: int) -> str:
        if opcode != CHUNK:
            return f"no valid record (type {opcode:#04x})"
        begin, end = struct.unpack_from("<QQ", self.data, pos + _RECORD.size)
        span = f", log times {begin} to {end} ns" if 0 < begin <= end < 1 << 62 else ""
        return f"chunk does not match its checksum{span}"

    def _length(self, start: int) -> int:
        """Return the length of the chunk at `start` from its own sizes."""
        name = struct.unpack_from("<I", self.data, start + _COMPRESSION_AT)[0]
        (records,) = struct.unpack_from("<Q", self.data, start + _COMPRESSION_AT + 4 + name)
        return 28 + 4 + int(name) + 8 + int(records)

    def _after(self, start: int) -> int:
        """Return where to go on after the chunk at `start`.

        Neither of its two lengths is covered by its checksum: where they differ, one is damaged,
        and going on too early costs nothing.
        """
        told = int(_RECORD.unpack_from(self.data, start)[1])
        return start + _RECORD.size + min(told, self._length(start))

    def _chunk(self, start: int) -> bytes | None:
        """Return the plain content of the chunk at `start`, None unless it verifies."""
        stop = start + _RECORD.size + _RECORD.unpack_from(self.data, start)[1]
        try:
            if start + _RECORD.size + self._length(start) > len(self.data):
                return None
            stop = max(stop, start + _RECORD.size + self._length(start))
            body = self.data[start + _RECORD.size : min(stop, len(self.data))]
            chunk = Chunk.read(ReadDataStream(BytesIO(body)))
            if chunk.uncompressed_size > 1 << 30:
                return None
            stream, size = get_chunk_data_stream(chunk, validate_crc=True)
            return stream.read(size) if size == chunk.uncompressed_size else None
        except Exception:  # whatever the decoders trip over: the chunk is not good
            return None

    def _next_chunk(self, start: int, stop: int) -> int | None:
        """Return the start of the first chunk in [start, stop) that verifies."""
        for mark in _MARKS:
            end = stop + _COMPRESSION_AT + len(mark)
            found = self.data.find(mark, start + _COMPRESSION_AT, end)
            while found >= 0:
                candidate = found - _COMPRESSION_AT
                if candidate < stop and self._chunk(candidate) is not None:
                    return candidate
                found = self.data.find(mark, found + 1, end)
        return None

    def _cut_chunk(self, start: int) -> Iterator[SalvagedMessage]:
        """Yield what can be decompressed from a chunk that the end of the file cuts off."""
        size = len(self.data)
        plain = b""
        if start + _COMPRESSION_AT + 16 <= size:
            (name,) = struct.unpack_from("<I", self.data, start + _COMPRESSION_AT)
            begin = start + _COMPRESSION_AT + 4 + name + 8
            kind = self.data[start + _COMPRESSION_AT + 4 : begin - 8]
            try:
                if kind == b"zstd" and begin < size:
                    plain = (
                        zstandard.ZstdDecompressor().decompressobj().decompress(self.data[begin:])
                    )
                elif kind == b"":
                    plain = self.data[begin:]
            except zstandard.ZstdError:
                plain = b""
        saved = 0
        for message in self._records(plain):
            saved += 1
            yield message
        self._note(
            start, size, f"the last chunk is cut off; {saved} messages could be saved from it"
        )

    def _records(self, plain: bytes) -> Iterator[SalvagedMessage]:
        pos, size = 0, len(plain)
        while pos + _RECORD.size <= size:
            opcode, length = _RECORD.unpack_from(plain, pos)
            stop = pos + _RECORD.size + length
            if stop > size:
                return
            if opcode == MESSAGE and length >= _MESSAGE.size:
                yield self._message(plain, pos + _RECORD.size, stop)
            elif opcode in (SCHEMA, CHANNEL):
                self._describe(opcode, plain[pos + _RECORD.size : stop], trusted=True)
            pos = stop

    @staticmethod
    def _message(data: bytes | mmap.mmap, start: int, stop: int) -> SalvagedMessage:
        channel, _, log_time, publish_time = _MESSAGE.unpack_from(data, start)
        return channel, log_time, publish_time, data[start + _MESSAGE.size : stop]

    def _describe(self, opcode: int, body: bytes, trusted: bool = False) -> None:
        """Keep a schema or channel; those inside a verified chunk replace loose ones."""
        try:
            stream = ReadDataStream(BytesIO(body))
            if opcode == SCHEMA:
                schema = Schema.read(stream)
                if trusted or schema.id not in self.schemas:
                    self.schemas[schema.id] = schema
            else:
                channel = Channel.read(stream)
                if trusted or channel.id not in self.channels:
                    self.channels[channel.id] = channel
        except Exception as error:  # a loose record has no checksum
            self._note(0, 0, f"a topic description cannot be read: {error}")
