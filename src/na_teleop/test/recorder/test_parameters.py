# SPDX-License-Identifier: Apache-2.0
"""Parameters become settings; each bad value is refused with what was expected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from na_core.nad.layout import EPISODE, FOLLOWER_TELEMETRY, TOPICS
from na_teleop.recorder.parameters import (
    PARAMETERS,
    config_from,
    defaults_from,
    refuse,
    topic_specs,
)

VALUES = {parameter.name: parameter.default for parameter in PARAMETERS}


def test_defaults_are_allowed_and_described() -> None:
    for parameter in PARAMETERS:
        assert refuse(parameter.name, parameter.default) == ""
        assert parameter.description.endswith((".", "]", "task"))


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("flush_period", 5.0, "flush_period = 5.0: expected 0.05 to 1"),
        ("auto_episodes", -1, "expected 0 to 100000"),
        ("category", "dance", "category = 'dance': expected one of free_motion"),
        ("source", "dream", "expected 'emulated' or 'hardware'"),
        ("payload", -0.1, "payload = -0.1 kg: expected 0 or more"),
        ("topics", ["/camera/info"], "'/camera/info' is not part of the NAD layout; give its type"),
    ],
)
def test_refusals(name: str, value: Any, words: str) -> None:
    assert words in refuse(name, value)


def test_topics_by_name_with_type_and_description_always() -> None:
    assert topic_specs([""]) == TOPICS
    specs = topic_specs(["follower/telemetry", "/camera/info sensor_msgs/CameraInfo"])
    assert [spec.name for spec in specs] == [FOLLOWER_TELEMETRY, "/camera/info", EPISODE]
    assert specs[1].type == "sensor_msgs/msg/CameraInfo"


def test_settings() -> None:
    config = config_from({**VALUES, "out_dir": "/x", "disk_reserve_mb": 2.0, "split_mb": 3.0})
    assert (config.out_dir, config.reserve_bytes, config.split_bytes) == (
        Path("/x"),
        2_000_000,
        3_000_000,
    )
    info = defaults_from({**VALUES, "task": "push", "payload": 0.4}, "v1")
    assert (info.task, info.payload, info.robot, info.software_version) == (
        "push",
        0.4,
        "omx",
        "v1",
    )


def test_extra_topics_stand_beside_the_layout_once() -> None:
    truth = "/sim/follower/truth na_msgs/msg/PlantTruth"
    config = config_from({**VALUES, "extra_topics": [truth, "/follower/telemetry"]})
    names = [spec.name for spec in config.topics]
    assert names == [*(spec.name for spec in TOPICS), "/sim/follower/truth"]
