# SPDX-License-Identifier: Apache-2.0
"""One arm on its port: the preflight as rows of the page. Reads only; torque stays as it is."""

from __future__ import annotations

from na_core.calibration import CalibrationError, apply_calibration, load_calibration
from na_core.robot_spec import RobotSpec
from na_teleop.arm_start import ArmParameters, make_bus
from na_teleop.buses.dynamixel_settings import Role
from na_teleop.buses.errors import BusError
from na_teleop.doctor.checks import Check, Status
from na_teleop.preflight import run_preflight
from na_teleop.preflight_report import Finding, PreflightReport, ServoFacts, Severity

STATUS = {Severity.ERROR: Status.FAIL, Severity.FIXED: Status.NOTE, Severity.NOTE: Status.WARN}


def check_arm(spec: RobotSpec, port: str, role: str, baud: int = 0) -> list[Check]:
    """Ask every servo on `port`; nothing is written."""
    topic = f"{role} on {port}"
    parameters = ArmParameters(spec.robot, port, baud, 0.0, 0.0)
    try:
        bus = make_bus(spec, parameters, Role(role))
    except (BusError, ValueError) as error:
        return [Check(topic, "bus", Status.FAIL, str(error))]
    try:
        report = run_preflight(bus)
    finally:
        bus.close()
    return [*_summary(topic, spec, report), *_findings(topic, report)]


def _summary(topic: str, spec: RobotSpec, report: PreflightReport) -> list[Check]:
    """Ids, firmware, voltage and temperature in four rows."""
    there = [id for id in report.expected if id in report.servos]
    complete = len(there) == len(report.expected)
    rows = [
        Check(
            topic,
            "ids",
            Status.OK if complete else Status.FAIL,
            f"{there} of {list(report.expected)} answer at {report.baud} baud",
        )
    ]
    facts = list(report.servos.values())
    if not facts:
        return rows
    versions = sorted({servo.firmware for servo in facts})
    mixed = len(versions) > 1
    rows.append(
        Check(
            topic,
            "firmware",
            Status.NOTE if mixed else Status.OK,
            ", ".join(str(version) for version in versions),
        )
    )
    volts = _values(facts, "present_input_voltage", 0.1)
    if volts:
        text = f"{min(volts):.1f} to {max(volts):.1f} V"
        fits = spec.supply is None or (
            spec.supply.min_voltage <= min(volts) and max(volts) <= spec.supply.max_voltage
        )
        rows.append(Check(topic, "voltage", Status.OK if fits else Status.FAIL, text))
    warm = _values(facts, "present_temperature", 1.0)
    if warm:
        rows.append(
            Check(topic, "temperature", Status.OK, f"{min(warm):.0f} to {max(warm):.0f} °C")
        )
    return rows


def _values(facts: list[ServoFacts], register: str, unit: float) -> list[float]:
    return [unit * servo.registers[register] for servo in facts if register in servo.registers]


def _findings(topic: str, report: PreflightReport) -> list[Check]:
    """One row per kind of finding: what concerns every servo alike is said once."""
    groups: dict[tuple[Severity, str, str], list[Finding]] = {}
    for finding in report.findings:
        key = (finding.severity, finding.topic, finding.remedy)
        groups.setdefault(key, []).append(finding)
    rows = []
    for (severity, name, remedy), found in groups.items():
        text = found[0].text
        others = [id for finding in found[1:] for id in finding.ids]
        if others:
            text += f"; likewise ids {others}"
        rows.append(Check(topic, name, STATUS[severity], text, remedy))
    return rows


def check_calibration(spec: RobotSpec, path: str, role: str) -> tuple[RobotSpec, list[Check]]:
    """Return the robot with the calibration applied, if it can be, and a row about it."""
    topic = f"{role}'s calibration"
    try:
        calibration = load_calibration(path)
        applied = apply_calibration(spec, calibration, role)
    except CalibrationError as error:
        return spec, [Check(topic, path, Status.FAIL, str(error))]
    return applied, [Check(topic, path, Status.OK, f"hash {calibration.hash[:16]}…")]
