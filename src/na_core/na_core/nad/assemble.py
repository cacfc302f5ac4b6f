# SPDX-License-Identifier: Apache-2.0
"""Turns decoded message groups into the typed tracks of an episode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from na_core.nad.arrays import (
    PER_JOINT,
    InfoTrack,
    JointTrack,
    LabelTrack,
    NumberTrack,
    TelemetryTrack,
    Track,
    WrenchTrack,
)
from na_core.nad.cdr_view import Group
from na_core.nad.layout import EpisodeInfo
from na_core.nad.timeline import Int, Timeline, arrange

_EVENTS = ("na_msgs/msg/ForceLabel", "na_msgs/msg/EpisodeInfo")
"""Types that come when something changes: their pauses are no gaps."""

_EVER = 1 << 62


@dataclass
class Input:
    """Decoded messages of one topic in file order, and how to arrange them."""

    topic: str
    type: str
    log_ns: Int
    groups: Sequence[Group]
    base: str
    max_gap_ns: int

    @property
    def count(self) -> int:
        """Number of messages."""
        return len(self.log_ns)

    def scalar(self, path: str, dtype: Any, missing: Any) -> NDArray[Any]:
        """Gather the scalar field `path` over all groups, `missing` where a group lacks it."""
        out = np.full(self.count, missing, dtype)
        for group in self.groups:
            values = group.numbers.get(path)
            if values is not None and values.ndim == 1:
                out[group.index] = values
        return out

    def vector(self, path: str) -> NDArray[np.float64]:
        """Gather x, y, z below `path` as (N, 3), NaN where absent."""
        return np.stack(
            [self.scalar(f"{path}.{axis}", np.float64, np.nan) for axis in "xyz"], axis=1
        )

    def stamps(self) -> Int:
        """Header stamps [ns]; log times when the type has no header."""
        if not any("header.stamp.sec" in group.numbers for group in self.groups):
            return self.log_ns.copy()
        sec = self.scalar("header.stamp.sec", np.int64, 0)
        nanosec = self.scalar("header.stamp.nanosec", np.int64, 0)
        return np.asarray(sec * 1_000_000_000 + nanosec, np.int64)

    def strings(self, path: str) -> list[Any]:
        """Return the string (or tuple of strings) at `path` per message."""
        out: list[Any] = [""] * self.count
        for group in self.groups:
            value = group.strings.get(path, "")
            for i in group.index:
                out[int(i)] = value
        return out


def build(data: Input, remarks: list[str]) -> Track | None:
    """Return the track of one topic, None when its messages cannot be put into arrays.

    What is odd is appended to `remarks`.
    """
    stamp = data.stamps()
    base = data.base
    if base == "header" and data.count > 1 and not stamp.any():
        remarks.append(f"{data.topic}: every header stamp is 0; its log times are used")
        base = "log"
    sequence = None
    if any("sequence" in group.numbers for group in data.groups):
        sequence = data.scalar("sequence", np.uint64, 0)
    chosen, other = (stamp, data.log_ns) if base == "header" else (data.log_ns, stamp)
    max_gap = _EVER if data.type in _EVENTS else data.max_gap_ns
    line = arrange(chosen, other, sequence, max_gap)
    _remark(data.topic, line, remarks)
    common = {
        "topic": data.topic,
        "log_ns": data.log_ns[line.order],
        "stamp_ns": stamp[line.order],
        "segments": line.segments,
        "base": base,
    }
    builder = _BUILDERS.get(data.type, _numbers)
    return builder(data, line.order, common, remarks)


def _remark(topic: str, line: Timeline, remarks: list[str]) -> None:
    words = (
        ("duplicates dropped", line.duplicates),
        ("late messages put back in order", line.reordered),
        ("clock jumps", line.jumps),
        ("gaps", line.gaps),
        ("restarts of the publisher", line.restarts),
    )
    found = [f"{count} {word}" for word, count in words if count]
    if found:
        remarks.append(f"{topic}: {', '.join(found)}")


def _joint_names(data: Input, remarks: list[str]) -> tuple[str, ...]:
    """Joint names in the order of the first message, later newcomers appended."""
    names: dict[str, None] = {}
    orders = set()
    for group in sorted(data.groups, key=lambda group: int(group.index[0])):
        own = tuple(group.strings.get("name", ()))
        orders.add(own)
        names.update(dict.fromkeys(own))
    if len(orders) > 1:
        remarks.append(
            f"{data.topic}: joint names come in {len(orders)} different orders; sorted by name "
            f"into {', '.join(names)}"
        )
    return tuple(names)


def _per_joint(
    data: Input, path: str, names: tuple[str, ...], dtype: Any, missing: Any, remarks: list[str]
) -> NDArray[Any]:
    out = np.full((data.count, len(names)), missing, dtype)
    column = {name: i for i, name in enumerate(names)}
    for group in data.groups:
        values = group.numbers.get(path)
        own = group.strings.get("name", ())
        if values is None or values.ndim != 2 or values.shape[1] == 0:
            continue
        if values.shape[1] != len(own):
            remarks.append(
                f"{data.topic}: {len(group.index)} messages have {values.shape[1]} values in "
                f"{path} for {len(own)} names; treated as unmeasured"
            )
            continue
        out[group.index[:, None], [column[name] for name in own]] = values
    return out


def _telemetry(data: Input, order: Int, common: dict[str, Any], remarks: list[str]) -> Track:
    names = _joint_names(data, remarks)
    floats: dict[str, Any] = {
        name: _per_joint(data, name, names, np.float64, np.nan, remarks)[order]
        for name in PER_JOINT
    }
    arms = dict.fromkeys(str(group.strings.get("arm", "")) for group in data.groups)
    return TelemetryTrack(
        **common,
        **floats,
        arm=next(iter(arms), ""),
        names=names,
        sequence=data.scalar("sequence", np.uint64, 0)[order],
        hardware_error=_per_joint(data, "hardware_error", names, np.uint8, 0, remarks)[order],
        torque_enabled=data.scalar("torque_enabled", np.bool_, False)[order],
        stale=data.scalar("stale", np.bool_, False)[order],
        control_period_us=data.scalar("control_period_us", np.uint32, 0)[order],
    )


def _joints(data: Input, order: Int, common: dict[str, Any], remarks: list[str]) -> Track:
    names = _joint_names(data, remarks)
    values: dict[str, Any] = {
        name: _per_joint(data, name, names, np.float64, np.nan, remarks)[order]
        for name in ("position", "velocity", "effort")
    }
    return JointTrack(**common, names=names, **values)


def _wrench(data: Input, order: Int, common: dict[str, Any], remarks: list[str]) -> Track:
    frames = dict.fromkeys(str(group.strings.get("header.frame_id", "")) for group in data.groups)
    if len(frames) > 1:
        remarks.append(f"{data.topic}: frame_id changes: {', '.join(frames)}")
    return WrenchTrack(
        **common,
        frame=next(iter(frames), ""),
        force=data.vector("wrench.force")[order],
        torque=data.vector("wrench.torque")[order],
    )


def _labels(data: Input, order: Int, common: dict[str, Any], _: list[str]) -> Track:
    frames = data.strings("header.frame_id")
    return LabelTrack(
        **common,
        frames=tuple(frames[int(i)] for i in order),
        source=data.scalar("source", np.uint8, 0)[order],
        force=data.vector("force")[order],
        mass=data.scalar("mass", np.float64, np.nan)[order],
        valid=data.scalar("valid", np.bool_, False)[order],
    )


def _infos(data: Input, order: Int, common: dict[str, Any], _: list[str]) -> Track:
    infos: list[EpisodeInfo] = [EpisodeInfo()] * data.count
    for group in data.groups:
        for row, i in enumerate(group.index):
            infos[int(i)] = _info(group, row)
    return InfoTrack(**common, infos=tuple(infos[int(i)] for i in order))


def _info(group: Group, row: int) -> EpisodeInfo:
    values: dict[str, Any] = {}
    for item in fields(EpisodeInfo):
        if item.name in group.strings:
            value = group.strings[item.name]
            values[item.name] = list(value) if isinstance(value, tuple) else value
        elif item.name in group.numbers:
            values[item.name] = group.numbers[item.name][row].tolist()
    return EpisodeInfo.from_mapping(values)


def _numbers(data: Input, order: Int, common: dict[str, Any], remarks: list[str]) -> Track | None:
    shapes = {
        tuple((path, values.shape[1:]) for path, values in group.numbers.items())
        for group in data.groups
    }
    if len(shapes) > 1:
        remarks.append(
            f"{data.topic}: {data.type} messages come in {len(shapes)} shapes; not loaded as arrays"
        )
        return None
    numbers: dict[str, NDArray[Any]] = {}
    for path, shape in next(iter(shapes), ()):
        first = data.groups[0].numbers[path]
        out = np.empty((data.count, *shape), first.dtype)
        for group in data.groups:
            out[group.index] = group.numbers[path]
        numbers[path] = out[order]
    return NumberTrack(**common, type=data.type, numbers=numbers)


_Builder = Callable[[Input, Int, dict[str, Any], list[str]], Track | None]

_BUILDERS: dict[str, _Builder] = {
    "na_msgs/msg/ActuatorTelemetry": _telemetry,
    "sensor_msgs/msg/JointState": _joints,
    "na_msgs/msg/JointGoal": _joints,
    "geometry_msgs/msg/WrenchStamped": _wrench,
    "na_msgs/msg/ForceLabel": _labels,
    "na_msgs/msg/EpisodeInfo": _infos,
}

TYPED = frozenset(_BUILDERS)
"""Message types that have a typed track of their own."""
