# SPDX-License-Identifier: Apache-2.0
"""Typed arrays of one episode: SI units, NaN where nothing was measured."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from na_core.nad.layout import (
    EPISODE,
    FOLLOWER_JOINT_STATES,
    FOLLOWER_TELEMETRY,
    LABEL,
    LABEL_SOURCES,
    LEADER_TELEMETRY,
    EpisodeInfo,
)
from na_core.nad.timeline import sample_hold

Float = NDArray[np.float64]
Int = NDArray[np.int64]

PER_JOINT = (
    "goal_requested",
    "goal_sent",
    "goal_register",
    "position",
    "velocity",
    "current",
    "load",
    "voltage",
    "temperature",
)
"""Float fields of ActuatorTelemetry with one column per joint."""


@dataclass
class Track:
    """Messages of one topic in time order.

    `log_ns` (N,) recorder's clock, `stamp_ns` (N,) header stamp (equal to log_ns when the type has
    no header) [ns since the epoch]; `time_ns` is the one chosen as time base. `segments` (S, 2)
    are [start, stop) ranges without clock jump or long gap.
    """

    topic: str
    log_ns: Int
    stamp_ns: Int
    segments: Int
    base: str

    @property
    def time_ns(self) -> Int:
        """Time base chosen when the episode was loaded [ns], shape (N,)."""
        return self.stamp_ns if self.base == "header" else self.log_ns

    @property
    def seconds(self) -> Float:
        """Time since the first message [s], shape (N,)."""
        time = self.time_ns
        return np.asarray((time - time[:1]) * 1e-9, np.float64)

    def __len__(self) -> int:
        """Return the number of messages."""
        return len(self.log_ns)

    def slices(self) -> list[slice]:
        """Return the segments as slices."""
        return [slice(int(a), int(b)) for a, b in self.segments]


@dataclass
class TelemetryTrack(Track):
    """ActuatorTelemetry of one arm; arrays (N, J) in the order of `names`, units as in the message.

    Joints that a message does not name are NaN there (and 0 in hardware_error).
    """

    arm: str
    names: tuple[str, ...]
    sequence: NDArray[np.uint64]
    goal_requested: Float
    goal_sent: Float
    goal_register: Float
    position: Float
    velocity: Float
    current: Float
    load: Float
    voltage: Float
    temperature: Float
    hardware_error: NDArray[np.uint8]
    torque_enabled: NDArray[np.bool_]
    stale: NDArray[np.bool_]
    control_period_us: NDArray[np.uint32]

    def measured(self, name: str) -> NDArray[np.bool_]:
        """Return the mask (N, J) of values of `name` that were measured (not NaN)."""
        return np.logical_not(np.isnan(np.asarray(getattr(self, name), np.float64)))

    def capabilities(self) -> dict[str, NDArray[np.bool_]]:
        """Return per field the mask (J,) of joints that report it at least once."""
        return {name: np.any(self.measured(name), axis=0) for name in PER_JOINT}


@dataclass
class JointTrack(Track):
    """JointState or JointGoal; arrays (N, J) in rad, rad/s, N m (m, m/s, N), NaN if not given."""

    names: tuple[str, ...]
    position: Float
    velocity: Float
    effort: Float


@dataclass
class WrenchTrack(Track):
    """WrenchStamped in axes `frame`: force (N, 3) [N], torque (N, 3) [N m]."""

    frame: str
    force: Float
    torque: Float


@dataclass
class LabelTrack(Track):
    """ForceLabel messages: each holds from its stamp until the next one.

    source (N,), see LABEL_SOURCES; force (N, 3) [N] exerted by the environment on the end effector
    in the axes `frames[i]`; mass (N,) [kg]; valid (N,).
    """

    frames: tuple[str, ...]
    source: NDArray[np.uint8]
    force: Float
    mass: Float
    valid: NDArray[np.bool_]

    def at(self, time_ns: Int) -> tuple[NDArray[np.uint8], Float, NDArray[np.bool_]]:
        """Return (source (M,), force (M, 3), valid (M,)) in force at the times (M,) [ns].

        Before the first label, and where the label is invalid or NONE: NaN force and valid False.
        A label of source FT_SENSOR says that the force is that of the wrench topic: NaN here.
        """
        index = sample_hold(self.time_ns, time_ns)
        known = index >= 0
        index = np.maximum(index, 0)
        if not len(self):
            shape = len(time_ns)
            return (
                np.zeros(shape, np.uint8),
                np.full((shape, 3), np.nan),
                np.zeros(shape, bool),
            )
        source = np.where(known, self.source[index], LABEL_SOURCES["none"]).astype(np.uint8)
        valid = known & self.valid[index] & (source != LABEL_SOURCES["none"])
        sensor = source == LABEL_SOURCES["ft_sensor"]
        force = np.where((valid & ~sensor)[:, None], self.force[index], np.nan)
        return source, force, valid


@dataclass
class NumberTrack(Track):
    """Any other message type: every number by its field path, message as first axis."""

    type: str
    numbers: dict[str, NDArray[np.generic]] = field(default_factory=dict)


@dataclass
class InfoTrack(Track):
    """EpisodeInfo messages; the last one is authoritative."""

    infos: tuple[EpisodeInfo, ...]


@dataclass
class Episode:
    """One episode; tracks by topic, typed views by property.

    `content` is the SHA-256 (hex) of its files; `remarks` says what is odd.
    """

    path: Path
    content: str
    tracks: dict[str, Track]
    remarks: tuple[str, ...] = ()

    @property
    def info(self) -> EpisodeInfo:
        """Description of the episode; a blank one named after its directory when none is stored."""
        track = self.tracks.get(EPISODE)
        if isinstance(track, InfoTrack) and track.infos:
            return track.infos[-1]
        return EpisodeInfo(episode=self.path.name, payload=float("nan"), nad_version="")

    @property
    def follower(self) -> TelemetryTrack | None:
        """Telemetry of the follower, None when not recorded."""
        return self._telemetry(FOLLOWER_TELEMETRY)

    @property
    def leader(self) -> TelemetryTrack | None:
        """Telemetry of the leader, None when not recorded."""
        return self._telemetry(LEADER_TELEMETRY)

    @property
    def labels(self) -> LabelTrack | None:
        """Force labels, None when none was recorded."""
        track = self.tracks.get(LABEL)
        return track if isinstance(track, LabelTrack) else None

    @property
    def joint_states(self) -> dict[str, JointTrack]:
        """Every JointState or JointGoal topic."""
        return {name: t for name, t in self.tracks.items() if isinstance(t, JointTrack)}

    @property
    def wrenches(self) -> dict[str, WrenchTrack]:
        """Every WrenchStamped topic."""
        return {name: t for name, t in self.tracks.items() if isinstance(t, WrenchTrack)}

    def primary(self) -> TelemetryTrack | JointTrack | None:
        """Return follower telemetry, else its joint states, else any joint states."""
        follower = self.follower
        if follower is not None:
            return follower
        joints = self.joint_states
        return joints.get(FOLLOWER_JOINT_STATES) or next(iter(joints.values()), None)

    def _telemetry(self, topic: str) -> TelemetryTrack | None:
        track = self.tracks.get(topic)
        return track if isinstance(track, TelemetryTrack) else None
