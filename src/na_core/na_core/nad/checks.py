# SPDX-License-Identifier: Apache-2.0
"""The rules that a NAD episode must meet: what training would refuse, said today."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from na_core.nad.arrays import Episode, LabelTrack, TelemetryTrack
from na_core.nad.layout import (
    CATEGORIES,
    EPISODE,
    LABEL_SOURCES,
    NAD_VERSION,
    TOPICS,
    TOPICS_BY_NAME,
)

OK, NOTE, WARN, REFUSE = "ok", "note", "warn", "refuse"
GRAVITY = 9.80665
"""Standard gravity [m/s^2]."""


@dataclass(frozen=True)
class Limits:
    """Thresholds; shares are fractions of the telemetry ticks, times in [s]."""

    rate_tolerance: float = 0.05
    gap_periods: float = 2.5
    max_gap: float = 1.0
    warn_missed: float = 0.0
    max_missed: float = 0.01
    warn_stale: float = 0.001
    max_stale: float = 0.02
    max_nan_position: float = 0.01
    warn_label_coverage: float = 0.95
    min_label_coverage: float = 0.5
    min_segment_ticks: int = 73  # nine ticks of history and 64 of rollout
    mass_tolerance: float = 0.01
    force_tolerance: float = 0.2  # N


@dataclass
class Check:
    """One finding: rule, level (ok, note, warn, refuse), sentence, figures."""

    rule: str
    level: str
    text: str
    figures: dict[str, Any] = field(default_factory=dict)


Rule = Callable[[Episode, Limits], Iterator[Check]]


def topics(episode: Episode, _: Limits) -> Iterator[Check]:
    """Required topics are there and layout topics have the layout's types."""
    missing = [
        spec.name for spec in TOPICS if spec.required and not len(episode.tracks.get(spec.name, ()))
    ]
    if missing:
        yield Check("topics", REFUSE, f"no message on {', '.join(missing)}", {"missing": missing})
    else:
        counts = {name: len(track) for name, track in episode.tracks.items()}
        yield Check("topics", OK, f"{len(counts)} topics, {sum(counts.values())} messages", counts)


def schema_types(types: dict[str, str]) -> Iterator[Check]:
    """Check the stored types (topic to type) against the layout's."""
    for name, type_name in types.items():
        spec = TOPICS_BY_NAME.get(name)
        if spec is not None and spec.type != type_name:
            yield Check(
                "schema", REFUSE, f"{name} is {type_name}, expected {spec.type}", {"topic": name}
            )


def description(episode: Episode, _: Limits) -> Iterator[Check]:
    """The episode says what it is."""
    if EPISODE not in episode.tracks:
        return  # the rule on topics speaks
    info = episode.info
    if info.nad_version != NAD_VERSION:
        yield Check(
            "description",
            NOTE,
            f"NAD version {info.nad_version!r}, today's is {NAD_VERSION!r}; "
            "fields it lacks are NaN or empty",
        )
    if not info.category:
        yield Check("description", WARN, "category is empty; training cannot select it by category")
    elif info.category not in CATEGORIES:
        yield Check(
            "description",
            REFUSE,
            f"category {info.category!r} is unknown; expected one of {', '.join(CATEGORIES)}",
        )
    if not info.robot:
        yield Check("description", REFUSE, "robot is empty")
    if info.category == "condition" and not info.variant:
        yield Check("description", REFUSE, "a condition episode must name its variant")
    if not info.written:
        yield Check(
            "description",
            WARN,
            "no counters: the recorder was interrupted before it could close the episode",
        )


def counters(episode: Episode, _: Limits) -> Iterator[Check]:
    """The counters written at the end equal what the bag holds."""
    info = episode.info
    for name, written in zip(info.topic, info.written, strict=False):
        found = len(episode.tracks.get(name, ()))
        if written != found:
            yield Check(
                "counters",
                WARN,
                f"{name}: {written} messages were written, {found} are usable",
                {"topic": name, "written": written, "found": found},
            )


def rate(episode: Episode, limits: Limits) -> Iterator[Check]:
    """Telemetry comes at the control rate."""
    for name, track in _telemetry(episode):
        period = _periods(track)
        if not len(period):
            yield Check("rate", REFUSE, f"{name}: no two fresh ticks to measure the rate from")
            continue
        usual = period[period <= limits.gap_periods * float(np.median(period))]
        measured = 1.0 / float(np.mean(usual))  # the median would show how stamps are rounded
        wanted = episode.info.control_rate
        off = abs(measured / wanted - 1.0) if wanted > 0 else 0.0
        level = REFUSE if off > limits.rate_tolerance else OK
        yield Check(
            "rate",
            level,
            f"{name}: {measured:.2f} Hz, control rate {wanted:.2f} Hz"
            + (f", off by {off:.1%}" if level == REFUSE else ""),
            {"topic": name, "hz": measured, "nominal_hz": wanted},
        )


def gaps(episode: Episode, limits: Limits) -> Iterator[Check]:
    """Pauses between ticks, and segments long enough to train on."""
    for name, track in _telemetry(episode):
        step = np.diff(track.time_ns) * 1e-9
        period = _periods(track)
        nominal = float(np.median(period)) if len(period) else 0.0
        long = step > limits.gap_periods * nominal if nominal else np.zeros(0, bool)
        worst = float(step.max()) if len(step) else 0.0
        lengths = np.diff(track.segments, axis=1).ravel()
        usable = int(lengths[lengths >= limits.min_segment_ticks].sum())
        figures = {
            "topic": name,
            "gaps": int(long.sum()),
            "longest_s": worst,
            "segments": len(lengths),
            "usable_ticks": usable,
        }
        if not usable:
            text = (
                f"{name}: no segment of {limits.min_segment_ticks} ticks ({len(lengths)} segments)"
            )
            yield Check("gaps", REFUSE, text, figures)
        elif worst > limits.max_gap:
            text = f"{name}: {figures['gaps']} gaps, the longest {worst:.2f} s"
            yield Check("gaps", REFUSE, text, figures)
        elif figures["gaps"]:
            text = f"{name}: {figures['gaps']} gaps, the longest {worst * 1e3:.0f} ms"
            yield Check("gaps", WARN, text, figures)
        else:
            yield Check("gaps", OK, f"{name}: none, the longest step {worst * 1e3:.1f} ms", figures)


def drops(episode: Episode, limits: Limits) -> Iterator[Check]:
    """Messages missing by `sequence`."""
    for name, track in _telemetry(episode):
        step = np.diff(track.sequence.astype(np.int64))
        missed = int(np.maximum(step - 1, 0)[step < 1 << 32].sum())
        share = missed / max(1, missed + len(track))
        level = REFUSE if share > limits.max_missed else WARN if share > limits.warn_missed else OK
        yield Check(
            "drops",
            level,
            f"{name}: {missed} missed by sequence ({share:.2%})",
            {"topic": name, "missed": missed, "share": share},
        )


def stale(episode: Episode, limits: Limits) -> Iterator[Check]:
    """Ticks whose bus read failed."""
    for name, track in _telemetry(episode):
        share = float(track.stale.mean()) if len(track) else 1.0
        level = REFUSE if share > limits.max_stale else WARN if share > limits.warn_stale else OK
        figures = {"topic": name, "share": share, "ticks": int(track.stale.sum())}
        yield Check("stale", level, f"{name}: {share:.2%} of the ticks are stale", figures)


def clock(episode: Episode, _: Limits) -> Iterator[Check]:
    """Clock jumps: the header stamps against the recorder's clock."""
    for name, track in _telemetry(episode):
        if len(track) < 2:
            continue
        back = int(np.count_nonzero(np.diff(track.stamp_ns) < 0))
        drift = np.diff(track.stamp_ns - track.log_ns) * 1e-9
        jumps = int(np.count_nonzero(np.abs(drift) > 0.5)) if len(drift) else 0
        level = WARN if back or jumps else OK
        yield Check(
            "clock",
            level,
            f"{name}: {jumps} clock jumps, {back} steps back in time"
            + ("; the episode is split there" if level == WARN else ""),
            {"topic": name, "jumps": jumps, "back": back},
        )


def unmeasured(episode: Episode, limits: Limits) -> Iterator[Check]:
    """Share of NaN per field, stale ticks left out."""
    for name, track in _telemetry(episode):
        fresh = ~track.stale
        shares = {
            key: float((~track.measured(key)[fresh]).mean()) if fresh.any() else 1.0
            for key in ("position", "velocity", "current", "load", "voltage", "temperature")
        }
        shares = {key: share for key, share in shares.items() if share > 0.0}
        bad = shares.get("position", 0.0)
        level = REFUSE if bad > limits.max_nan_position else WARN if bad else OK
        words = ", ".join(f"{key} {share:.1%}" for key, share in shares.items())
        text = f"{name}: unmeasured {words}" if words else f"{name}: everything is measured"
        yield Check("nan", level, text, {"topic": name, **shares})


def label_coverage(episode: Episode, limits: Limits) -> Iterator[Check]:
    """Episodes recorded for their force carry labels for most of their ticks."""
    info, labels, track = episode.info, episode.labels, episode.follower
    if track is None or info.category not in ("force_labelled", "gauge"):
        return
    valid = np.zeros(len(track), bool)
    if labels is not None:
        _, _, valid = labels.at(track.time_ns)
    share = float(valid.mean()) if len(track) else 0.0
    level = OK
    if share < limits.min_label_coverage:
        level = REFUSE
    elif share < limits.warn_label_coverage:
        level = WARN
    text = f"{share:.1%} of the ticks have a valid force label (category {info.category})"
    yield Check("labels", level, text, {"coverage": share})


def label_truth(episode: Episode, limits: Limits) -> Iterator[Check]:
    """Labels agree with themselves and with the description."""
    labels, info = episode.labels, episode.info
    if labels is None or not len(labels):
        if np.isfinite(info.payload) and info.payload > 0.0:
            text = f"payload is {info.payload:g} kg but there is no label"
            yield Check("labels", WARN, text, {"payload": info.payload})
        return
    yield from _payload_labels(labels, limits)
    masses = {float(m) for m in labels.mass[_payload(labels)] if np.isfinite(m)}
    told = info.payload
    if np.isfinite(told) and told > 0.0 and masses:
        closest = min(masses, key=lambda mass: abs(mass - told))
        if abs(closest - told) > limits.mass_tolerance * told:
            text = (
                f"payload is {told:g} kg, the labels say {', '.join(f'{m:g}' for m in masses)} kg"
            )
            yield Check("labels", REFUSE, text, {"payload": told, "masses": sorted(masses)})
    sensor = labels.source == LABEL_SOURCES["ft_sensor"]
    if sensor.any() and not episode.wrenches:
        yield Check("labels", REFUSE, "labels refer to a force sensor, no wrench was recorded")
    if info.category == "free_motion" and (labels.valid & (labels.source != 0)).any():
        forces = labels.force[labels.valid & (labels.source != 0)]
        if (np.linalg.norm(forces, axis=1) > limits.force_tolerance).any():
            yield Check("labels", REFUSE, "category free_motion, yet a label states a force")


def _payload_labels(labels: LabelTrack, limits: Limits) -> Iterator[Check]:
    for i in np.flatnonzero(_payload(labels)):
        mass, force = float(labels.mass[i]), labels.force[i]
        expected = np.array([0.0, 0.0, -mass * GRAVITY])
        off = float(np.linalg.norm(force - expected))
        if not np.isfinite(off):
            yield Check(
                "labels", REFUSE, f"label {i}: PAYLOAD with mass {mass} kg, force {force} N"
            )
        elif off > limits.force_tolerance:
            sign = np.linalg.norm(force + expected) <= limits.force_tolerance
            yield Check(
                "labels",
                REFUSE,
                f"label {i}: {mass:g} kg should read {expected.round(2).tolist()} N, it says "
                f"{force.round(2).tolist()} N"
                + ("; the sign is that of the arm on the payload" if sign else ""),
                {"index": int(i), "off_newton": off},
            )


def _payload(labels: LabelTrack) -> np.ndarray[Any, np.dtype[np.bool_]]:
    return np.asarray((labels.source == LABEL_SOURCES["payload"]) & labels.valid, np.bool_)


def remarks(episode: Episode, _: Limits) -> Iterator[Check]:
    """What the reader found odd: permuted names, duplicates, late messages, metadata."""
    for text in episode.remarks:
        yield Check("reader", NOTE, text)


RULES: tuple[Rule, ...] = (
    topics,
    description,
    counters,
    rate,
    gaps,
    drops,
    stale,
    clock,
    unmeasured,
    label_coverage,
    label_truth,
    remarks,
)


def _telemetry(episode: Episode) -> Iterator[tuple[str, TelemetryTrack]]:
    for name, track in episode.tracks.items():
        if isinstance(track, TelemetryTrack):
            yield name, track


def _periods(track: TelemetryTrack) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the steps between fresh ticks that follow each other [s]."""
    if len(track) < 2:
        return np.zeros(0)
    step = np.diff(track.time_ns) * 1e-9
    fresh = ~track.stale[1:] & ~track.stale[:-1] & (np.diff(track.sequence.astype(np.int64)) == 1)
    return np.asarray(step[fresh & (step > 0)], np.float64)
