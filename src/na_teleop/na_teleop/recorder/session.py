# SPDX-License-Identifier: Apache-2.0
"""One recorder's state: the running episode, its counters, its labels and how it ends."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rosbags.typesys.store import Typestore

from na_core.nad import layout
from na_core.nad.errors import DiskReserveError, NadError, SchemaError
from na_core.nad.layout import EpisodeInfo, Qos, TopicSpec, check_episode_name
from na_core.nad.typestore import encode_episode_info, nad_typestore
from na_core.nad.writer import DiskFree, EpisodeWriter, disk_free
from na_teleop.recorder.naming import automatic_name
from na_teleop.recorder.sequence import SequenceCounter, peek_sequence
from na_teleop.recorder.watch import TopicWatch

RELABELS = ("task", "category", "variant", "payload", "pair_id", "split_group", "operator_notes")
"""Fields of EpisodeInfo that may change while an episode runs."""


class SessionError(Exception):
    """A request that cannot be served; the text says why and what to do."""


@dataclass(frozen=True)
class RecorderConfig:
    """Settings of a recorder; sizes in [bytes], times in [s].

    `expected` are the topics whose absence is reported `patience` after the start. `namespace` is
    where the recorder listens; episodes use the names of the layout all the same.
    """

    out_dir: Path
    topics: tuple[TopicSpec, ...] = layout.TOPICS
    expected: tuple[str, ...] = (layout.FOLLOWER_TELEMETRY, layout.LEADER_TELEMETRY)
    patience: float = 1.5
    reserve_bytes: int = 1 << 30
    split_bytes: int = 4 << 30
    flush_period: float = 0.25
    namespace: str = "/"


@dataclass
class Stopped:
    """How an episode ended; `path` is None when it was discarded."""

    path: Path | None
    messages: int
    duration: float
    missed: dict[str, int] = field(default_factory=dict)


@dataclass
class Episode:
    """The running episode."""

    writer: EpisodeWriter
    info: EpisodeInfo
    start_ns: int
    watch: TopicWatch
    sequences: dict[str, SequenceCounter]


def _nothing(*_: Any) -> None:
    return None


class RecorderSession:
    """Recorder without ROS: raw messages in, episodes on disk and sentences for the operator out.

    `offered(topic)` returns the QoS that the publishers of a topic offer, asked at its first
    message; `report(severity, text)` receives everything worth telling ("info", "warn", "error");
    `announce(cdr)` receives each EpisodeInfo message as it is written.
    """

    def __init__(
        self,
        config: RecorderConfig,
        defaults: EpisodeInfo,
        *,
        offered: Callable[[str], Sequence[Qos]] = lambda topic: (),
        report: Callable[[str, str], None] = _nothing,
        announce: Callable[[bytes], None] = _nothing,
        store: Typestore | None = None,
        free: DiskFree = disk_free,
        wall_ns: Callable[[], int] = time.time_ns,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Keep the settings; nothing is written before `start`."""
        self.config = config
        self.defaults = defaults
        self.episode: Episode | None = None
        self.last: Stopped | None = None
        self.kept = 0
        self.seen: dict[str, int] = {spec.name: 0 for spec in config.topics}
        self._specs = {spec.name: spec for spec in config.topics}
        self._specs.setdefault(layout.EPISODE, layout.TOPICS_BY_NAME[layout.EPISODE])
        self._left_out: set[str] = set()
        self._latched: dict[str, bytes] = {}
        self._offered = offered
        self._report = report
        self._announce = announce
        self._store = store or nad_typestore()
        self._free = free
        self._wall_ns = wall_ns
        self._monotonic = monotonic

    @property
    def recording(self) -> bool:
        """True while an episode runs."""
        return self.episode is not None

    # -------------------------------------------------------------- requests

    def start(self, request: EpisodeInfo | None = None) -> Path:
        """Start an episode; returns the directory it will have.

        Empty fields of `request` keep the defaults. Raises SessionError.
        """
        if self.episode is not None:
            raise SessionError(
                f"episode {self.episode.info.episode} is being recorded; stop it first"
            )
        info = self._merged(request)
        now = self._wall_ns()
        directory = self.config.out_dir
        info.episode = info.episode or automatic_name(directory, info.robot, now, info.task)
        try:
            writer = EpisodeWriter(
                directory / check_episode_name(info.episode),
                flush_period=self.config.flush_period,
                split_bytes=self.config.split_bytes,
                reserve_bytes=self.config.reserve_bytes,
                free=self._free,
                custom_data={
                    "episode": info.episode,
                    "robot": info.robot,
                    "namespace": self.config.namespace,
                },
            )
        except (NadError, ValueError) as error:
            raise SessionError(f"cannot start: {error}") from error
        names = [spec.name for spec in self.config.topics]
        periodic = [name for name in names if self._specs[name].qos.durability == "volatile"]
        self.episode = Episode(
            writer,
            info,
            now,
            TopicWatch(self.config.expected, periodic, self.config.patience, self._monotonic()),
            {spec.name: SequenceCounter() for spec in self.config.topics if spec.sequenced},
        )
        self._write_info(now, layout.LATCHED)
        for topic, cdr in self._latched.items():
            self._write(topic, now, cdr, now)
        if self.episode is not None:
            self._guarded(self.episode.writer.flush)
        self._report("info", f"recording {info.episode} in {directory}")
        return writer.path

    def stop(self, keep: bool = True) -> Stopped:
        """End the running episode; raises SessionError when none runs or it cannot be closed."""
        episode = self.episode
        if episode is None:
            raise SessionError("no episode is being recorded; call start_episode first")
        now = self._wall_ns()
        stopped = Stopped(
            None,
            episode.writer.messages,
            (now - episode.start_ns) / 1e9,
            {name: counter.missed for name, counter in episode.sequences.items()},
        )
        if not keep:
            self.episode = None
            episode.writer.discard()
            self.last = stopped
            self._report("info", f"discarded {episode.info.episode}")
            return stopped
        self._fill_counters(episode)
        self._write_info(now, layout.LATCHED)
        if self.episode is None:  # the disk failed while writing the description
            raise SessionError(f"episode {episode.info.episode} could not be finished; see above")
        self.episode = None
        try:
            stopped.path = episode.writer.close()
        except NadError as error:
            raise SessionError(f"closing failed: {error}") from error
        stopped.messages = episode.writer.messages
        self.kept += 1
        self.last = stopped
        lost = {name: count for name, count in stopped.missed.items() if count}
        self._report(
            "warn" if lost else "info",
            f"kept {stopped.path}: {stopped.messages} messages, {stopped.duration:.1f} s"
            + (f", missed {lost}" if lost else ", none missed"),
        )
        return stopped

    def redo(self) -> Path:
        """Discard the running episode and start again under the same description."""
        if self.episode is None:
            raise SessionError("no episode is being recorded; nothing to redo")
        info = replace(self.episode.info, topic=[], written=[], missed=[])
        self.stop(keep=False)
        return self.start(info)

    def relabel(self, **changes: Any) -> None:
        """Change the description of the running episode and of the following ones.

        Keys are those of RELABELS; an unknown one raises SessionError. Inside an episode the new
        description is written as a message with its stamp.
        """
        unknown = sorted(set(changes) - set(RELABELS))
        if unknown:
            raise SessionError(
                f"cannot relabel {unknown[0]!r}; expected one of {', '.join(RELABELS)}"
            )
        self.defaults = replace(self.defaults, **changes)
        if self.episode is not None:
            self.episode.info = replace(self.episode.info, **changes)
            self._write_info(self._wall_ns(), layout.LATCHED)
            self._report("info", f"relabelled {self.episode.info.episode if self.episode else ''}")

    # -------------------------------------------------------------- messages

    def message(self, topic: str, cdr: bytes, log_ns: int, publish_ns: int | None = None) -> None:
        """Take one raw message; times in [ns since the epoch]. Never raises."""
        self.seen[topic] = self.seen.get(topic, 0) + 1
        spec = self._specs.get(topic)
        if spec is not None and spec.qos.durability == "transient_local":
            self._latched[topic] = cdr
        episode = self.episode
        if episode is None:
            return
        event = episode.watch.message(topic, self._monotonic())
        if event is not None:
            self._report("info", event.text())
        counter = episode.sequences.get(topic)
        if counter is not None:
            try:
                counter.see(peek_sequence(cdr))
            except ValueError as error:
                self._report("warn", f"{topic}: {error}")
        self._write(topic, log_ns, cdr, publish_ns)

    def tick(self) -> None:
        """Do what time asks for: flush, find missing topics; call it about 10 times a second."""
        episode = self.episode
        if episode is None:
            return
        for event in episode.watch.check(self._monotonic()):
            self._report("warn", event.text())
        self._guarded(episode.writer.tick)

    def close(self) -> None:
        """End a running episode at shut-down, keeping it; never raises."""
        if self.episode is not None:
            try:
                self.stop(keep=True)
            except SessionError as error:
                self._report("error", str(error))

    # --------------------------------------------------------------- details

    def _merged(self, request: EpisodeInfo | None) -> EpisodeInfo:
        info = replace(self.defaults, topic=[], written=[], missed=[])
        if request is None:
            return info
        words = (
            "episode",
            "task",
            "category",
            "variant",
            "pair_id",
            "split_group",
            "operator_notes",
        )
        changes: dict[str, Any] = {
            key: getattr(request, key) for key in words if getattr(request, key)
        }
        return replace(info, payload=request.payload, **changes)

    def _write_info(self, now: int, qos: Qos) -> None:
        if self.episode is None:
            return
        cdr = encode_episode_info(self._store, self.episode.info, now)
        self._write(layout.EPISODE, now, cdr, now, (qos,))
        self._announce(cdr)

    def _fill_counters(self, episode: Episode) -> None:
        counts = episode.writer.counts
        names = sorted({spec.name for spec in self.config.topics} - {layout.EPISODE})
        missed = {name: counter.missed for name, counter in episode.sequences.items()}
        episode.info = replace(
            episode.info,
            topic=names,
            written=[counts.get(name, 0) for name in names],
            missed=[missed.get(name, 0) for name in names],
        )

    def _write(
        self,
        topic: str,
        log_ns: int,
        cdr: bytes,
        publish_ns: int | None,
        qos: Sequence[Qos] | None = None,
    ) -> None:
        episode = self.episode
        if episode is None:
            return
        writer = episode.writer

        if topic not in writer.counts and not self._declare(writer, topic, qos):
            return
        self._guarded(lambda: writer.write(topic, log_ns, cdr, publish_ns))

    def _declare(self, writer: EpisodeWriter, topic: str, qos: Sequence[Qos] | None) -> bool:
        """Add a topic at its first message; one without definition is told once and left out."""
        spec = self._specs.get(topic)
        if spec is None or topic in self._left_out:
            return False
        try:
            writer.add_topic(topic, spec.type, self._offered(topic) if qos is None else qos)
        except SchemaError as error:
            self._left_out.add(topic)
            self._report("error", f"{topic} is not recorded: {error}")
            return False
        return True

    def _guarded(self, action: Callable[[], object]) -> None:
        """Run a writer action; a full disk ends the episode cleanly, a broken one loudly."""
        try:
            action()
        except DiskReserveError as error:
            self._report("error", f"stopping: {error}")
            self._end_at_reserve()
        except NadError as error:
            self._report("error", f"episode lost its disk: {error}")
            self.episode = None

    def _end_at_reserve(self) -> None:
        episode, self.episode = self.episode, None
        if episode is None:
            return
        self._fill_counters(episode)
        now = self._wall_ns()
        cdr = encode_episode_info(self._store, episode.info, now)
        try:
            with contextlib.suppress(DiskReserveError):  # the message is accepted all the same
                episode.writer.write(layout.EPISODE, now, cdr)
            path = episode.writer.close()
            self.kept += 1
            self.last = Stopped(path, episode.writer.messages, (now - episode.start_ns) / 1e9)
            self._report("warn", f"kept {path} as far as it went")
        except NadError as error:
            self._report("error", f"closing failed: {error}")
