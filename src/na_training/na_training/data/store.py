# SPDX-License-Identifier: Apache-2.0
"""Feature vectors and labels of many episodes in flat arrays, and their sampling."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from na_core.features import FeatureSet, Ticks
from na_training.data.episode import DataError, Episode

Float32 = NDArray[np.float32]
Int = NDArray[np.int64]

GROUP = 32
"""Recordings that are replayed side by side."""
_ARRAYS = ("features", "force", "contact", "restricted")


@dataclass(frozen=True)
class Run:
    """Consecutive ticks [start, stop) of one episode in the flat arrays."""

    episode: int
    start: int
    stop: int
    category: str
    task: str = ""

    def kind(self, weights: Mapping[str, float]) -> str:
        """What it is drawn as: "category/task" where that has a weight of its own, or category."""
        name = f"{self.category}/{self.task}"
        return name if name in weights else self.category

    @property
    def length(self) -> int:
        """Number of ticks."""
        return self.stop - self.start


@dataclass(frozen=True)
class Store:
    """Everything training reads; N ticks.

    Attributes:
        features: in their own units (N, F).
        force: label (N, 3) [N], NaN unknown.
        contact: 1, 0 or NaN (N,).
        restricted: 1, 0 or NaN (N, n).
        runs: consecutive ticks without a gap.
        folder: where the arrays lie when they are mapped from files.
    """

    features: Float32
    force: Float32
    contact: Float32
    restricted: Float32
    runs: tuple[Run, ...]
    folder: Path | None = None

    def __len__(self) -> int:
        return len(self.features)

    def sampler(self, length: int, weights: dict[str, float] | None = None) -> SegmentSampler:
        """A sampler of pieces of `length` ticks."""
        return SegmentSampler(self.runs, length, weights or {})


def build_store(
    episodes: Sequence[Episode], features: FeatureSet, folder: Path | None = None
) -> Store:
    """Compute the features of all episodes; see `join_stores`."""
    return join_stores([(episodes, features)], folder)


def join_stores(
    parts: Sequence[tuple[Sequence[Episode], FeatureSet]], folder: Path | None = None
) -> Store:
    """Compute the features of episodes, each part by its own transform, into one store.

    Args:
        parts: episodes and their transform, whose memory starts anew in every run of consecutive
            ticks. Transforms differ in constants alone.
        folder: keep the arrays in files below it and map them, so that more than fits into memory
            can be used, and nothing is computed twice.

    Raises:
        DataError: there is no usable tick, or a feature is not finite.
    """
    episodes = [episode for part, _ in parts for episode in part]
    transform = parts[0][1]
    runs: list[Run] = []
    total = 0
    for index, episode in enumerate(episodes):
        for start, stop in episode.segments:
            end = total + int(stop - start)
            runs.append(Run(index, total, end, episode.category, episode.task))
            total = end
    if total == 0:
        raise DataError(f"{len(episodes)} episodes hold no usable tick")
    n = episodes[0].ticks.shape[1]
    shapes = {
        "features": (total, transform.size),
        "force": (total, 3),
        "contact": (total,),
        "restricted": (total, n),
    }
    place = None
    if folder is not None:
        place = folder / _key(parts)
        if (place / "done").exists():
            maps = {name: np.load(place / f"{name}.npy", mmap_mode="r") for name in _ARRAYS}
            return Store(**maps, runs=tuple(runs), folder=place)
        place.mkdir(parents=True, exist_ok=True)
    arrays = {name: _allocate(place, name, shape) for name, shape in shapes.items()}
    spans = [(episode, a, b) for episode in episodes for a, b in episode.segments]
    for run, (episode, start, stop) in zip(runs, spans, strict=True):
        rows = slice(run.start, run.stop)
        arrays["force"][rows] = episode.force[start:stop]
        arrays["contact"][rows] = episode.contact[start:stop]
        arrays["restricted"][rows] = episode.restricted
    first = 0
    for part, features in parts:
        count = sum(len(episode.segments) for episode in part)
        _fill(
            arrays["features"], runs[first : first + count], spans[first : first + count], features
        )
        first += count
    if place is not None:
        (place / "done").touch()
    return Store(**arrays, runs=tuple(runs), folder=place)


def _fill(
    out: Float32,
    runs: Sequence[Run],
    spans: Sequence[tuple[Episode, int, int]],
    features: FeatureSet,
) -> None:
    """Compute the features of `spans` into their rows of `out`."""
    for group, values in replay_groups([e.ticks[a:b] for e, a, b in spans], features):
        for index, rows_of_run in zip(group, values, strict=True):
            if not np.isfinite(rows_of_run).all():
                bad = np.flatnonzero(~np.isfinite(rows_of_run).all(axis=0))
                raise DataError(
                    f"episode {spans[index][0].name}: feature {features.names[bad[0]]} is not "
                    "finite; a channel that the servo does not report cannot be trained on"
                )
            out[runs[index].start : runs[index].stop] = rows_of_run


def replay_groups(
    pieces: Sequence[Ticks], features: FeatureSet
) -> Iterator[tuple[list[int], list[NDArray[np.float64]]]]:
    """Replay many recordings, those of similar length side by side, which is much faster.

    Yields:
        indices into `pieces` and their features (T, F).
    """
    order = sorted(range(len(pieces)), key=lambda index: pieces[index].shape[0])
    for first in range(0, len(order), GROUP):
        group = order[first : first + GROUP]
        longest = pieces[group[-1]].shape[0]
        # Repeating the last tick fills up shorter ones; what follows their end is cut away.
        index = [np.minimum(np.arange(longest), pieces[i].shape[0] - 1) for i in group]
        stacked = Ticks(
            *(
                np.stack(
                    [getattr(pieces[i], f.name)[at] for i, at in zip(group, index, strict=True)], 1
                )
                for f in fields(Ticks)
            )
        )
        values = features.replay(stacked)
        yield group, [values[: pieces[i].shape[0], row] for row, i in enumerate(group)]


def _allocate(place: Path | None, name: str, shape: tuple[int, ...]) -> Float32:
    if place is None:
        return np.empty(shape, dtype=np.float32)
    path = str(place / f"{name}.npy")
    return np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=shape)


def _key(parts: Sequence[tuple[Sequence[Episode], FeatureSet]]) -> str:
    digest = hashlib.sha256()
    for episodes, features in parts:
        rule = json.dumps([features.rule(), features.names], sort_keys=True)
        digest.update(rule.encode())
        for episode in episodes:
            digest.update(episode.name.encode())
            for array in (
                episode.ticks.position,
                episode.ticks.current,
                episode.force,
                episode.contact,
            ):
                digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:24]


class SegmentSampler:
    """Draws pieces of consecutive ticks, categories in equal shares unless weighted.

    Args:
        runs: consecutive ticks.
        length: ticks per piece; shorter runs are left out.
        weights: relative share per category, or per "category/task", which is then drawn apart
            from the rest of its category; what is not named weighs 1.

    Raises:
        DataError: every run is shorter than `length`.
    """

    def __init__(self, runs: Sequence[Run], length: int, weights: dict[str, float]) -> None:
        self.length = length
        chosen = [run for run in runs if run.length >= length]
        if not chosen:
            longest = max((run.length for run in runs), default=0)
            raise DataError(
                f"no run of {length} consecutive ticks (longest: {longest}); record longer "
                "episodes or shorten the horizon"
            )
        self.categories = sorted({run.kind(weights) for run in chosen})
        share = np.array([max(weights.get(name, 1.0), 0.0) for name in self.categories])
        if share.sum() <= 0.0:
            raise DataError(f"category weights {weights} leave nothing of {self.categories}")
        self._edges = np.cumsum(share / share.sum())
        self._starts: list[Int] = []
        self._room: list[Int] = []
        for name in self.categories:
            mine = [run for run in chosen if run.kind(weights) == name]
            self._starts.append(np.array([run.start for run in mine]))
            self._room.append(np.cumsum([run.length - length + 1 for run in mine]))

    def draw(self, rng: np.random.Generator, batch: int) -> Int:
        """Return tick indices (batch, length); the same generator state gives the same pieces."""
        category = np.searchsorted(self._edges, rng.random(batch), side="right")
        category = np.minimum(category, len(self.categories) - 1)
        first = np.empty(batch, dtype=np.int64)
        for row in range(batch):
            room, starts = self._room[category[row]], self._starts[category[row]]
            place = int(rng.integers(room[-1]))
            run = int(np.searchsorted(room, place, side="right"))
            first[row] = starts[run] + place - (room[run - 1] if run else 0)
        return first[:, None] + np.arange(self.length)
