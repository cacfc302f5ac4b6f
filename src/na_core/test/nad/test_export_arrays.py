# SPDX-License-Identifier: Apache-2.0
"""Exports to .npz and CSV keep every number and every gap."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from na_core.nad.example import Example, write_example
from na_core.nad.export_arrays import export_csv, export_npz
from na_core.nad.reader import read_episode


def test_npz_holds_every_array_without_pickle(tmp_path: Path) -> None:
    episode = read_episode(write_example(tmp_path / "e", Example(seconds=1, label_mass=0.2)))
    with np.load(export_npz(episode, tmp_path / "e.npz"), allow_pickle=False) as data:
        track = episode.follower
        assert track is not None
        np.testing.assert_array_equal(data["follower/telemetry/position"], track.position)
        assert data["follower/telemetry/names"].tolist() == list(track.names)
        assert data["nad/label/mass"].tolist() == [0.2]
        assert json.loads(str(data["info"]))["task"] == "example"
    with pytest.raises(FileExistsError):
        export_npz(episode, tmp_path / "e.npz")


def test_csv_has_one_column_per_number_and_empty_where_unmeasured(tmp_path: Path) -> None:
    episode = read_episode(write_example(tmp_path / "e", Example(seconds=1)))
    files = {path.name: path for path in export_csv(episode, tmp_path / "csv")}
    with files["follower_telemetry.csv"].open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    track = episode.follower
    assert track is not None and len(rows) == 60
    assert float(rows[7]["position.joint2"]) == track.position[7, 1]
    assert int(rows[7]["stamp_ns"]) == track.stamp_ns[7]
    assert rows[7]["load.joint2"] == "" and rows[7]["stale"] == "0"
