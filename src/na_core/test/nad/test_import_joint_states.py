# SPDX-License-Identifier: Apache-2.0
"""Plain JointState bags become NAD episodes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from na_core.nad.errors import BagFormatError
from na_core.nad.example import Example, write_example
from na_core.nad.import_joint_states import import_joint_states
from na_core.nad.layout import FOLLOWER_JOINT_STATES, LEADER_JOINT_STATES, EpisodeInfo
from na_core.nad.reader import read_episode
from na_core.testing import shared_data

INFO = EpisodeInfo(robot="panda", source="hardware", payload=float("nan"))


def test_values_and_times_are_kept(tmp_path: Path) -> None:
    data = shared_data()
    if data is None:
        pytest.skip("no shared data folder")
    source = data / "unisa-rosbag2/ur10_exciting_trajectory.db3"
    episode = read_episode(import_joint_states(source, tmp_path / "ur10", INFO))
    old, new = read_episode(source).primary(), episode.joint_states[FOLLOWER_JOINT_STATES]
    assert old is not None and old.names == new.names
    np.testing.assert_array_equal(old.position, new.position)
    np.testing.assert_array_equal(old.stamp_ns, new.stamp_ns)
    assert episode.info.control_rate == pytest.approx(125.0)
    assert (episode.info.robot, episode.info.episode) == ("panda", "ur10")


def test_several_topics_need_a_name(tmp_path: Path) -> None:
    source = write_example(tmp_path / "source", Example(seconds=1))
    with pytest.raises(BagFormatError, match=r"has 2 JointState topics \(.*\); name one"):
        import_joint_states(source, tmp_path / "x", INFO)
    with pytest.raises(BagFormatError, match="has no JointState topic /other; it has"):
        import_joint_states(source, tmp_path / "x", INFO, topic="/other")
    path = import_joint_states(source, tmp_path / "x", INFO, topic=LEADER_JOINT_STATES)
    track = read_episode(path).joint_states[FOLLOWER_JOINT_STATES]
    assert len(track) == 60 and np.isnan(track.effort).all()
