# SPDX-License-Identifier: Apache-2.0
"""One check's outcome, and a page of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any


class Status(StrEnum):
    """What an outcome means."""

    OK = "ok"
    NOTE = "note"  # worth knowing; nothing fails
    WARN = "warn"  # works, but not as well as it could
    FAIL = "FAIL"  # an arm would not start, or data would be lost


@dataclass(frozen=True, slots=True)
class Check:
    """One row of the page: `topic` groups rows, `remedy` is empty where none is needed."""

    topic: str
    name: str
    status: Status
    found: str
    remedy: str = ""

    def line(self, width: int) -> str:
        """One line for people, the name padded to `width`."""
        text = f"  [{self.status:^4}] {self.name:<{width}}  {self.found}"
        return f"{text}\n         {'':<{width}}  → {self.remedy}" if self.remedy else text


@dataclass(slots=True)
class Page:
    """All checks of one run."""

    checks: list[Check] = field(default_factory=list)

    def add(self, checks: Iterable[Check]) -> None:
        """Append checks."""
        self.checks.extend(checks)

    def count(self, status: Status) -> int:
        """Number of checks with this status."""
        return sum(check.status is status for check in self.checks)

    @property
    def ok(self) -> bool:
        """True when nothing failed; warnings do not count."""
        return self.count(Status.FAIL) == 0

    def text(self) -> str:
        """The page."""
        width = max((len(check.name) for check in self.checks), default=0)
        lines: list[str] = []
        topic = ""
        for check in self.checks:
            if check.topic != topic:
                topic = check.topic
                lines.append(topic)
            lines.append(check.line(width))
        fails, warns = self.count(Status.FAIL), self.count(Status.WARN)
        verdict = "ready" if self.ok else "not ready"
        lines.append(f"{verdict}: {fails} failed, {warns} warnings, {len(self.checks)} checks")
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "ok": self.ok,
            "failed": self.count(Status.FAIL),
            "warnings": self.count(Status.WARN),
            "checks": [{**asdict(check), "status": str(check.status)} for check in self.checks],
        }
