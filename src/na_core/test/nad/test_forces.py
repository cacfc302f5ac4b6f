# SPDX-License-Identifier: Apache-2.0
"""Labelled force at given times: payloads hold, the sensor is averaged around the tick."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from na_core.nad.example import label_cdr
from na_core.nad.forces import labelled_force
from na_core.nad.layout import FT_WRENCH, LABEL, LABEL_SOURCES
from na_core.nad.reader import read_episode
from na_core.nad.typestore import encode, nad_typestore, stamp
from na_core.nad.writer import EpisodeWriter

START = 1_790_000_000_000_000_000
WRENCH = "geometry_msgs/msg/WrenchStamped"
SECOND = 1_000_000_000


def _label(time: int, **values: Any) -> bytes:
    header = {"stamp": stamp(time), "frame_id": "ft_frame"}
    return encode(nad_typestore(), "na_msgs/msg/ForceLabel", {"header": header, **values})


def _episode(path: Path, labels: list[tuple[int, bytes]], wrench_until: float = 0.0) -> Any:
    with EpisodeWriter(path) as writer:
        writer.add_topic(LABEL, "na_msgs/msg/ForceLabel")
        writer.add_topic(FT_WRENCH, WRENCH)
        for time, cdr in labels:
            writer.write(LABEL, time, cdr)
        for i in range(round(wrench_until * 100)):
            time = START + i * SECOND // 100
            values = {
                "header": {"stamp": stamp(time), "frame_id": "ft_frame"},
                "wrench": {"force": {"x": float(i)}},
            }
            writer.write(FT_WRENCH, time, encode(nad_typestore(), WRENCH, values))
    return read_episode(path)


def test_labels_hold_until_the_next_one(tmp_path: Path) -> None:
    labels = [
        (START, label_cdr(0.2, START)),
        (START + SECOND, label_cdr(0.5, START + SECOND)),
        (START + 2 * SECOND, _label(START + 2 * SECOND, source=0, valid=False)),
    ]
    times = START + np.array([-1, 0, SECOND - 1, SECOND, 3 * SECOND])
    known = labelled_force(_episode(tmp_path / "e", labels), times, 0.017)
    assert known.valid.tolist() == [False, True, True, True, False]
    np.testing.assert_allclose(known.force[1:4, 2], [-1.96133, -1.96133, -4.903325])
    assert np.isnan(known.force[[0, 4]]).all()
    assert known.frames == ("link1",)


def test_sensor_label_is_the_mean_of_the_samples_around(tmp_path: Path) -> None:
    sensor = LABEL_SOURCES["ft_sensor"]
    labels = [(START, _label(START, source=sensor, valid=True))]
    episode = _episode(tmp_path / "e", labels, wrench_until=1.0)
    times = START + np.array([20_000_000, 505_000_000, 990_000_000, 1_050_000_000])
    known = labelled_force(episode, times, 0.02)
    assert known.valid.tolist() == [True, True, True, False]
    np.testing.assert_allclose(known.force[:3, 0], [2.0, 50.5, 98.5 + 1 / 6])
    assert known.frames == ("ft_frame",)


def test_no_labels_means_nothing_is_known(tmp_path: Path) -> None:
    known = labelled_force(_episode(tmp_path / "e", [], wrench_until=0.1), np.array([START]), 0.017)
    assert not known.valid.any() and np.isnan(known.force).all() and known.frames == ()
