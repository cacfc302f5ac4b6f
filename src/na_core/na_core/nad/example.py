# SPDX-License-Identifier: Apache-2.0
"""Made-up episodes for tests, benches and manuals: smooth motion, count noise, no physics."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from na_core.nad.cdr_rows import MessageTemplate
from na_core.nad.layout import (
    EPISODE,
    FOLLOWER_JOINT_STATES,
    FOLLOWER_TELEMETRY,
    LABEL,
    LABEL_SOURCES,
    LEADER_JOINT_STATES,
    LEADER_TELEMETRY,
    TOPICS_BY_NAME,
    EpisodeInfo,
)
from na_core.nad.typestore import encode, encode_episode_info, nad_typestore, stamp
from na_core.nad.writer import EpisodeWriter

JOINTS = ("joint1", "joint2", "joint3", "joint4", "gripper_left_joint")
COUNT = 2.0 * np.pi / 4096.0
"""One encoder count [rad]."""

GRAVITY = 9.80665
START_NS = 1_790_000_000_000_000_000


@dataclass
class Example:
    """What a made-up episode contains; indices are ticks of the follower.

    `dropped` ticks are never written, `stale` ticks are marked stale with NaN positions; `payload`
    [kg] is in the description, `label_mass` [kg] (None: no label) in the label.
    """

    seconds: float = 10.0
    rate: float = 60.0
    category: str = "free_motion"
    task: str = "example"
    payload: float = 0.0
    label_mass: float | None = None
    dropped: tuple[int, ...] = ()
    stale: tuple[int, ...] = ()
    joints: tuple[str, ...] = JOINTS
    arms: tuple[str, ...] = ("follower", "leader")
    joint_states: bool = True
    seed: int = 1
    start_ns: int = START_NS
    extra: dict[str, Any] = field(default_factory=dict)


def telemetry_template(arm: str, joints: tuple[str, ...]) -> MessageTemplate:
    """Return the template of one arm's telemetry with every number zero."""
    zeros = [0.0] * len(joints)
    names = ("goal_requested", "goal_sent", "goal_register", "position", "velocity", "current")
    return MessageTemplate(
        nad_typestore(),
        "na_msgs/msg/ActuatorTelemetry",
        {
            "header": {"frame_id": "link1"},
            "arm": arm,
            "name": joints,
            **dict.fromkeys((*names, "load", "voltage", "temperature", "hardware_error"), zeros),
            "torque_enabled": True,
        },
    )


def motion(example: Example) -> dict[str, NDArray[Any]]:
    """Return arrays (N, J) of telemetry fields and the stamps (N,) [ns]."""
    rng = np.random.default_rng(example.seed)
    count, joints = round(example.seconds * example.rate), len(example.joints)
    time = np.arange(count) / example.rate
    phase = rng.uniform(0.0, 2.0 * np.pi, joints)
    speed = rng.uniform(0.5, 2.0, joints)
    goal = 0.5 * np.sin(speed * time[:, None] + phase)
    lag = 0.5 * np.sin(speed * (time[:, None] - 0.05) + phase)
    position = np.round(lag / COUNT) * COUNT
    jitter = rng.integers(-200_000, 200_000, count)
    current = (
        np.round((0.1 * np.cos(speed * time[:, None]) + rng.normal(0, 0.006, goal.shape)) / 0.00269)
        * 0.00269
    )
    return {
        "stamp_ns": example.start_ns + np.round(time * 1e9).astype(np.int64) + jitter,
        "goal_requested": goal,
        "goal_sent": goal,
        "goal_register": np.round(goal / COUNT) * COUNT,
        "position": position,
        "velocity": np.round(np.gradient(lag, 1.0 / example.rate, axis=0) / 0.02398) * 0.02398,
        "current": current,
        "load": np.full(goal.shape, np.nan),
        "voltage": 12.0 - np.round(rng.uniform(0.0, 0.2, goal.shape), 1),
        "temperature": np.full(goal.shape, 38.0),
        "sequence": np.arange(count),
        "control_period_us": np.full(count, round(1e6 / example.rate)),
    }


def messages(example: Example) -> Iterator[tuple[str, int, bytes]]:
    """Yield (topic, log time [ns], CDR) of the motion topics, in time order."""
    columns: list[tuple[str, NDArray[np.int64], list[bytes]]] = []
    for arm in example.arms:
        values = motion(example)
        stale = np.zeros(len(values["sequence"]), bool)
        if arm == "follower" and example.stale:
            stale[list(example.stale)] = True
            values["position"][stale] = np.nan
        telemetry, states = (
            (FOLLOWER_TELEMETRY, FOLLOWER_JOINT_STATES)
            if arm == "follower"
            else (LEADER_TELEMETRY, LEADER_JOINT_STATES)
        )
        log = values["stamp_ns"] + 500_000
        template = telemetry_template(arm, example.joints)
        rows = template.rows(len(log), stale=stale, **values)
        keep = np.ones(len(log), bool)
        if arm == "follower":
            keep[list(example.dropped)] = False
        kept = np.flatnonzero(keep)
        columns.append((telemetry, log[kept], [rows[i] for i in kept]))
        if example.joint_states:
            zeros = [0.0] * len(example.joints)
            joint = MessageTemplate(
                nad_typestore(),
                "sensor_msgs/msg/JointState",
                {"name": example.joints, "position": zeros, "velocity": zeros},
            )
            part = {key: values[key] for key in ("stamp_ns", "position", "velocity")}
            columns.append((states, log + 100_000, joint.rows(len(log), **part)))
    times = np.concatenate([log for _, log, _ in columns])
    topic = np.concatenate([np.full(len(log), i) for i, (_, log, _) in enumerate(columns)])
    row = np.concatenate([np.arange(len(log)) for _, log, _ in columns])
    for i in np.argsort(times, kind="stable"):
        name, log, rows = columns[topic[i]]
        yield name, int(log[row[i]]), rows[row[i]]


def label_cdr(mass: float, time_ns: int, force_z: float | None = None) -> bytes:
    """Return a PAYLOAD label of `mass` [kg] in base axes; `force_z` [N] overrides its force."""
    force = -mass * GRAVITY if force_z is None else force_z
    return encode(
        nad_typestore(),
        "na_msgs/msg/ForceLabel",
        {
            "header": {"stamp": stamp(time_ns), "frame_id": "link1"},
            "source": LABEL_SOURCES["payload"],
            "force": {"z": force},
            "mass": mass,
            "valid": True,
        },
    )


def write_example(path: Path, example: Example | None = None, **writer_options: Any) -> Path:
    """Write a made-up episode to `path`; options go to EpisodeWriter."""
    example = example or Example()
    info = EpisodeInfo(
        episode=path.name,
        robot="omx",
        task=example.task,
        category=example.category,
        payload=example.payload,
        control_rate=example.rate,
        software_version="example",
    )
    for key, value in example.extra.items():
        setattr(info, key, value)
    with EpisodeWriter(path, **writer_options) as writer:
        fill(writer, example, info)
    return path


def fill(writer: EpisodeWriter, example: Example, info: EpisodeInfo) -> None:
    """Write description, label, motion and final description into an open writer."""
    store = nad_typestore()

    def put(topic: str, time_ns: int, cdr: bytes) -> None:
        if topic not in writer.counts:
            spec = TOPICS_BY_NAME[topic]
            writer.add_topic(topic, spec.type, [spec.qos])
        writer.write(topic, time_ns, cdr)

    put(EPISODE, example.start_ns, encode_episode_info(store, info, example.start_ns))
    if example.label_mass is not None:
        put(LABEL, example.start_ns, label_cdr(example.label_mass, example.start_ns))
    last = example.start_ns
    for topic, last, cdr in messages(example):
        put(topic, last, cdr)
    counts = {name: count for name, count in writer.counts.items() if name != EPISODE}
    info.topic, info.written = list(counts), list(counts.values())
    info.missed = [len(example.dropped) * (name == FOLLOWER_TELEMETRY) for name in counts]
    put(EPISODE, last, encode_episode_info(store, info, last))
