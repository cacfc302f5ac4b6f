# SPDX-License-Identifier: Apache-2.0
"""What the recorder says about itself on /diagnostics."""

from __future__ import annotations

from dataclasses import dataclass, field

from na_teleop.recorder.session import RecorderSession

OK, WARN, ERROR = 0, 1, 2
"""Levels of diagnostic_msgs/msg/DiagnosticStatus."""


@dataclass
class DiagnosticReport:
    """Level, sentence and key-value pairs of one DiagnosticStatus."""

    level: int
    message: str
    values: list[tuple[str, str]] = field(default_factory=list)


def diagnose(session: RecorderSession) -> DiagnosticReport:
    """Describe `session`: state, counters per topic, drops by sequence, absent topics."""
    episode = session.episode
    values = [("episodes kept", str(session.kept))]
    if episode is None:
        last = session.last
        if last is not None:
            values.append(("last episode", str(last.path or "discarded")))
        return DiagnosticReport(OK, "idle", values)
    level, message = OK, f"recording {episode.info.episode}"
    absent = episode.watch.absent()
    missed = {name: counter.missed for name, counter in episode.sequences.items()}
    lost = sum(missed.values())
    if lost:
        level, message = WARN, f"{message}; {lost} messages missed"
    if absent:
        level, message = WARN, f"{message}; nothing from {', '.join(absent)}"
    counts = episode.writer.counts
    values += [(f"{name} written", str(count)) for name, count in sorted(counts.items())]
    values += [(f"{name} missed", str(count)) for name, count in sorted(missed.items())]
    values.append(("absent topics", ", ".join(absent)))
    return DiagnosticReport(level, message, values)
