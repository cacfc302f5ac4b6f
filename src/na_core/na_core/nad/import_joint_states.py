# SPDX-License-Identifier: Apache-2.0
"""Imports a plain rosbag2 with sensor_msgs/JointState as a NAD episode."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from na_core.nad.errors import BagFormatError
from na_core.nad.import_common import JOINT_STATE, joint_rows, write_episode
from na_core.nad.layout import FOLLOWER_JOINT_STATES, EpisodeInfo
from na_core.nad.reader import load_episode


def import_joint_states(
    source: Path, output: Path, info: EpisodeInfo, topic: str = "", time_base: str = "header"
) -> Path:
    """Write the JointState topic of `source` as /follower/joint_states of a new episode.

    `topic` may be empty when the bag has only one. Units are taken as they are (SI in ROS); the
    time base gives both stamps. Raises BagFormatError when there is no such topic.
    """
    episode = load_episode(source, time_base=time_base, use_cache=False)
    tracks = episode.joint_states
    if topic:
        if topic not in tracks:
            known = ", ".join(tracks) or "none"
            raise BagFormatError(source, f"has no JointState topic {topic}; it has {known}")
        track = tracks[topic]
    elif len(tracks) == 1:
        track = next(iter(tracks.values()))
    else:
        raise BagFormatError(
            source, f"has {len(tracks)} JointState topics ({', '.join(tracks)}); name one"
        )
    columns = {
        name: values if np.isfinite(values).any() else None
        for name, values in (
            ("position", track.position),
            ("velocity", track.velocity),
            ("effort", track.effort),
        )
    }
    time = track.time_ns
    rate = (len(time) - 1) / max(1e-9, (time[-1] - time[0]) * 1e-9) if len(time) > 1 else 0.0
    description = replace(info, episode=info.episode or output.name, control_rate=round(rate, 3))
    data = joint_rows(JOINT_STATE, track.names, time, **columns)
    topics = [(FOLLOWER_JOINT_STATES, JOINT_STATE, time, data)]
    return write_episode(output, description, topics, f"{source.name} {track.topic}")
