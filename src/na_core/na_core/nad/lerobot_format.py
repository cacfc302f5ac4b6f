# SPDX-License-Identifier: Apache-2.0
"""File layout of LeRobotDataset v3.0: paths, feature tables, statistics, parquet schemas."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

CODEBASE_VERSION = "v3.0"
CHUNKS_SIZE = 1000
DATA_FILE_MB = 100
VIDEO_FILE_MB = 200
INFO = "meta/info.json"
STATS = "meta/stats.json"
TASKS = "meta/tasks.parquet"
PATTERN = "chunk-{chunk_index:03d}/file-{file_index:03d}"
DATA = f"data/{PATTERN}.parquet"
EPISODES = f"meta/episodes/{PATTERN}.parquet"
QUANTILES = (0.01, 0.10, 0.50, 0.90, 0.99)

FRAME_FEATURES: dict[str, dict[str, Any]] = {
    "timestamp": {"dtype": "float32", "shape": [1], "names": None},
    "frame_index": {"dtype": "int64", "shape": [1], "names": None},
    "episode_index": {"dtype": "int64", "shape": [1], "names": None},
    "index": {"dtype": "int64", "shape": [1], "names": None},
    "task_index": {"dtype": "int64", "shape": [1], "names": None},
}
"""Columns that every data set has."""


def vector(names: Sequence[str]) -> dict[str, Any]:
    """Return the feature entry of a float32 vector with one name per element."""
    return {"dtype": "float32", "shape": [len(names)], "names": list(names)}


def statistics(values: NDArray[Any]) -> dict[str, list[float]]:
    """Return min, max, mean, std, count and quantiles over the first axis, NaN rows left out."""
    flat = np.asarray(values, np.float64).reshape(len(values), -1)
    flat = flat[np.isfinite(flat).all(axis=1)]
    count = [len(flat)]
    if not len(flat):
        width = int(np.prod(values.shape[1:], dtype=int)) or 1
        keys = ["min", "max", "mean", "std", *(f"q{round(q * 100):02d}" for q in QUANTILES)]
        return {**{key: [0.0] * width for key in keys}, "count": [0]}
    out = {
        "min": flat.min(axis=0).tolist(),
        "max": flat.max(axis=0).tolist(),
        "mean": flat.mean(axis=0).tolist(),
        "std": flat.std(axis=0).tolist(),
        "count": count,
    }
    for q, row in zip(QUANTILES, np.quantile(flat, QUANTILES, axis=0), strict=True):
        out[f"q{round(q * 100):02d}"] = row.tolist()
    return out


def info(
    robot: str, fps: int, episodes: int, frames: int, tasks: int, features: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the content of meta/info.json."""
    return {
        "codebase_version": CODEBASE_VERSION,
        "robot_type": robot,
        "total_episodes": episodes,
        "total_frames": frames,
        "total_tasks": tasks,
        "chunks_size": CHUNKS_SIZE,
        "data_files_size_in_mb": DATA_FILE_MB,
        "video_files_size_in_mb": VIDEO_FILE_MB,
        "fps": fps,
        "splits": {"train": f"0:{episodes}"},
        "data_path": DATA,
        "video_path": None,
        "features": dict(features),
    }


def pandas_index(column: str, others: Sequence[tuple[str, str]]) -> dict[bytes, bytes]:
    """Return parquet schema metadata that makes pandas use `column` as index.

    `others` lists the remaining (column, numpy type) pairs. LeRobot reads its task table by index.
    """
    columns = [
        {
            "name": name,
            "field_name": name,
            "pandas_type": kind,
            "numpy_type": kind,
            "metadata": None,
        }
        for name, kind in others
    ]
    columns.append(
        {
            "name": column,
            "field_name": column,
            "pandas_type": "unicode",
            "numpy_type": "object",
            "metadata": None,
        }
    )
    content = {
        "index_columns": [column],
        "column_indexes": [
            {
                "name": None,
                "field_name": None,
                "pandas_type": "unicode",
                "numpy_type": "object",
                "metadata": {"encoding": "UTF-8"},
            }
        ],
        "columns": columns,
        "creator": {"library": "pyarrow", "version": "0"},
        "pandas_version": "2.0.0",
    }
    return {b"pandas": json.dumps(content).encode()}


def write_json(path: Path, content: Any) -> None:
    """Write `content` as indented JSON, making the directory."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=4) + "\n", encoding="utf-8")


def import_pyarrow() -> tuple[Any, Any]:
    """Return (pyarrow, pyarrow.parquet); ImportError says how to install it."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError(
            "LeRobot data sets are parquet files: install pyarrow first (pip install pyarrow)"
        ) from error
    return pyarrow, parquet
