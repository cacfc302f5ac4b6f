# SPDX-License-Identifier: Apache-2.0
"""Memory-mapped cache of decoded episodes, keyed by the content of the bag."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import tempfile
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from na_core.nad import arrays
from na_core.nad.arrays import Episode, InfoTrack, NumberTrack, Track
from na_core.nad.layout import EpisodeInfo
from na_core.nad.locate import SUFFIXES
from na_core.nad.metadata import FILE_NAME

MAGIC = b"NADC0001"
FORMAT = 1
"""Raised whenever decoding or this file format changes: old entries are then ignored."""

_ALIGN = 64
_BLOCK = 1 << 20


def content_hash(path: Path) -> str:
    """Return the SHA-256 (hex) over the storage files and metadata.yaml of a bag."""
    if path.is_dir():
        names = sorted(os.listdir(path))
        files = [path / name for name in names if name.endswith(SUFFIXES) or name == FILE_NAME]
    else:
        files = [path]
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.name}\0".encode())
        with file.open("rb") as stream:
            while block := stream.read(_BLOCK):
                digest.update(block)
    return digest.hexdigest()


def cache_directory() -> Path:
    """Return $NA_CACHE_DIR/nad, or neural_actuator/nad below the user's cache directory."""
    own = os.environ.get("NA_CACHE_DIR")
    if own:
        return Path(own) / "nad"
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "neural_actuator" / "nad"


def entry_path(directory: Path, content: str, options: str) -> Path:
    """Return the file that caches content decoded under `options`."""
    key = hashlib.sha256(f"{FORMAT}\0{content}\0{options}".encode()).hexdigest()
    return directory / key[:2] / f"{key}.nadc"


def store(entry: Path, episode: Episode) -> None:
    """Write `episode` to the cache; a read-only or full cache is not an error."""
    blocks: list[np.ndarray[Any, Any]] = []
    offset = 0

    def put(array: np.ndarray[Any, Any]) -> list[Any]:
        nonlocal offset
        array = np.ascontiguousarray(array)
        start = offset
        blocks.append(array)
        offset += -(-array.nbytes // _ALIGN) * _ALIGN
        return [start, array.dtype.str, list(array.shape)]

    tracks = []
    for track in episode.tracks.values():
        entry_fields: dict[str, Any] = {"": type(track).__name__}
        for item in fields(track):
            value = getattr(track, item.name)
            if isinstance(value, np.ndarray):
                entry_fields[item.name] = {"a": put(value)}
            elif isinstance(track, NumberTrack) and item.name == "numbers":
                entry_fields["numbers"] = {"n": {key: put(array) for key, array in value.items()}}
            elif isinstance(track, InfoTrack) and item.name == "infos":
                entry_fields["infos"] = {"i": [info.to_dict() for info in value]}
            else:
                entry_fields[item.name] = value
        tracks.append(entry_fields)
    head = json.dumps({"size": offset, "tracks": tracks, "remarks": episode.remarks}).encode()
    start = -(-(len(MAGIC) + 8 + len(head)) // _ALIGN) * _ALIGN
    with contextlib.suppress(OSError):
        entry.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=entry.parent, delete=False) as stream:
            try:
                prefix = MAGIC + len(head).to_bytes(8, "little") + head
                stream.write(prefix.ljust(start, b"\0"))
                for array in blocks:
                    data = array.tobytes()
                    stream.write(data.ljust(-(-len(data) // _ALIGN) * _ALIGN, b"\0"))
                stream.close()
                os.replace(stream.name, entry)
            except OSError:
                os.unlink(stream.name)
                raise


def load(entry: Path, path: Path, content: str) -> Episode | None:
    """Return the cached episode with read-only memory-mapped arrays, None when there is none."""
    try:
        blob = np.memmap(entry, np.uint8, "r")
        prefix = len(MAGIC) + 8
        if bytes(blob[: len(MAGIC)]) != MAGIC:
            return None
        length = int.from_bytes(bytes(blob[len(MAGIC) : prefix]), "little")
        head = json.loads(bytes(blob[prefix : prefix + length]))
        start = -(-(prefix + length) // _ALIGN) * _ALIGN
        if len(blob) != start + head["size"]:
            return None
    except (OSError, ValueError, KeyError):
        return None
    raw = memoryview(blob)  # type: ignore[arg-type]

    def get(spec: list[Any]) -> np.ndarray[Any, Any]:
        offset, dtype, shape = spec
        return np.frombuffer(raw, dtype, math.prod(shape), start + offset).reshape(shape)

    tracks: dict[str, Track] = {}
    for item in head["tracks"]:
        kind = getattr(arrays, item.pop(""))
        values: dict[str, Any] = {}
        for key, value in item.items():
            if isinstance(value, dict):
                if "a" in value:
                    value = get(value["a"])
                elif "n" in value:
                    value = {name: get(spec) for name, spec in value["n"].items()}
                else:
                    value = tuple(EpisodeInfo(**info) for info in value["i"])
            elif isinstance(value, list):
                value = tuple(value)
            values[key] = value
        track = kind(**values)
        tracks[track.topic] = track
    return Episode(path, content, tracks, tuple(head["remarks"]))
