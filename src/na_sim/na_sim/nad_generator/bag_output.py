# SPDX-License-Identifier: Apache-2.0
"""Writes recordings as NAD bags, with the writer that the live recorder uses."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from na_core.nad.arrays import PER_JOINT
from na_core.nad.cdr_rows import MessageTemplate
from na_core.nad.layout import (
    EPISODE,
    FOLLOWER_GOAL,
    FOLLOWER_JOINT_STATES,
    FOLLOWER_TELEMETRY,
    FT_WRENCH,
    LABEL,
    LEADER_JOINT_STATES,
    LEADER_TELEMETRY,
    TOPICS_BY_NAME,
    TRUTH_PREFIX,
    EpisodeInfo,
    Qos,
)
from na_core.nad.schemas import default_source, store_from_texts
from na_core.nad.typestore import NAD_TYPES, encode_episode_info
from na_core.nad.writer import EpisodeWriter
from na_sim.nad_generator.recording import Recording

if TYPE_CHECKING:
    from rosbags.typesys.store import Typestore

    from na_core.robot_spec import RobotSpec

TRUTH = TRUTH_PREFIX + "plant"
TRUTH_TYPE = "na_msgs/msg/PlantTruth"
SOFTWARE = "na_sim 0.1.0"
EPOCH_NS = 1_760_000_000_000_000_000  # stamp of the first generated episode
CONTACT_FORCE = 0.2  # N

Int = NDArray[np.int64]
Rows = list[tuple[int, str, bytes]]


@cache
def _store() -> Typestore:
    source = default_source()
    names = (*NAD_TYPES, TRUTH_TYPE)
    return store_from_texts((name, source.definition(name).text) for name in names)


def stated_payload(recording: Recording) -> float:
    """Payload [kg] that the description states: 0 when a short recording never carried it, NaN when
    it was carried only in passing, without a valid label."""
    mass = np.nan_to_num(recording.label_mass)
    if recording.plan.payload == 0.0 or not (mass > 0.0).any():
        return 0.0
    hanging = (mass >= recording.plan.payload) & recording.label_valid
    return recording.plan.payload if hanging.any() else float("nan")


def episode_info(
    robot: RobotSpec, recording: Recording, rate: float, calibration_hash: str
) -> EpisodeInfo:
    """Description of `recording` as the recorder would write it."""
    plan = recording.plan
    return EpisodeInfo(
        episode=plan.name,
        robot=robot.robot,
        task=plan.task,
        category=plan.category,
        variant=plan.variant,
        payload=stated_payload(recording),
        pair_id=plan.pair_id,
        split_group=plan.split_group,
        operator_notes=plan.notes,
        robot_hash=robot.digest,
        calibration_hash=calibration_hash,
        software_version=SOFTWARE,
        source="emulated",
        control_rate=rate,
    )


def _stamps(start_ns: int, times: NDArray[np.float64]) -> Int:
    return start_ns + np.rint(times * 1e9).astype(np.int64)


def _telemetry(
    robot: RobotSpec, recording: Recording, stamps: Int, arm: str, **columns: Any
) -> list[bytes]:
    n, count = robot.n, len(stamps)
    nan = [float("nan")] * n
    template = MessageTemplate(
        _store(),
        "na_msgs/msg/ActuatorTelemetry",
        {
            "header": {"frame_id": robot.base_frame},
            "arm": arm,
            "name": list(robot.names),
            **{key: nan for key in PER_JOINT},
            "hardware_error": [0] * n,
            "torque_enabled": arm == "follower",
        },
    )
    period = np.rint(np.diff(recording.step_time, prepend=recording.step_time[0]) * 1e6)
    return template.rows(
        count,
        stamp_ns=stamps,
        sequence=np.arange(count, dtype=np.uint64),
        control_period_us=period.astype(np.uint32),
        **columns,
    )


def _joint_states(robot: RobotSpec, stamps: Int, position: Any, velocity: Any) -> list[bytes]:
    template = MessageTemplate(
        _store(),
        "sensor_msgs/msg/JointState",
        {
            "header": {"frame_id": robot.base_frame},
            "name": list(robot.names),
            "position": [0.0] * robot.n,
            "velocity": [0.0] * robot.n,
        },
    )
    return template.rows(len(stamps), stamp_ns=stamps, position=position, velocity=velocity)


def _goals(robot: RobotSpec, stamps: Int, goal: Any) -> list[bytes]:
    template = MessageTemplate(
        _store(),
        "na_msgs/msg/JointGoal",
        {"name": list(robot.names), "position": [0.0] * robot.n},
    )
    return template.rows(len(stamps), stamp_ns=stamps, position=goal)


def _labels(robot: RobotSpec, recording: Recording, stamps: Int) -> list[bytes]:
    template = MessageTemplate(
        _store(), "na_msgs/msg/ForceLabel", {"header": {"frame_id": robot.base_frame}}
    )
    force = recording.label_force
    return template.rows(
        len(stamps),
        stamp_ns=stamps,
        source=recording.label_source,
        force__x=force[:, 0],
        force__y=force[:, 1],
        force__z=force[:, 2],
        mass=recording.label_mass,
        valid=recording.label_valid,
    )


def _wrenches(robot: RobotSpec, recording: Recording, stamps: Int) -> list[bytes]:
    template = MessageTemplate(
        _store(),
        "geometry_msgs/msg/WrenchStamped",
        {"header": {"frame_id": robot.end_effector_frame}},
    )
    values = recording.ft_wrench
    names = [f"wrench__{part}__{axis}" for part in ("force", "torque") for axis in "xyz"]
    columns = {name: values[:, i] for i, name in enumerate(names)}
    return template.rows(len(stamps), stamp_ns=stamps, **columns)


def _truth(robot: RobotSpec, recording: Recording, stamps: Int) -> list[bytes]:
    truth, zeros = recording.truth, [0.0] * robot.n
    keys = (
        "position",
        "velocity",
        "motor_torque",
        "gear_torque",
        "winding_temperature",
        "housing_temperature",
    )
    template = MessageTemplate(
        _store(),
        TRUTH_TYPE,
        {
            "header": {"frame_id": robot.base_frame},
            "name": list(robot.names),
            **{key: zeros for key in keys},
        },
    )
    vectors = {"force": truth.force, "torque": truth.torque, "force_elsewhere": truth.elsewhere}
    columns = {
        f"{name}__{axis}": values[:, i]
        for name, values in vectors.items()
        for i, axis in enumerate("xyz")
    }
    return template.rows(
        len(stamps),
        stamp_ns=stamps,
        position=truth.position,
        velocity=truth.velocity,
        motor_torque=truth.motor_torque,
        gear_torque=truth.gear_torque,
        winding_temperature=truth.winding,
        housing_temperature=truth.housing,
        band_torque=truth.band,
        in_contact=np.linalg.norm(truth.force, axis=1) > CONTACT_FORCE,
        **columns,
    )


def _collect(robot: RobotSpec, recording: Recording, start_ns: int) -> Rows:
    stamps = _stamps(start_ns, recording.step_time)
    columns = {name: getattr(recording, name) for name in PER_JOINT}
    follower = _telemetry(robot, recording, stamps, "follower", **columns)
    leader = _telemetry(
        robot,
        recording,
        stamps,
        "leader",
        position=recording.leader_position,
        velocity=recording.leader_velocity,
    )
    topics: list[tuple[str, Int, list[bytes]]] = [
        (FOLLOWER_TELEMETRY, stamps, follower),
        (LEADER_TELEMETRY, stamps, leader),
        (
            FOLLOWER_JOINT_STATES,
            stamps,
            _joint_states(robot, stamps, recording.position, recording.velocity),
        ),
        (
            LEADER_JOINT_STATES,
            stamps,
            _joint_states(robot, stamps, recording.leader_position, recording.leader_velocity),
        ),
        (FOLLOWER_GOAL, stamps, _goals(robot, stamps, recording.goal_requested)),
        (LABEL, stamps, _labels(robot, recording, stamps)),
        (TRUTH, stamps, _truth(robot, recording, stamps)),
    ]
    if len(recording.ft_time):
        at = _stamps(start_ns, recording.ft_time)
        topics.append((FT_WRENCH, at, _wrenches(robot, recording, at)))
    rows: Rows = []
    for topic, times, messages in topics:
        rows += [(int(t), topic, cdr) for t, cdr in zip(times, messages, strict=True)]
    rows.sort(key=lambda row: row[0])
    return rows


def write_bag(
    robot: RobotSpec,
    recording: Recording,
    folder: Path,
    rate: float,
    *,
    number: int = 0,
    calibration_hash: str = "",
    compress: bool = True,
) -> Path:
    """Write one episode below `folder`; `number` spaces the stamps of different episodes apart."""
    start_ns = EPOCH_NS + number * 1_000_000_000_000
    rows = _collect(robot, recording, start_ns)
    info = episode_info(robot, recording, rate, calibration_hash)
    path = folder / recording.plan.name
    with EpisodeWriter(path, compress=compress) as writer:
        names = dict.fromkeys(topic for _, topic, _ in rows)
        for topic in names:
            spec = TOPICS_BY_NAME.get(topic)
            writer.add_topic(
                topic, spec.type if spec else TRUTH_TYPE, (spec.qos if spec else Qos(),)
            )
        writer.add_topic(EPISODE, TOPICS_BY_NAME[EPISODE].type, (TOPICS_BY_NAME[EPISODE].qos,))
        first = rows[0][0]
        writer.write(EPISODE, first, encode_episode_info(_store(), info, first))
        for stamp, topic, cdr in rows:
            writer.write(topic, stamp, cdr)
        info.topic = list(writer.counts)
        info.written = [writer.counts[name] + (name == EPISODE) for name in info.topic]
        info.missed = [0] * len(info.topic)
        last = rows[-1][0]
        writer.write(EPISODE, last, encode_episode_info(_store(), info, last))
    return path
