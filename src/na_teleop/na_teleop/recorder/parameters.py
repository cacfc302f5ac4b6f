# SPDX-License-Identifier: Apache-2.0
"""Parameters of the recorder node: defaults, descriptions, ranges and how they become settings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from na_core.nad import layout
from na_core.nad.layout import CATEGORIES, EpisodeInfo, TopicSpec
from na_teleop.arm_calibration import PairCalibration
from na_teleop.recorder.session import RELABELS, RecorderConfig

_TOPIC_AND_TYPE = re.compile(r"(/?[A-Za-z0-9_/~]+)\s+([A-Za-z0-9_]+/(?:msg/)?[A-Za-z0-9_]+)")


@dataclass(frozen=True)
class Parameter:
    """One parameter: default, description and, for numbers, the closed range allowed."""

    name: str
    default: Any
    description: str
    low: float | None = None
    high: float | None = None


PARAMETERS: tuple[Parameter, ...] = (
    Parameter("out_dir", "bags", "Directory that receives one directory per episode."),
    Parameter("robot", "omx", "Robot name, as in its YAML; part of automatic episode names."),
    Parameter(
        "topics",
        [""],
        "Topics to record; empty: all topics of the NAD layout. A topic outside the layout is "
        "given as 'topic package/msg/Type'.",
    ),
    Parameter(
        "extra_topics",
        [""],
        "Topics to record beside those, each given as 'topic package/msg/Type'.",
    ),
    Parameter(
        "expected_topics",
        [layout.FOLLOWER_TELEMETRY, layout.LEADER_TELEMETRY],
        "Topics whose absence during an episode is reported.",
    ),
    Parameter("missing_after", 1.5, "Silence after which a topic is reported [s].", 0.1, 60.0),
    Parameter("auto_start", False, "Start an episode as soon as an expected topic delivers."),
    Parameter("auto_episodes", 0, "Auto mode: number of episodes; 0 switches it off.", 0, 100000),
    Parameter("auto_length", 30.0, "Auto mode: length of an episode [s].", 0.1, 36000.0),
    Parameter("auto_reset", 10.0, "Auto mode: time between episodes [s].", 0.0, 36000.0),
    Parameter("disk_reserve_mb", 1000.0, "Free space never used [MB]; 0: no check.", 0.0, 1e9),
    Parameter("split_mb", 4000.0, "Size at which a new file begins [MB]; 0: never.", 0.0, 1e9),
    Parameter("flush_period", 0.25, "A chunk reaches the file at least this often [s].", 0.05, 1.0),
    Parameter("source", "emulated", "'emulated' or 'hardware'."),
    Parameter("calibration_hash", "", "SHA-256 (hex) of the calibration in force."),
    Parameter("calibration", "", "Calibration file of the follower; its hash is recorded."),
    Parameter("leader_calibration", "", "Calibration file of the leader; checked against it."),
    Parameter("task", "", "Task of the episodes; a change relabels a running episode."),
    Parameter("category", "", f"One of {', '.join(CATEGORIES)}, or empty; see task."),
    Parameter("variant", "", "Variant of the task; see task."),
    Parameter("payload", 0.0, "Mass held by the gripper [kg], NaN when unknown; see task."),
    Parameter("pair_id", "", "Shared by a contact trial and its no-contact repeat; see task."),
    Parameter("split_group", "", "Never split between training and test; see task."),
    Parameter("operator_notes", "", "Free text; see task."),
)

BY_NAME: Mapping[str, Parameter] = {parameter.name: parameter for parameter in PARAMETERS}

CHANGEABLE = frozenset(RELABELS)
"""Parameters that may change while the node runs."""


def refuse(name: str, value: Any) -> str:
    """Return why `name` may not take `value` ("" when it may)."""
    parameter = BY_NAME.get(name)
    if parameter is None:
        return ""
    low, high = parameter.low, parameter.high
    if low is not None and high is not None and not low <= float(value) <= high:
        return f"{name} = {value}: expected {low:g} to {high:g}"
    if name == "category" and value and value not in CATEGORIES:
        return f"category = {value!r}: expected one of {', '.join(CATEGORIES)}, or empty"
    if name == "source" and value not in ("emulated", "hardware"):
        return f"source = {value!r}: expected 'emulated' or 'hardware'"
    if name == "payload" and float(value) < 0.0:
        return f"payload = {value} kg: expected 0 or more, or NaN when unknown"
    if name in ("topics", "extra_topics"):
        try:
            topic_specs(value)
        except ValueError as error:
            return str(error)
    return ""


def topic_specs(names: Sequence[str]) -> tuple[TopicSpec, ...]:
    """Return the topics to record; ValueError names an entry that is neither known nor typed."""
    wanted = [name.strip() for name in names if name.strip()]
    if not wanted:
        return layout.TOPICS
    specs = []
    for entry in wanted:
        match = _TOPIC_AND_TYPE.fullmatch(entry)
        name = "/" + (match.group(1) if match else entry).lstrip("/")
        if match:
            package, *_, short = match.group(2).split("/")
            specs.append(TopicSpec(name, f"{package}/msg/{short}"))
        elif name in layout.TOPICS_BY_NAME:
            specs.append(layout.TOPICS_BY_NAME[name])
        else:
            raise ValueError(
                f"topics: {entry!r} is not part of the NAD layout; give its type too, as in "
                "'/camera/info sensor_msgs/msg/CameraInfo'"
            )
    if layout.EPISODE not in {spec.name for spec in specs}:
        specs.append(layout.TOPICS_BY_NAME[layout.EPISODE])
    return tuple(specs)


def _with_extra(specs: tuple[TopicSpec, ...], names: Sequence[str]) -> tuple[TopicSpec, ...]:
    """The topics of `specs` and, behind them, those of `names` that are not among them."""
    if not any(name.strip() for name in names):
        return specs
    known = {spec.name for spec in specs}
    return specs + tuple(spec for spec in topic_specs(names) if spec.name not in known)


def config_from(values: Mapping[str, Any]) -> RecorderConfig:
    """Build the recorder's settings from parameter values by name."""
    return RecorderConfig(
        out_dir=Path(values["out_dir"]).expanduser(),
        topics=_with_extra(topic_specs(values["topics"]), values["extra_topics"]),
        expected=tuple(name for name in values["expected_topics"] if name),
        patience=float(values["missing_after"]),
        reserve_bytes=int(values["disk_reserve_mb"] * 1e6),
        split_bytes=int(values["split_mb"] * 1e6),
        flush_period=float(values["flush_period"]),
    )


def _calibration_hash(values: Mapping[str, Any]) -> str:
    """Hash of the follower's calibration; CalibrationError when files and hash do not agree."""
    given = str(values["calibration_hash"])
    pair = PairCalibration(values.get("leader_calibration", ""), values.get("calibration", ""))
    if pair == PairCalibration():
        return given
    return pair.recorded_hash(values["robot"], given)


def defaults_from(values: Mapping[str, Any], software_version: str) -> EpisodeInfo:
    """Build the default episode description from parameter values by name."""
    labels = {name: values[name] for name in RELABELS}
    return EpisodeInfo(
        robot=values["robot"],
        source=values["source"],
        calibration_hash=_calibration_hash(values),
        software_version=software_version,
        **labels,
    )
