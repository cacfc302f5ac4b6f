# SPDX-License-Identifier: Apache-2.0
"""Exports episodes to one .npz file or to CSV files."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from na_core.nad.arrays import Episode, InfoTrack, NumberTrack, Track


def export_npz(episode: Episode, path: Path) -> Path:
    """Write every array as `<topic>/<field>`, names as `<topic>/names`, the description as JSON.

    SI units, NaN unmeasured, as in na_core.nad.arrays. No pickles.
    """
    out: dict[str, NDArray[Any]] = {"info": np.array(json.dumps(episode.info.to_dict()))}
    for topic, track in episode.tracks.items():
        if isinstance(track, InfoTrack):
            continue
        key = topic.strip("/")
        for item in fields(track):
            value = getattr(track, item.name)
            if isinstance(value, np.ndarray):
                out[f"{key}/{item.name}"] = value
        if isinstance(track, NumberTrack):
            out.update({f"{key}/{name}": value for name, value in track.numbers.items()})
        names = getattr(track, "names", None)
        if names:
            out[f"{key}/names"] = np.array(names)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("xb") as stream:
        np.savez_compressed(stream, **out)  # type: ignore[arg-type]
    return path


def export_csv(episode: Episode, directory: Path) -> list[Path]:
    """Write one CSV per topic: log_ns, stamp_ns, then one column per number; empty is unmeasured.

    Columns of joints are `<field>.<joint>`, of vectors `<field>.x`.
    """
    directory.mkdir(parents=True, exist_ok=True)
    written = []
    for topic, track in episode.tracks.items():
        if isinstance(track, InfoTrack):
            continue
        path = directory / f"{topic.strip('/').replace('/', '_')}.csv"
        names, columns = zip(*_columns(track), strict=True)
        with path.open("x", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream)
            writer.writerow(names)
            writer.writerows(zip(*(_cells(column) for column in columns), strict=True))
        written.append(path)
    return written


def _columns(track: Track) -> Iterator[tuple[str, NDArray[Any]]]:
    yield "log_ns", track.log_ns
    yield "stamp_ns", track.stamp_ns
    arrays: dict[str, NDArray[Any]] = {}
    for item in fields(track):
        value = getattr(track, item.name)
        if item.name not in ("log_ns", "stamp_ns", "segments") and isinstance(value, np.ndarray):
            arrays[item.name] = value
    if isinstance(track, NumberTrack):
        arrays.update(track.numbers)
    joints = getattr(track, "names", ())
    for name, values in arrays.items():
        if values.ndim == 1:
            yield name, values
            continue
        flat = values.reshape(len(values), -1)
        width = flat.shape[1]
        labels = joints if width == len(joints) else "xyz" if width == 3 else map(str, range(width))
        for label, column in zip(labels, flat.T, strict=True):
            yield f"{name}.{label}", column


def _cells(column: NDArray[Any]) -> list[Any]:
    if column.dtype.kind == "f":
        return ["" if value != value else repr(float(value)) for value in column.tolist()]
    if column.dtype.kind == "b":
        return list(column.astype(np.int64).tolist())
    return list(column.tolist())
