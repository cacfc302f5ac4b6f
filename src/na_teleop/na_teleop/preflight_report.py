# SPDX-License-Identifier: Apache-2.0
"""Everything that is missing or wrong on a bus, gathered into one report."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class Severity(StrEnum):
    """What a finding means for the start."""

    ERROR = "ERROR"  # the arm must not start
    FIXED = "will be set"  # differs, and is written before torque goes on
    NOTE = "note"  # worth knowing


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is missing, wrong or worth knowing; `ids` it concerns, `remedy` if any."""

    severity: Severity
    topic: str
    text: str
    remedy: str = ""
    ids: tuple[int, ...] = ()

    def line(self) -> str:
        """One line for people."""
        return f"[{self.severity}] {self.topic}: {self.text}" + (
            f". {self.remedy}" if self.remedy else ""
        )


@dataclass(frozen=True, slots=True)
class ServoFacts:
    """What one servo says about itself; registers 0 to 146 by name, raw."""

    id: int
    joint: str
    model: str
    model_number: int
    firmware: int
    registers: dict[str, int]

    def line(self) -> str:
        """One line for people."""
        text = f"  id {self.id:3d}  {self.joint:20s} {self.model:12s} firmware {self.firmware:3d}"
        if not self.registers:
            return text
        volts = self.registers["present_input_voltage"] / 10.0
        return f"{text}  {volts:4.1f} V  {self.registers['present_temperature']} °C"


@dataclass(slots=True)
class PreflightReport:
    """The result of a preflight.

    Attributes:
        port: device path.
        role: "leader" or "follower".
        baud: rate that was expected [bit/s].
        expected: servo ids that should be there, in joint order.
        servos: those that answered, by id.
        findings: in the order of checking.

    """

    port: str
    role: str
    baud: int
    expected: tuple[int, ...]
    servos: dict[int, ServoFacts] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def add(
        self,
        severity: Severity,
        topic: str,
        text: str,
        remedy: str = "",
        ids: tuple[int, ...] = (),
    ) -> None:
        """Append a finding."""
        self.findings.append(Finding(severity, topic, text, remedy, ids))

    def error(self, topic: str, text: str, remedy: str = "", ids: tuple[int, ...] = ()) -> None:
        """Append something that forbids the start."""
        self.add(Severity.ERROR, topic, text, remedy, ids)

    @property
    def ok(self) -> bool:
        """True when nothing forbids the start."""
        return not self.errors

    @property
    def errors(self) -> list[Finding]:
        """Findings that forbid the start."""
        return [f for f in self.findings if f.severity is Severity.ERROR]

    def text(self) -> str:
        """The whole report, several lines."""
        verdict = "ready" if self.ok else f"{len(self.errors)} problem(s), torque stays off"
        head = (
            f"Preflight of the {self.role} on {self.port} at {self.baud} baud, "
            f"ids {list(self.expected)}: {verdict}"
        )
        rows = [servo.line() for servo in self.servos.values()]
        return "\n".join([head, *rows, *(f"  {f.line()}" for f in self.findings)])


class PreflightError(Exception):
    """The start is refused; `report` says why."""

    def __init__(self, report: PreflightReport) -> None:
        """The text is the report's."""
        super().__init__(report.text())
        self.report = report
