# SPDX-License-Identifier: Apache-2.0
"""The validator refuses what training would refuse, and nothing else."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from na_core.nad.checks import OK, REFUSE, WARN, Limits
from na_core.nad.example import JOINTS, Example, label_cdr, telemetry_template, write_example
from na_core.nad.layout import (
    EPISODE,
    FOLLOWER_TELEMETRY,
    LABEL,
    TOPICS_BY_NAME,
    EpisodeInfo,
)
from na_core.nad.typestore import encode, encode_episode_info, nad_typestore
from na_core.nad.validate import Report, validate
from na_core.nad.writer import EpisodeWriter

LABELLED: dict[str, Any] = {"category": "force_labelled", "payload": 0.2, "label_mass": 0.2}


def _check(tmp_path: Path, **options: Any) -> Report:
    return validate(write_example(tmp_path / "episode", Example(seconds=5, **options)))


def _level(report: Report, rule: str) -> str:
    order = [OK, "note", WARN, REFUSE]
    levels = [check.level for check in report.checks if check.rule == rule]
    return max(levels, key=order.index) if levels else ""


@pytest.mark.parametrize("options", [{}, LABELLED])
def test_good(tmp_path: Path, options: dict[str, Any]) -> None:
    report = _check(tmp_path, **options)
    assert report.verdict == "good", report.to_text()


@pytest.mark.parametrize(
    ("options", "rule", "words"),
    [
        ({"stale": tuple(range(50, 80))}, "stale", r"10\.00% of the ticks are stale"),
        ({"dropped": tuple(range(50, 130))}, "gaps", r"1 gaps, the longest 1\.3\d s"),
        ({"dropped": tuple(range(50, 130))}, "drops", r"80 missed by sequence"),
        ({"dropped": tuple(range(0, 300, 60))}, "drops", r"4 missed by sequence \(1\.3"),
        ({"dropped": tuple(range(0, 300, 3))}, "gaps", ""),
        ({**LABELLED, "label_mass": 0.5}, "labels", r"payload is 0\.2 kg, the labels say 0\.5"),
        ({**LABELLED, "label_mass": None}, "labels", r"0\.0% of the ticks have a valid"),
        ({"payload": 0.0, "label_mass": 0.3}, "labels", "free_motion, yet a label states a force"),
        ({"category": "dance"}, "description", "category 'dance' is unknown; expected one of"),
        ({"category": "condition"}, "description", "must name its variant"),
        ({"seconds": 1}, "gaps", "no segment of 73 ticks"),
        ({"extra": {"control_rate": 50.0}}, "rate", r"60\.00 Hz, control rate 50\.00 Hz, off"),
        ({"extra": {"robot": ""}}, "description", "robot is empty"),
    ],
)
def test_refused(tmp_path: Path, options: dict[str, Any], rule: str, words: str) -> None:
    options = {"seconds": 5, **options}
    report = validate(write_example(tmp_path / "episode", Example(**options)))
    if not words:
        assert report.verdict != "good"
        return
    assert report.verdict == "refused", report.to_text()
    assert re.search(words, report.to_text()), report.to_text()
    assert _level(report, rule) == REFUSE


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"stale": (40,)}, "stale"),
        ({"dropped": (40,)}, "drops"),
        ({"dropped": (40, 41)}, "gaps"),
        ({"category": ""}, "description"),
        ({"payload": 0.2}, "labels"),
        ({"extra": {"written": []}}, ""),
    ],
)
def test_warned_but_not_refused(tmp_path: Path, options: dict[str, Any], rule: str) -> None:
    report = _check(tmp_path, **options)
    if rule:
        assert report.verdict == "warnings", report.to_text()
        assert _level(report, rule) == WARN


def _handmade(
    path: Path,
    stamps: np.ndarray[Any, Any],
    *,
    label: bytes | None = None,
    position: Any = 0.0,
    **info: Any,
) -> Path:
    count = len(stamps)
    rows = telemetry_template("follower", JOINTS).rows(
        count, stamp_ns=stamps, sequence=np.arange(count), position=position
    )
    values = {"robot": "omx", "category": "force_labelled", **info}
    start = 1_790_000_000_000_000_000
    with EpisodeWriter(path) as writer:
        for name in (EPISODE, FOLLOWER_TELEMETRY, LABEL):
            writer.add_topic(name, TOPICS_BY_NAME[name].type)
        described = encode_episode_info(nad_typestore(), EpisodeInfo(**values), start)
        writer.write(EPISODE, start, described)
        if label is not None:
            writer.write(LABEL, start, label)
        for i, row in enumerate(rows):
            writer.write(FOLLOWER_TELEMETRY, start + i * 16_666_667, row)
    return path


STAMPS = 1_790_000_000_000_000_000 + np.arange(300) * 16_666_667


def test_wrong_sign_of_a_payload_is_explained(tmp_path: Path) -> None:
    label = label_cdr(0.2, int(STAMPS[0]), force_z=+0.2 * 9.80665)
    report = validate(_handmade(tmp_path / "e", STAMPS, label=label, payload=0.2))
    assert report.verdict == "refused"
    assert "0.2 kg should read [0.0, 0.0, -1.96] N" in report.to_text()
    assert "the sign is that of the arm on the payload" in report.to_text()


def test_label_that_refers_to_a_missing_sensor(tmp_path: Path) -> None:
    values = {"source": 2, "header": {"frame_id": "link1"}, "valid": True}
    label = encode(nad_typestore(), "na_msgs/msg/ForceLabel", values)
    report = validate(_handmade(tmp_path / "e", STAMPS, label=label))
    assert "labels refer to a force sensor, no wrench was recorded" in report.to_text()


def test_clock_jump_is_a_warning_and_splits(tmp_path: Path) -> None:
    stamps = STAMPS.copy()
    stamps[150:] -= 10_000_000_000
    label = label_cdr(0.0, int(stamps.min()))
    report = validate(_handmade(tmp_path / "e", stamps, label=label))
    assert _level(report, "clock") == WARN
    assert "1 clock jumps, 1 steps back in time; the episode is split there" in report.to_text()


def test_nan_positions_are_refused(tmp_path: Path) -> None:
    position = np.zeros((300, 5))
    position[:30, 1] = np.nan
    report = validate(_handmade(tmp_path / "e", STAMPS, position=position))
    assert _level(report, "nan") == REFUSE
    assert "position 2.0%" in report.to_text()


def test_missing_topic_and_foreign_type(tmp_path: Path) -> None:
    with EpisodeWriter(tmp_path / "e") as writer:
        writer.add_topic(FOLLOWER_TELEMETRY, "sensor_msgs/msg/JointState")
        row = encode(nad_typestore(), "sensor_msgs/msg/JointState", {"name": ["a"]})
        writer.write(FOLLOWER_TELEMETRY, 5, row)
    text = validate(tmp_path / "e").to_text()
    assert f"no message on {EPISODE}" in text
    expected = "sensor_msgs/msg/JointState, expected na_msgs/msg/ActuatorTelemetry"
    assert f"{FOLLOWER_TELEMETRY} is {expected}" in text


def test_metadata_that_disagrees_is_a_warning(tmp_path: Path) -> None:
    path = write_example(tmp_path / "episode", Example(seconds=5))
    file = path / "metadata.yaml"
    file.write_text(file.read_text().replace("  message_count: 1202\n", "  message_count: 7\n", 1))
    report = validate(path)
    assert "metadata.yaml says 7 messages, the file holds 1202" in report.to_text()


@pytest.mark.parametrize("damage", ["empty", "cut", "none", "ros1"])
def test_unreadable_is_refused_and_never_raises(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "episode"
    if damage != "none":
        file = write_example(path, Example(seconds=1)) / "episode_0.mcap"
        content = file.read_bytes()
        changed = {"empty": b"", "cut": content[:-50], "ros1": b"#ROSBAG V2.0\n"}
        file.write_bytes(changed[damage])
    report = validate(path)
    assert report.verdict == "refused"
    assert [check.rule for check in report.checks] == ["readable"]
    assert str(path) in report.checks[0].text


def test_json_has_figures_for_every_finding(tmp_path: Path) -> None:
    content = json.loads(json.dumps(_check(tmp_path, dropped=(40,)).to_dict()))
    drops = [c for c in content["checks"] if c["rule"] == "drops"]
    assert drops[0]["figures"]["missed"] == 1
    assert content["verdict"] == "warnings"


def test_limits_can_be_changed(tmp_path: Path) -> None:
    path = write_example(tmp_path / "episode", Example(seconds=5, stale=tuple(range(50, 80))))
    assert validate(path, Limits(max_stale=0.2)).verdict == "warnings"
