# SPDX-License-Identifier: Apache-2.0
"""Checks one bag against the rules and reports for people and for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from na_core.nad.arrays import Episode
from na_core.nad.checks import NOTE, OK, REFUSE, RULES, WARN, Check, Limits, schema_types
from na_core.nad.errors import NadError, SchemaError
from na_core.nad.raw_bag import RawBag, RawTopic, message_counts
from na_core.nad.reader import episode_from
from na_core.nad.schemas import default_source

_ORDER = {OK: 0, NOTE: 1, WARN: 2, REFUSE: 3}
_MARK = {OK: "ok     ", NOTE: "note   ", WARN: "warning", REFUSE: "REFUSED"}


@dataclass
class Report:
    """All findings on one bag."""

    path: Path
    checks: list[Check] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        """ "good", "warnings" or "refused" """
        worst = max((_ORDER[check.level] for check in self.checks), default=0)
        return "refused" if worst == 3 else "warnings" if worst == 2 else "good"

    def to_dict(self) -> dict[str, Any]:
        """Return the report for --json."""
        return {
            "path": str(self.path),
            "verdict": self.verdict,
            "checks": [asdict(check) for check in self.checks],
        }

    def to_text(self) -> str:
        """Return the report for people, worst findings first."""
        rows = sorted(self.checks, key=lambda check: -_ORDER[check.level])
        lines = [f"{self.path}: {self.verdict}"]
        lines += [f"  {_MARK[check.level]}  {check.rule:<12} {check.text}" for check in rows]
        return "\n".join(lines)


def validate(path: Path | str, limits: Limits | None = None) -> Report:
    """Check the bag at `path`; never raises for what is wrong with the bag."""
    limits = limits or Limits()
    report = Report(Path(path))
    try:
        bag = RawBag(path)
        episode = episode_from(bag, "header", limits.max_gap)
    except SchemaError as error:
        report.checks.append(Check("schema", REFUSE, str(error)))
        return report
    except (NadError, OSError) as error:
        report.checks.append(Check("readable", REFUSE, str(error)))
        return report
    report.checks += schema_checks(bag.topics)
    report.checks += _metadata(bag.files.metadata, path)
    report.checks += check_episode(episode, limits)
    return report


def check_episode(episode: Episode, limits: Limits | None = None) -> list[Check]:
    """Apply every rule to an episode that is loaded already."""
    limits = limits or Limits()
    return [check for rule in RULES for check in rule(episode, limits)]


def schema_checks(topics: Sequence[RawTopic]) -> list[Check]:
    """Compare stored types and definitions with the layout's."""
    checks = list(schema_types({topic.name: topic.type for topic in topics}))
    older = []
    for topic in topics:
        if not topic.hash or not topic.type.startswith("na_msgs/"):
            continue
        try:
            today = default_source().definition(topic.type).hash
        except NadError:
            continue
        if today != topic.hash:
            older.append(topic.name)
    if older:
        text = f"{', '.join(older)}: recorded with another definition than today's, which is used"
        checks.append(Check("schema", NOTE, text, {"topics": older}))
    elif not checks:
        checks.append(Check("schema", OK, "types and definitions are those of the layout"))
    return checks


def _metadata(metadata: Mapping[str, Any] | None, path: Path | str) -> list[Check]:
    counts = message_counts(path)
    if metadata is None or counts is None:
        return []
    told = metadata.get("message_count")
    found = sum(counts.values())
    if told == found:
        return [Check("metadata", OK, f"metadata.yaml and file agree on {found} messages")]
    return [
        Check(
            "metadata",
            WARN,
            f"metadata.yaml says {told} messages, the file holds {found}",
            {"metadata": told, "file": found},
        )
    ]
