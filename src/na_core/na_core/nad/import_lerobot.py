# SPDX-License-Identifier: Apache-2.0
"""Imports joint states and actions from a LeRobotDataset (v2.x or v3.0) as NAD episodes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from na_core.nad.errors import BagFormatError
from na_core.nad.import_common import JOINT_GOAL, JOINT_STATE, joint_rows, write_episode
from na_core.nad.layout import FOLLOWER_GOAL, FOLLOWER_JOINT_STATES, EpisodeInfo
from na_core.nad.lerobot_format import INFO, TASKS, import_pyarrow

UNITS = {"rad": 1.0, "deg": np.pi / 180.0}
STATE, ACTION = "observation.state", "action"


def import_lerobot(
    source: Path, out_dir: Path, unit: str, episodes: Sequence[int] | None = None
) -> list[Path]:
    """Write one NAD episode per LeRobot episode below `out_dir`; returns their directories.

    observation.state becomes /follower/joint_states, action becomes /follower/goal. `unit` says in
    what the data set counts angles, "rad" or "deg": LeRobot does not record it. Time starts at 0.
    Raises BagFormatError when the folder is no such data set or lacks the columns.
    """
    if unit not in UNITS:
        raise ValueError(f"unit = {unit!r}: expected one of {', '.join(UNITS)}")
    _, parquet = import_pyarrow()
    try:
        info = json.loads((source / INFO).read_text(encoding="utf-8"))
        version, features = str(info["codebase_version"]), info["features"]
    except (OSError, ValueError, KeyError) as error:
        raise BagFormatError(source, f"is no LeRobotDataset: {INFO}: {error}") from error
    if version.split(".")[0] not in ("v2", "v3"):
        raise BagFormatError(source, f"is LeRobotDataset {version}; v2.x and v3.0 can be read")
    if STATE not in features:
        raise BagFormatError(source, f"has no {STATE}; it has {', '.join(features)}")
    files = sorted((source / "data").glob("*/*.parquet"))
    if not files:
        raise BagFormatError(source / "data", "holds no parquet file")
    tasks = _tasks(source, parquet)
    written = []
    for file in files:
        columns = ["episode_index", "timestamp", "task_index", STATE]
        table = parquet.read_table(file, columns=columns + [ACTION] * (ACTION in features))
        numbers = table["episode_index"].to_numpy()
        for number in np.unique(numbers):
            if episodes is not None and int(number) not in episodes:
                continue
            rows = table.filter(numbers == number)
            name = f"{source.name}_{int(number):06d}"
            description = EpisodeInfo(
                episode=name,
                robot=str(info.get("robot_type") or ""),
                task=tasks.get(int(rows["task_index"][0].as_py()), ""),
                payload=float("nan"),
                source="hardware",
                control_rate=float(info.get("fps", 0)),
            )
            written.append(
                _episode(out_dir / name, description, rows, features, UNITS[unit], source)
            )
    return written


def _episode(
    path: Path,
    info: EpisodeInfo,
    rows: Any,
    features: dict[str, Any],
    scale: float,
    source: Path,
) -> Path:
    time = np.round(rows["timestamp"].to_numpy().astype(np.float64) * 1e9).astype(np.int64)
    topics = []
    for column, topic, type_name in (
        (STATE, FOLLOWER_JOINT_STATES, JOINT_STATE),
        (ACTION, FOLLOWER_GOAL, JOINT_GOAL),
    ):
        if column in features:
            values = scale * _matrix(rows[column])
            names = _names(features[column], values.shape[1])
            data = joint_rows(type_name, names, time, position=values)
            topics.append((topic, type_name, time, data))
    return write_episode(path, info, topics, f"LeRobotDataset {source.name}")


def _matrix(column: Any) -> NDArray[np.float64]:
    values = np.array(column.to_pylist(), dtype=np.float64)
    return values if values.ndim == 2 else values[:, None]


def _names(feature: dict[str, Any], width: int) -> list[str]:
    """Return joint names without LeRobot's `.pos`; v2 nests them in a mapping of one list."""
    names = feature.get("names")
    if isinstance(names, dict):
        names = next(iter(names.values()), None)
    if not isinstance(names, list) or len(names) != width:
        return [f"joint{i + 1}" for i in range(width)]
    return [str(name).removesuffix(".pos") for name in names]


def _tasks(source: Path, parquet: Any) -> dict[int, str]:
    table = source / TASKS
    if table.is_file():
        columns = parquet.read_table(table).to_pydict()
        text = columns.get("task") or columns.get("__index_level_0__") or []
        return {int(i): str(t) for i, t in zip(columns["task_index"], text, strict=False)}
    legacy = source / "meta" / "tasks.jsonl"
    if legacy.is_file():
        lines = legacy.read_text(encoding="utf-8").splitlines()
        entries = [json.loads(line) for line in lines if line.strip()]
        return {int(entry["task_index"]): str(entry["task"]) for entry in entries}
    return {}
