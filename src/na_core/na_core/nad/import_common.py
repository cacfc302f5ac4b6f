# SPDX-License-Identifier: Apache-2.0
"""Writes foreign recordings as NAD episodes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from na_core.nad.cdr_rows import MessageTemplate
from na_core.nad.layout import EPISODE, LATCHED, TOPICS_BY_NAME, EpisodeInfo
from na_core.nad.timeline import Int
from na_core.nad.typestore import encode_episode_info, nad_typestore
from na_core.nad.writer import EpisodeWriter

JOINT_STATE = "sensor_msgs/msg/JointState"
JOINT_GOAL = "na_msgs/msg/JointGoal"


def joint_rows(
    type_name: str, names: Sequence[str], stamp_ns: Int, **columns: NDArray[np.float64] | None
) -> list[bytes]:
    """Serialise joint messages: columns (N, J) by field name, None where a field is not given."""
    given = {key: value for key, value in columns.items() if value is not None}
    prototype = {
        "header": {"frame_id": ""},
        "name": list(names),
        **{key: [0.0] * len(names) for key in given},
    }
    template = MessageTemplate(nad_typestore(), type_name, prototype)
    return template.rows(len(stamp_ns), stamp_ns=stamp_ns, **given)


def write_episode(
    path: Path,
    info: EpisodeInfo,
    topics: Sequence[tuple[str, str, Int, list[bytes]]],
    origin: str,
) -> Path:
    """Write one episode from (topic, type, log times [ns], CDR) columns, merged by time."""
    store = nad_typestore()
    merged = sorted(
        (int(time), number, cdr)
        for number, (_, _, times, data) in enumerate(topics)
        for time, cdr in zip(times, data, strict=True)
    )
    start = merged[0][0] if merged else 0
    with EpisodeWriter(path, custom_data={"imported_from": origin}) as writer:
        writer.add_topic(EPISODE, "na_msgs/msg/EpisodeInfo", [LATCHED])
        for name, type_name, _, _ in topics:
            spec = TOPICS_BY_NAME.get(name)
            writer.add_topic(name, type_name, [spec.qos] if spec else [])
        writer.write(EPISODE, start, encode_episode_info(store, info, start))
        for time, number, cdr in merged:
            writer.write(topics[number][0], time, cdr)
        counts = writer.counts
        info.topic = [name for name, _, _, _ in topics]
        info.written = [counts[name] for name in info.topic]
        info.missed = [0] * len(info.topic)
        last = merged[-1][0] if merged else start
        writer.write(EPISODE, last, encode_episode_info(store, info, last))
    return path
