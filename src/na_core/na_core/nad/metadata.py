# SPDX-License-Identifier: Apache-2.0
"""metadata.yaml of a rosbag2 directory, as rosbag2 of ROS 2 Jazzy writes it (version 9)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

METADATA_VERSION = 9
FILE_NAME = "metadata.yaml"
ROOT_KEY = "rosbag2_bagfile_information"


@dataclass
class FileSpan:
    """One storage file: name, first and last log time [ns] (0 and -1 while empty), messages."""

    path: str
    start: int = 0
    end: int = -1
    messages: int = 0


@dataclass
class TopicCount:
    """One topic as metadata.yaml lists it; `qos` holds rosbag2 mappings, one per publisher."""

    name: str
    type: str
    type_hash: str = ""
    qos: Sequence[Mapping[str, Any]] = ()
    messages: int = 0


@dataclass
class BagSummary:
    """Everything that metadata.yaml says about a bag."""

    storage: str = "mcap"
    files: list[FileSpan] = field(default_factory=list)
    topics: list[TopicCount] = field(default_factory=list)
    custom_data: dict[str, str] = field(default_factory=dict)
    ros_distro: str = "jazzy"

    def to_mapping(self) -> dict[str, Any]:
        """Return the mapping under `rosbag2_bagfile_information`."""
        spans = [span for span in self.files if span.messages]
        start = min((span.start for span in spans), default=0)
        end = max((span.end for span in spans), default=start)
        return {
            "version": METADATA_VERSION,
            "storage_identifier": self.storage,
            "duration": {"nanoseconds": end - start},
            "starting_time": {"nanoseconds_since_epoch": start},
            "message_count": sum(span.messages for span in self.files),
            "topics_with_message_count": [
                {
                    "topic_metadata": {
                        "name": topic.name,
                        "type": topic.type,
                        "serialization_format": "cdr",
                        "offered_qos_profiles": [dict(qos) for qos in topic.qos],
                        "type_description_hash": topic.type_hash,
                    },
                    "message_count": topic.messages,
                }
                for topic in self.topics
            ],
            "compression_format": "",
            "compression_mode": "",
            "relative_file_paths": [span.path for span in self.files],
            "files": [
                {
                    "path": span.path,
                    "starting_time": {"nanoseconds_since_epoch": span.start},
                    "duration": {"nanoseconds": max(0, span.end - span.start)},
                    "message_count": span.messages,
                }
                for span in self.files
            ],
            "custom_data": dict(self.custom_data) or None,
            "ros_distro": self.ros_distro,
        }

    def to_yaml(self) -> str:
        """Return the text of metadata.yaml."""
        return yaml.safe_dump({ROOT_KEY: self.to_mapping()}, sort_keys=False, width=1000)


def qos_yaml(profiles: Sequence[Mapping[str, Any]]) -> str:
    """Return QoS profiles in the form stored in MCAP channel metadata ("" for none)."""
    if not profiles:
        return ""
    return yaml.safe_dump([dict(profile) for profile in profiles], sort_keys=False).strip()


def write_metadata(directory: Path, summary: BagSummary) -> Path:
    """Write `metadata.yaml` into `directory` durably: temporary file, fsync, rename."""
    target = directory / FILE_NAME
    temporary = directory / f".{FILE_NAME}.tmp"
    with temporary.open("w", encoding="utf-8") as stream:
        stream.write(summary.to_yaml())
        stream.flush()
        os.fsync(stream.fileno())
    temporary.replace(target)
    return target


def sync_directory(directory: Path) -> None:
    """Make renames inside `directory` durable."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
