# SPDX-License-Identifier: Apache-2.0
"""What a NAD episode contains: topics, types, QoS, categories and the episode description."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

NAD_VERSION = "1"
"""Version of the layout, written to every EpisodeInfo and to metadata.yaml."""

TRAINING_CATEGORIES = ("free_motion", "force_labelled", "condition", "holds", "anywhere")
EVALUATION_CATEGORIES = (
    "gauge",
    "unseen_mass",
    "fast",
    "foam",
    "hook",
    "second_arm",
    "adapt",
    "whole_arm",
    "no_contact_long",
    "restricted_unseen",
)
CATEGORIES = TRAINING_CATEGORIES + EVALUATION_CATEGORIES
"""Known categories; the second group is for evaluation only. Empty means uncategorised."""

TRUTH_PREFIX = "/truth/"
"""Topics below it hold what only the emulated plant knows: training may not read them."""

LABEL_SOURCES = {"none": 0, "payload": 1, "ft_sensor": 2, "gauge": 3}
"""Names of na_msgs/msg/ForceLabel.source."""

LEADER_JOINT_STATES = "/leader/joint_states"
FOLLOWER_JOINT_STATES = "/follower/joint_states"
LEADER_TELEMETRY = "/leader/telemetry"
FOLLOWER_TELEMETRY = "/follower/telemetry"
FOLLOWER_GOAL = "/follower/goal"
FT_WRENCH = "/ft_sensor/wrench"
LABEL = "/nad/label"
EPISODE = "/nad/episode"

_INFINITE_SEC, _INFINITE_NSEC = 9223372036, 854775807  # RMW_DURATION_INFINITE

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")


@dataclass(frozen=True)
class Qos:
    """Quality of service of one publisher, in the words of rosbag2 (metadata version 9).

    Durations are in [s] split into seconds and nanoseconds; the default is infinite.
    """

    reliability: str = "reliable"
    durability: str = "volatile"
    history: str = "keep_last"
    depth: int = 10
    deadline: tuple[int, int] = (_INFINITE_SEC, _INFINITE_NSEC)
    lifespan: tuple[int, int] = (_INFINITE_SEC, _INFINITE_NSEC)
    liveliness: str = "automatic"
    liveliness_lease_duration: tuple[int, int] = (_INFINITE_SEC, _INFINITE_NSEC)

    def rosbag2(self) -> dict[str, Any]:
        """Return the mapping that rosbag2 stores under `offered_qos_profiles`."""
        return {
            "history": self.history,
            "depth": self.depth,
            "reliability": self.reliability,
            "durability": self.durability,
            "deadline": {"sec": self.deadline[0], "nsec": self.deadline[1]},
            "lifespan": {"sec": self.lifespan[0], "nsec": self.lifespan[1]},
            "liveliness": self.liveliness,
            "liveliness_lease_duration": {
                "sec": self.liveliness_lease_duration[0],
                "nsec": self.liveliness_lease_duration[1],
            },
            "avoid_ros_namespace_conventions": False,
        }


SENSOR_DATA = Qos(reliability="best_effort", depth=5)
RELIABLE = Qos(depth=10)
GOAL = Qos(depth=1)
TELEMETRY = Qos(depth=100)
LATCHED = Qos(durability="transient_local", depth=1)


@dataclass(frozen=True)
class TopicSpec:
    """One recorded topic.

    `qos` is what a publisher of this topic offers by convention; `sequenced` is true when the
    message starts with a header followed by `uint64 sequence`, so that drops can be counted.
    `required` topics make an episode useless when they are absent.
    """

    name: str
    type: str
    qos: Qos = RELIABLE
    sequenced: bool = False
    required: bool = False


TOPICS: tuple[TopicSpec, ...] = (
    TopicSpec(FOLLOWER_TELEMETRY, "na_msgs/msg/ActuatorTelemetry", TELEMETRY, True, True),
    TopicSpec(LEADER_TELEMETRY, "na_msgs/msg/ActuatorTelemetry", TELEMETRY, True),
    TopicSpec(FOLLOWER_JOINT_STATES, "sensor_msgs/msg/JointState", SENSOR_DATA),
    TopicSpec(LEADER_JOINT_STATES, "sensor_msgs/msg/JointState", SENSOR_DATA),
    TopicSpec(FOLLOWER_GOAL, "na_msgs/msg/JointGoal", GOAL),
    TopicSpec(FT_WRENCH, "geometry_msgs/msg/WrenchStamped", SENSOR_DATA),
    TopicSpec(LABEL, "na_msgs/msg/ForceLabel", LATCHED),
    TopicSpec(EPISODE, "na_msgs/msg/EpisodeInfo", LATCHED, False, True),
    TopicSpec("/neural_actuator/effort", "na_msgs/msg/EffortSurrogate"),
    TopicSpec("/neural_actuator/wrench", "geometry_msgs/msg/WrenchStamped"),
    TopicSpec("/neural_actuator/wrench_base", "geometry_msgs/msg/WrenchStamped"),
    TopicSpec("/neural_actuator/contact", "na_msgs/msg/ContactGate"),
    TopicSpec("/neural_actuator/condition", "na_msgs/msg/MotorCondition"),
    TopicSpec("/neural_actuator/state", "na_msgs/msg/NeuralActuatorState", RELIABLE, True),
)
"""Every topic of the layout, in the order in which tools list them."""

TOPICS_BY_NAME: Mapping[str, TopicSpec] = {spec.name: spec for spec in TOPICS}


@dataclass
class EpisodeInfo:
    """Description of one episode; field for field na_msgs/msg/EpisodeInfo without its header.

    payload [kg] is NaN when unknown; control_rate [Hz]; hashes are SHA-256 in hex.
    """

    episode: str = ""
    robot: str = ""
    task: str = ""
    category: str = ""
    variant: str = ""
    payload: float = 0.0
    pair_id: str = ""
    split_group: str = ""
    operator_notes: str = ""
    robot_hash: str = ""
    calibration_hash: str = ""
    software_version: str = ""
    source: str = "emulated"
    control_rate: float = 60.0
    topic: list[str] = field(default_factory=list)
    written: list[int] = field(default_factory=list)
    missed: list[int] = field(default_factory=list)
    nad_version: str = NAD_VERSION

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a plain mapping (copies the lists)."""
        return asdict(self)

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> EpisodeInfo:
        """Build from any mapping, ignoring unknown keys: older layouts lack some fields."""
        known = {f.name for f in fields(cls)}
        return cls(**{key: value for key, value in values.items() if key in known})


def check_episode_name(name: str) -> str:
    """Return `name` if it can be a directory name, else raise ValueError saying what is allowed."""
    if not _NAME.fullmatch(name) or len(name) > 120 or name.endswith(".part"):
        raise ValueError(
            f"episode name {name!r} is not allowed: expected 1 to 120 letters, digits, "
            "'_', '-', '+' or '.', starting with a letter or digit and not ending in '.part'"
        )
    return name


def part_name(name: str) -> str:
    """Return the directory name used while episode `name` is being recorded."""
    return f".{name}.part"
