# SPDX-License-Identifier: Apache-2.0
"""Exports episodes to a LeRobotDataset v3.0: state, action and, if asked for, force."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from na_core.nad import lerobot_format as layout
from na_core.nad.arrays import Episode, TelemetryTrack
from na_core.nad.errors import NadError
from na_core.nad.forces import labelled_force
from na_core.nad.timeline import Int

MIN_FRAMES = 10
"""Shorter segments are left out."""


@dataclass
class ExportReport:
    """What was written and what was left out."""

    path: Path
    episodes: int = 0
    frames: int = 0
    force_frames: int = 0
    remarks: list[str] = field(default_factory=list)


@dataclass
class _Frames:
    """One LeRobot episode: columns of equal length."""

    task: str
    columns: dict[str, NDArray[Any]]
    source: str

    @property
    def length(self) -> int:
        return len(self.columns["timestamp"])


def export_lerobot(
    episodes: Sequence[Episode], path: Path, *, force: bool = False, fps: int | None = None
) -> ExportReport:
    """Write `episodes` to the new directory `path`.

    Features: observation.state (positions, rad or m), action (goal_requested) named
    `<joint>.pos`; with `force` observation.force [N] in the axes of the labels, NaN where nothing
    is known. Telemetry is put on a grid of `fps` (default: the control rate, rounded) by taking
    the tick nearest in time. Every segment without gap or clock jump becomes one LeRobot episode.
    Raises NadError when episodes do not share joints or an episode has no follower telemetry.
    """
    pyarrow, parquet = layout.import_pyarrow()
    if path.exists():
        raise NadError(path, "exists; choose another directory")
    report = ExportReport(path)
    first = _telemetry(episodes[0]) if episodes else None
    if first is None:
        raise NadError(path, "no episode to export")
    rate = fps or max(1, round(episodes[0].info.control_rate))
    names = [f"{name}.pos" for name in first.names]
    features = {"action": layout.vector(names), "observation.state": layout.vector(names)}
    if force:
        features["observation.force"] = layout.vector(["x", "y", "z"])
    features |= layout.FRAME_FEATURES
    parts: list[_Frames] = []
    for episode in episodes:
        track = _telemetry(episode)
        if track.names != first.names:
            raise NadError(
                episode.path, f"joints {list(track.names)} differ from {list(first.names)}"
            )
        parts += _segments(episode, track, rate, force, report)
    if not parts:
        raise NadError(path, f"no segment of {MIN_FRAMES} frames in {len(episodes)} episodes")
    tasks = list(dict.fromkeys(part.task for part in parts))
    _number(parts, tasks)
    _write_data(path, parts, features, pyarrow, parquet)
    _write_episodes(path, parts, features, pyarrow, parquet)
    _write_tasks(path, tasks, pyarrow, parquet)
    report.episodes, report.frames = len(parts), sum(part.length for part in parts)
    whole = {key: np.concatenate([part.columns[key] for part in parts]) for key in features}
    if force:
        known = np.isfinite(whole["observation.force"]).all(axis=1)
        report.force_frames = int(known.sum())
    stats = {key: layout.statistics(values) for key, values in whole.items()}
    layout.write_json(path / layout.STATS, stats)
    robot = episodes[0].info.robot
    content = layout.info(robot, rate, report.episodes, report.frames, len(tasks), features)
    layout.write_json(path / layout.INFO, content)
    layout.write_json(path / "meta/nad.json", _origin(parts, force))
    return report


def _telemetry(episode: Episode) -> TelemetryTrack:
    track = episode.follower
    if track is None or not len(track):
        raise NadError(episode.path, "has no follower telemetry to export")
    return track


def _segments(
    episode: Episode, track: TelemetryTrack, fps: int, force: bool, report: ExportReport
) -> list[_Frames]:
    info = episode.info
    task = info.task or info.category or "teleoperation"
    parts = []
    for part in track.slices():
        frames = _resample(track, part, fps)
        state, action = track.position[frames], track.goal_requested[frames]
        usable = np.flatnonzero(np.isfinite(state).all(axis=1) & np.isfinite(action).all(axis=1))
        if len(usable) < MIN_FRAMES:
            report.remarks.append(
                f"{episode.path.name}: segment {part.start} to {part.stop} has {len(usable)} "
                "complete frames; left out"
            )
            continue
        rows = np.arange(usable[0], usable[-1] + 1)
        held = usable[np.searchsorted(usable, rows, side="right") - 1]
        if (held != rows).any():
            report.remarks.append(
                f"{episode.path.name}: {int((held != rows).sum())} incomplete frames repeat the "
                "frame before"
            )
        columns: dict[str, NDArray[Any]] = {
            "action": action[held].astype(np.float32),
            "observation.state": state[held].astype(np.float32),
            "timestamp": (np.arange(len(rows)) / fps).astype(np.float32),
        }
        if force:
            known = labelled_force(episode, track.time_ns[frames][rows], 1.0 / fps)
            columns["observation.force"] = known.force.astype(np.float32)
            if len(known.frames) > 1:
                raise NadError(episode.path, f"force labels mix the axes {', '.join(known.frames)}")
        parts.append(_Frames(task, columns, episode.path.name))
    return parts


def _resample(track: TelemetryTrack, part: slice, fps: int) -> Int:
    """Return for each instant of the grid the index of the tick nearest in time."""
    time = track.time_ns[part]
    # A quarter of a frame of jitter at the end does not cost the last frame.
    count = int((time[-1] - time[0]) * 1e-9 * fps + 0.25) + 1
    grid = time[0] + np.round(np.arange(count) * (1e9 / fps)).astype(np.int64)
    right = np.clip(np.searchsorted(time, grid), 1, max(1, len(time) - 1))
    if len(time) < 2:
        return np.full(len(grid), part.start, np.int64)
    nearer_left = grid - time[right - 1] <= time[right] - grid
    return np.asarray(right - nearer_left + part.start, np.int64)


def _number(parts: list[_Frames], tasks: list[str]) -> None:
    start = 0
    for number, part in enumerate(parts):
        length = part.length
        part.columns |= {
            "frame_index": np.arange(length, dtype=np.int64),
            "episode_index": np.full(length, number, np.int64),
            "index": np.arange(start, start + length, dtype=np.int64),
            "task_index": np.full(length, tasks.index(part.task), np.int64),
        }
        start += length


def _write_data(
    path: Path, parts: list[_Frames], features: dict[str, Any], pyarrow: Any, parquet: Any
) -> None:
    """Write one row group per episode into files of at most DATA_FILE_MB."""
    columns = {key: _arrow_type(entry, pyarrow) for key, entry in features.items()}
    schema = pyarrow.schema([(key, kind) for key, kind in columns.items()])
    writer, size, chunk, file = None, 0, 0, -1
    for part in parts:
        arrays = [_arrow(part.columns[key], columns[key], pyarrow) for key in features]
        table = pyarrow.Table.from_arrays(arrays, schema=schema)
        if writer is None or size + table.nbytes > layout.DATA_FILE_MB << 20:
            if writer is not None:
                writer.close()
            file += 1
            if file == layout.CHUNKS_SIZE:
                chunk, file = chunk + 1, 0
            target = path / layout.DATA.format(chunk_index=chunk, file_index=file)
            target.parent.mkdir(parents=True, exist_ok=True)
            writer, size = parquet.ParquetWriter(target, schema, compression="snappy"), 0
        writer.write_table(table)
        size += table.nbytes
        part.columns["data/chunk_index"] = np.array([chunk])
        part.columns["data/file_index"] = np.array([file])
    if writer is not None:
        writer.close()


def _write_episodes(
    path: Path, parts: list[_Frames], features: dict[str, Any], pyarrow: Any, parquet: Any
) -> None:
    rows = []
    for number, part in enumerate(parts):
        first = int(part.columns["index"][0])
        row: dict[str, Any] = {
            "episode_index": number,
            "tasks": [part.task],
            "length": part.length,
            "data/chunk_index": int(part.columns["data/chunk_index"][0]),
            "data/file_index": int(part.columns["data/file_index"][0]),
            "dataset_from_index": first,
            "dataset_to_index": first + part.length,
            "meta/episodes/chunk_index": 0,
            "meta/episodes/file_index": 0,
        }
        for key in features:
            for name, value in layout.statistics(part.columns[key]).items():
                row[f"stats/{key}/{name}"] = value
        rows.append(row)
    target = path / layout.EPISODES.format(chunk_index=0, file_index=0)
    target.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pyarrow.Table.from_pylist(rows), target)


def _write_tasks(path: Path, tasks: list[str], pyarrow: Any, parquet: Any) -> None:
    table = pyarrow.table(
        {"task_index": pyarrow.array(range(len(tasks)), pyarrow.int64()), "task": tasks}
    )
    table = table.replace_schema_metadata(layout.pandas_index("task", [("task_index", "int64")]))
    target = path / layout.TASKS
    target.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(table, target)


def _origin(parts: list[_Frames], force: bool) -> dict[str, Any]:
    """Return meta/nad.json: units and sources, for which LeRobot has no place."""
    units = {"observation.state": "rad or m", "action": "rad or m", "timestamp": "s"}
    if force:
        units["observation.force"] = "N, exerted by the environment on the end effector"
    return {"units": units, "episodes": [part.source for part in parts]}


def _arrow_type(entry: dict[str, Any], pyarrow: Any) -> Any:
    kind = pyarrow.type_for_alias(entry["dtype"])
    return kind if entry["shape"] == [1] else pyarrow.list_(kind, entry["shape"][0])


def _arrow(values: NDArray[Any], kind: Any, pyarrow: Any) -> Any:
    if values.ndim == 1:
        return pyarrow.array(values, kind)
    flat = pyarrow.array(np.ascontiguousarray(values).reshape(-1), kind.value_type)
    return pyarrow.FixedSizeListArray.from_arrays(flat, type=kind)
