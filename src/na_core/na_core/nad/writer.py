# SPDX-License-Identifier: Apache-2.0
"""Writes one NAD episode: raw CDR in, a rosbag2 directory with MCAP storage out."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

from na_core.nad.errors import (
    DiskReserveError,
    EpisodeExistsError,
    EpisodeWriteError,
    NadError,
    SchemaError,
)
from na_core.nad.layout import NAD_VERSION, Qos, check_episode_name, part_name
from na_core.nad.mcap_file import McapFile
from na_core.nad.metadata import (
    BagSummary,
    FileSpan,
    TopicCount,
    qos_yaml,
    sync_directory,
    write_metadata,
)
from na_core.nad.schemas import MessageSource, default_source

LIBRARY = "neural_actuator NAD"
LOCK_NAME = ".lock"

DiskFree = Callable[[Path], int]


def disk_free(path: Path) -> int:
    """Return the bytes that this user may still write on the file system of `path`."""
    return shutil.disk_usage(path).free


class EpisodeWriter:
    """Writer of one episode directory.

    Everything is written below `<parent>/.<name>.part`; `close` makes it durable and renames it to
    `<parent>/<name>` in one step. A chunk is closed and handed to the operating system when it
    holds `chunk_bytes` of messages or `flush_period` [s] of log time, and by `tick` when no
    message has arrived for that long, so that a killed process loses at most that much.
    `split_bytes` starts a new file once a file is at least that large (0: never);
    `reserve_bytes` of free space are never used (0: not checked). Not thread safe.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        source: MessageSource | None = None,
        chunk_bytes: int = 1 << 20,
        flush_period: float = 0.5,
        split_bytes: int = 0,
        reserve_bytes: int = 0,
        free: DiskFree = disk_free,
        custom_data: Mapping[str, str] | None = None,
        compress: bool = True,
    ) -> None:
        """Create the unfinished directory.

        Raises EpisodeExistsError, DiskReserveError, EpisodeWriteError (directory not writable) or
        ValueError (name not allowed).
        """
        self.path = Path(path)
        self.name = check_episode_name(self.path.name)
        self.part = self.path.parent / part_name(self.name)
        self._source = source or default_source()
        self._chunk_bytes = chunk_bytes
        self._flush_ns = int(flush_period * 1e9)
        self._split_bytes = split_bytes
        self._reserve = reserve_bytes
        self._free = free
        self._compress = compress
        self._topics: dict[str, TopicCount] = {}
        self._texts: dict[str, str] = {}
        self._spans: list[FileSpan] = []
        self._custom = {"nad_version": NAD_VERSION, **(custom_data or {})}
        self._bytes = 0
        self._chunk_start: int | None = None
        self._touched = time.monotonic_ns()
        self._state = "open"
        self._create_directory()
        self._file = self._next_file()

    # ---------------------------------------------------------------- topics

    def add_topic(self, name: str, type_name: str, qos: Sequence[Qos] = ()) -> None:
        """Declare a topic with the QoS its publishers offer.

        Declaring again with the same type does nothing; SchemaError when the type differs or its
        definition is not known.
        """
        known = self._topics.get(name)
        if known is not None:
            if known.type != type_name:
                raise SchemaError(
                    self.part, f"topic {name} is {known.type}, cannot also be {type_name}"
                )
            return
        definition = self._source.definition(type_name)
        self._topics[name] = TopicCount(
            name, definition.type, definition.hash, [profile.rosbag2() for profile in qos]
        )
        self._texts[name] = definition.text

    def add_topic_text(
        self,
        name: str,
        type_name: str,
        text: str,
        type_hash: str = "",
        qos: Sequence[Mapping[str, object]] = (),
    ) -> None:
        """Declare a topic by the definition text found in another bag."""
        self._topics.setdefault(name, TopicCount(name, type_name, type_hash, list(qos)))
        self._texts.setdefault(name, text)

    @property
    def counts(self) -> dict[str, int]:
        """Messages accepted so far, per topic."""
        return {name: topic.messages for name, topic in self._topics.items()}

    @property
    def messages(self) -> int:
        """Messages accepted so far on all topics."""
        return sum(topic.messages for topic in self._topics.values())

    @property
    def custom_data(self) -> dict[str, str]:
        """Mapping written to metadata.yaml; may be changed until `close`."""
        return self._custom

    # -------------------------------------------------------------- messages

    def write(
        self, topic: str, log_time_ns: int, cdr: bytes, publish_time_ns: int | None = None
    ) -> None:
        """Append one serialised message; times in [ns since the epoch].

        Raises EpisodeWriteError when the system refuses to write, DiskReserveError after the
        message was accepted when the reserve is reached: `close` still succeeds then.
        """
        if self._state != "open":
            raise NadError(self.part, f"cannot write to {topic}: the episode is {self._state}")
        channel = self._file.channels.get(topic)
        if channel is None:
            channel = self._register(topic)
        count = self._topics[topic]
        publish = log_time_ns if publish_time_ns is None else publish_time_ns
        self._file.add_message(channel, log_time_ns, cdr, publish, count.messages & 0xFFFFFFFF)
        count.messages += 1
        self._bytes += len(cdr)
        if self._chunk_start is None:
            self._chunk_start = log_time_ns
            self._touched = time.monotonic_ns()
        elif (
            self._bytes >= self._chunk_bytes
            or abs(log_time_ns - self._chunk_start) >= self._flush_ns
        ):
            self.flush()

    def tick(self) -> None:
        """Flush a chunk that has been waiting for `flush_period`; call it a few times a second."""
        waited = time.monotonic_ns() - self._touched
        if self._state == "open" and self._chunk_start is not None and waited >= self._flush_ns:
            self.flush()

    def flush(self) -> None:
        """Close the chunk in progress, split and check the disk; see `write` for what is raised."""
        self._guard(self._file.flush)
        self._bytes, self._chunk_start = 0, None
        if self._split_bytes and self._file.size >= self._split_bytes:
            self._guard(self._file.finish)
            self._file = self._next_file()
        if self._reserve:
            left = self._free(self.part)
            if left < self._reserve:
                raise DiskReserveError(
                    self.part,
                    left,
                    self._reserve,
                    "recording must stop; everything so far is written",
                )

    # ------------------------------------------------------------------- end

    def close(self) -> Path:
        """Finish, fsync and rename the episode; returns its final directory."""
        if self._state == "closed":
            return self.path
        if self._state != "open":
            raise NadError(self.part, f"cannot close: the episode is {self._state}")
        summary = self.summary()
        self._guard(lambda: self._file.finish(summary.to_yaml()))
        self._guard(lambda: self._publish(summary))
        self._state = "closed"
        return self.path

    def summary(self) -> BagSummary:
        """Return what metadata.yaml would say now."""
        return BagSummary(
            files=list(self._spans),
            topics=list(self._topics.values()),
            custom_data=dict(self._custom),
        )

    def discard(self) -> None:
        """Delete the unfinished episode."""
        if self._state in ("open", "failed"):
            self._state = "discarded"
            self._file.abandon()
            self._unlock()
            shutil.rmtree(self.part, ignore_errors=True)

    def abandon(self) -> None:
        """Flush and leave the unfinished directory behind, for `./na bag recover`."""
        if self._state == "open":
            with contextlib.suppress(NadError, OSError):
                self.flush()
            self._file.abandon()
            self._unlock()
            self._state = "abandoned"

    def __enter__(self) -> EpisodeWriter:
        """Return self."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close; after an exception leave what was recorded in the unfinished directory."""
        if kind is None:
            self.close()
        else:
            self.abandon()

    # --------------------------------------------------------------- details

    def _create_directory(self) -> None:
        if self.path.exists():
            raise EpisodeExistsError(self.path, "an episode of this name exists; choose another")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if self._reserve:
                left = self._free(self.path.parent)
                if left < self._reserve:
                    raise DiskReserveError(
                        self.path.parent, left, self._reserve, "recording was not started"
                    )
            self.part.mkdir()
            self._lock = os.open(self.part / LOCK_NAME, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except FileExistsError:
            raise EpisodeExistsError(
                self.part,
                "another recorder is writing this episode"
                if is_locked(self.part)
                else f"left by an interrupted recording; run: ./na bag recover {self.part}",
            ) from None
        except OSError as error:
            raise EpisodeWriteError(
                self.part, f"cannot create the episode directory: {error.strerror}"
            ) from error

    def _next_file(self) -> McapFile:
        path = self.part / f"{self.name}_{len(self._spans)}.mcap"
        try:
            file = McapFile(path, LIBRARY, self._compress)
        except OSError as error:
            self._state = "failed"
            raise EpisodeWriteError(path, f"cannot create the file: {error.strerror}") from error
        self._spans.append(file.span)
        return file

    def _register(self, topic: str) -> int:
        known = self._topics.get(topic)
        if known is None:
            raise NadError(self.part, f"topic {topic} was not declared; call add_topic first")
        metadata = {
            "offered_qos_profiles": qos_yaml(known.qos),
            "topic_type_hash": known.type_hash,
        }
        return self._file.add_channel(topic, known.type, self._texts[topic], metadata)

    def _guard(self, action: Callable[[], object]) -> None:
        """Run `action`; turn an OSError into an EpisodeWriteError that says what survived."""
        if self._state != "open":
            raise NadError(self.part, f"cannot write: the episode is {self._state}")
        try:
            action()
        except OSError as error:
            self._state = "failed"
            self._file.abandon()
            self._unlock()
            raise EpisodeWriteError(
                self.part,
                f"writing {self._file.path.name} failed: {error.strerror}; every chunk written "
                "before is kept there; free some space, then run: "
                f"./na bag recover {self.part}",
            ) from error

    def _publish(self, summary: BagSummary) -> None:
        write_metadata(self.part, summary)
        (self.part / LOCK_NAME).unlink(missing_ok=True)
        sync_directory(self.part)
        if self.path.exists():
            raise FileExistsError(17, f"{self.path} appeared meanwhile")
        self.part.rename(self.path)
        sync_directory(self.path.parent)
        self._unlock()

    def _unlock(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def is_locked(part: Path) -> bool:
    """Return True while a living process is recording into the unfinished directory `part`."""
    try:
        descriptor = os.open(part / LOCK_NAME, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
