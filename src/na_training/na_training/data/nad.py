# SPDX-License-Identifier: Apache-2.0
"""Training episodes from NAD recordings; refuses data of another robot, rate or unit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from na_core.features import Ticks
from na_core.kinematics import Kinematics
from na_core.nad.arrays import Episode as Recording
from na_core.nad.arrays import LabelTrack, NumberTrack, TelemetryTrack
from na_core.nad.layout import FT_WRENCH, LABEL_SOURCES, TRUTH_PREFIX
from na_core.nad.reader import find_episodes, load_episode
from na_core.nad.resampling import around_ns
from na_core.nad.timeline import sample_hold
from na_core.robot_spec import RobotSpec
from na_training.data.arrays import find_arrays, read_arrays
from na_training.data.checks import check_rate, check_robot, check_units, joint_order
from na_training.data.episode import DataError, Episode, complete, usable_segments
from na_training.data.labels import contact_from_force, restricted_from_info

Array = NDArray[np.float64]

TRUTH = TRUTH_PREFIX + "plant"


def read_folders(
    folders: Iterable[Path], spec: RobotSpec, *, categories: Sequence[str] = ()
) -> list[Episode]:
    """Read every episode below some folders.

    Args:
        folders: searched for bags.
        spec: the robot the data must be of.
        categories: keep only these; all when empty.

    Raises:
        DataError: a folder holds no episode, or an episode does not fit the robot.
    """
    episodes: list[Episode] = []
    for folder in folders:
        found = 0
        for episode in _read_one(Path(folder), spec):
            found += 1
            if not categories or episode.category in categories:
                episodes.append(episode)
        if not found:
            raise DataError(
                f"{folder}: no episode found; expected NAD bags (./na nad generate, or recorded)"
            )
    return episodes


def _read_one(folder: Path, spec: RobotSpec) -> Iterator[Episode]:
    for path in find_arrays(folder):
        yield read_arrays(path, spec)
    for path in find_episodes(folder):
        yield episode_from_recording(load_episode(path), spec)


def episode_from_recording(recording: Recording, spec: RobotSpec) -> Episode:
    """Bring one recording into canonical joint order and resolve its labels.

    Raises:
        DataError: no follower telemetry, another robot, missing joints, another rate, or positions
            that cannot be in the robot's units.
    """
    info = recording.info
    name = info.episode or recording.path.name
    check_robot(name, info.robot, spec)
    track = recording.follower
    if track is None or len(track) < 2:
        raise DataError(f"episode {name} ({recording.path}) has no follower telemetry")
    order = joint_order(name, track.names, spec)
    ticks = _ticks(track, order)
    check_units(name, ticks.position, spec)
    time = track.seconds
    check_rate(name, time, spec.control_rate)
    usable = ~track.stale & complete(ticks)
    segments = usable_segments(time, usable)
    force, truth = _forces(recording, track, spec, ticks.position)
    contact = contact_from_force(force)
    dither = track.goal_sent[:, order] - track.goal_requested[:, order]
    return Episode(
        name=name,
        robot=spec.robot,
        category=info.category,
        task=info.task,
        variant=info.variant,
        split_group=info.split_group,
        pair_id=info.pair_id,
        time=time,
        ticks=ticks,
        segments=segments,
        force=force,
        contact=contact,
        restricted=restricted_from_info(info, spec.names),
        truth=truth,
        payload=info.payload,
        robot_hash=info.robot_hash,
        calibration=info.calibration_hash if info.source == "hardware" else "",
        unit=info.calibration_hash,
        dithered=np.nan_to_num(np.abs(dither)).max(axis=1) > 1e-9,
    )


def _ticks(track: TelemetryTrack, order: list[int]) -> Ticks:
    """Telemetry in joint order; load stands in for current on servos without a current sensor."""
    current = np.where(np.isnan(track.current).all(axis=0), track.load, track.current)
    goal = np.where(np.isnan(track.goal_sent), track.goal_register, track.goal_sent)
    return Ticks.of(
        position=track.position[:, order],
        velocity=track.velocity[:, order],
        goal=goal[:, order],
        current=current[:, order],
        voltage=track.voltage[:, order],
        temperature=track.temperature[:, order],
    )


def _forces(
    recording: Recording, track: TelemetryTrack, spec: RobotSpec, q: Array
) -> tuple[Array, Array]:
    """Label and true force (T, 3) [N] in base axes; NaN where unknown."""
    time = track.time_ns
    unknown = np.full((len(time), 3), np.nan)
    truth = _truth(recording, time)
    labels = recording.labels
    if labels is None or not len(labels):
        return unknown, truth
    for frame in set(labels.frames):
        if frame not in ("", spec.base_frame):
            raise DataError(
                f"{recording.path}: force label in axes of {frame!r}, expected {spec.base_frame!r}"
            )
    source, force, valid = _labels_at(labels, time)
    sensed = np.isin(source, (LABEL_SOURCES["ft_sensor"], LABEL_SOURCES["gauge"]))
    bare = sensed & valid & np.isnan(force).any(axis=1)
    if bare.any():
        force = np.where(bare[:, None], _wrench(recording, FT_WRENCH, time, spec, q), force)
    return np.where(valid[:, None], force, np.nan), truth


def _labels_at(
    labels: LabelTrack, time: NDArray[np.int64]
) -> tuple[NDArray[np.uint8], Array, NDArray[np.bool_]]:
    """Source (T,), force (T, 3) [N] as the label itself gives it, and validity (T,)."""
    index = sample_hold(labels.time_ns, time)
    known = index >= 0
    index = np.maximum(index, 0)
    source = np.where(known, labels.source[index], LABEL_SOURCES["none"]).astype(np.uint8)
    valid = known & labels.valid[index] & (source != LABEL_SOURCES["none"])
    return source, labels.force[index], valid


def _truth(recording: Recording, time: NDArray[np.int64]) -> Array:
    """True force on the end effector (T, 3) [N]; NaN where the bag holds no truth."""
    track = recording.tracks.get(TRUTH)
    names = [f"force.{axis}" for axis in "xyz"]
    if not isinstance(track, NumberTrack) or any(name not in track.numbers for name in names):
        return np.full((len(time), 3), np.nan)
    index = np.maximum(sample_hold(track.time_ns, time), 0)
    return np.stack([np.asarray(track.numbers[name])[index] for name in names], axis=1)


def _wrench(
    recording: Recording, topic: str, time: NDArray[np.int64], spec: RobotSpec, q: Array
) -> Array:
    """Force of a wrench topic around given times (T, 3) [N] in base axes.

    NaN where the topic is silent or absent. A wrench in end-effector axes is turned
    by the pose at the measured positions q (T, n).
    """
    track = recording.wrenches.get(topic)
    if track is None or len(track) < 2:
        return np.full((len(time), 3), np.nan)
    force = around_ns(track.time_ns, track.force, time, 1.0 / spec.control_rate)
    if track.frame in ("", spec.base_frame):
        return force
    if track.frame != spec.end_effector_frame:
        raise DataError(
            f"{recording.path}: {topic} is in axes of {track.frame!r}, expected "
            f"{spec.end_effector_frame!r} or {spec.base_frame!r}"
        )
    kinematics = Kinematics(spec)
    rows = np.flatnonzero(np.isfinite(force).all(axis=1) & np.isfinite(q).all(axis=1))
    turned = np.full_like(force, np.nan)
    for row in rows:
        turned[row] = kinematics.fk(q[row]).rotation @ force[row]
    return turned
