# SPDX-License-Identifier: Apache-2.0
"""Look at every servo before anything moves; reads only, never writes a register."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from na_core.servo_models import SERVO_MODELS
from na_teleop.buses.dynamixel import HARDWARE_ERROR_BITS
from na_teleop.buses.dynamixel_settings import Role, Setting
from na_teleop.buses.errors import BusError, PortError
from na_teleop.buses.inspection import InspectableBus
from na_teleop.buses.port import baud_constant
from na_teleop.buses.port_hints import latency_timer_hint
from na_teleop.preflight_report import (
    PreflightError,
    PreflightReport,
    ServoFacts,
    Severity,
)

__all__ = ["PreflightError", "PreflightReport", "require_preflight", "run_preflight"]

COLLISION_TRIES = 4
SECOND_LOOK_S = 0.3  # a servo answers nothing for about 0.2 s after power came on
LIMIT_SLACK_COUNTS = 16  # about 1.4 degrees
HOT_MARGIN_C = 5


def hardware_error_text(bits: int, names_of: Mapping[int, str] = HARDWARE_ERROR_BITS) -> str:
    """Name the bits of Hardware Error Status (default: X series), e.g. '0x20 (overload)'."""
    names = [names_of.get(i, f"bit {i}") for i in range(8) if bits >> i & 1]
    return f"0x{bits:02x} ({', '.join(names) or 'none'})"


def require_preflight(bus: InspectableBus) -> PreflightReport:
    """Run the preflight; raise PreflightError with the full report when the start is refused."""
    report = run_preflight(bus)
    if not report.ok:
        raise PreflightError(report)
    return report


def run_preflight(bus: InspectableBus) -> PreflightReport:
    """Open the port if need be and check everything that can be checked without writing.

    Port troubles become findings too, so that there is one report whatever is wrong. The port
    is left open when it could be opened. TypeError for a bus family without a preflight.
    """
    if not isinstance(bus, InspectableBus):
        raise TypeError(
            f"no preflight for {type(bus).__name__}; expected a bus that offers what "
            "na_teleop.buses.inspection.InspectableBus names"
        )
    role = bus.options.role
    report = PreflightReport(bus.port, str(role), bus.baud, bus.ids)
    try:
        if not bus.is_open:
            bus.open()
        hint = latency_timer_hint(bus.port)
        if hint:
            report.add(Severity.NOTE, "adapter", hint)
        _find_servos(bus, report)
        for joint, id in enumerate(bus.ids):
            if id in report.servos:
                _check_servo(bus, report, joint, role)
        _check_settings(bus, report, role)
        _check_firmware(bus, report)
    except PortError as error:
        report.error(f"port ({error.problem})", error.message, error.remedy, bus.ids)
        if error.port_is_gone:
            bus.close()
    return report


# -- who is there ----------------------------------------------------------------------------


def _find_servos(bus: InspectableBus, report: PreflightReport) -> None:
    missing = _ask_ids(bus, report, bus.ids)
    if missing:
        time.sleep(SECOND_LOOK_S)  # they may be starting up, or this machine may be busy
        missing = _ask_ids(bus, report, missing)
    if missing:
        _explain_missing(bus, report, missing)


def _ask_ids(bus: InspectableBus, report: PreflightReport, ids: Sequence[int]) -> list[int]:
    """Enter the servos that answer into the report; return the ids that do not."""
    missing: list[int] = []
    for id in ids:
        joint = bus.ids.index(id)
        if _shared_id(bus, report, id):
            continue
        answer = bus.line.ping(id)
        if answer is None:
            missing.append(id)
            continue
        number, firmware = answer
        model = next(
            (m.name for m in SERVO_MODELS.values() if m.model_number == number), f"model {number}"
        )
        expected = SERVO_MODELS[bus.models[joint]]
        registers: dict[str, int] = {}
        if number != expected.model_number:
            report.error(
                "wrong model",
                f"id {id} ({bus.spec.names[joint]}) is {model} (model number {number}), expected "
                f"{expected.name} ({expected.model_number})",
                "Put the right servo there, or change `model` in the robot file",
                (id,),
            )
        else:
            try:
                registers = bus.read_table(id)
            except BusError as error:
                report.error("registers", error.message, error.remedy, (id,))
                if isinstance(error, PortError) and error.port_is_gone:
                    raise
        report.servos[id] = ServoFacts(
            id, bus.spec.names[joint], model, number, firmware, registers
        )
    return missing


def _shared_id(bus: InspectableBus, report: PreflightReport, id: int) -> bool:
    """Report an id at which several servos talk at once: their replies garble each other."""
    garbled = 0
    for _ in range(COLLISION_TRIES):
        replies, heard = bus.line.overhear(id, *bus.identity_block)
        if len(replies) == 1 or heard == 0:
            return False
        garbled += 1
    report.error(
        "duplicate id",
        f"replies of id {id} on {bus.port} collide in {garbled} of {garbled} tries: more than "
        "one servo seems to have this id",
        "Connect the servos one at a time and give each its own id; if all ids look like this, "
        "check the cable and the ground instead",
        (id,),
    )
    return True


def _explain_missing(bus: InspectableBus, report: PreflightReport, missing: list[int]) -> None:
    """Look for absent servos at other rates and under other ids."""
    elsewhere = _scan_other_bauds(bus, missing)
    for baud, ids in elsewhere.items():
        report.error(
            "wrong baud",
            f"ids {ids} are silent at {bus.baud} baud on {bus.port} but answer at {baud}",
            f"Set their Baud Rate register to {bus.baud}, or start with baud:={baud}",
            tuple(ids),
        )
    found = {id for ids in elsewhere.values() for id in ids}
    absent = [id for id in missing if id not in found]
    if not absent:
        return
    strangers = {
        id: answer for id, answer in bus.line.broadcast_ping().items() if id not in bus.ids
    }
    names = ", ".join(f"{bus.spec.names[bus.ids.index(id)]} (id {id})" for id in absent)
    if strangers:
        listing = ", ".join(
            f"id {id} (model number {number})" for id, (number, _) in strangers.items()
        )
        remedy = f"Others answer instead: {listing}; a new servo comes with id 1"
    elif len(missing) == bus.n and not found:
        remedy = (
            "No servo answers at any rate: check the servo supply, the cable, that the port is "
            "the right one, and that the servos speak the protocol of the robot file"
        )
    else:
        remedy = (
            "Check the cable between the last servo that answers and the first that does not, "
            "and the id in the servo"
        )
    rates = ", ".join(str(baud) for baud in _other_bauds(bus))
    report.error(
        "absent id",
        f"no reply from {names} on {bus.port} at {bus.baud} baud, nor at {rates}",
        remedy,
        tuple(absent),
    )


def _other_bauds(bus: InspectableBus) -> list[int]:
    """Return the rates to search, the factory's first."""
    rates = [57_600, *bus.baud_rates.values()]
    usable = [rate for rate in rates if rate != bus.baud and baud_constant(rate) is not None]
    return list(dict.fromkeys(usable))


def _scan_other_bauds(bus: InspectableBus, missing: list[int]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    left = list(missing)
    try:
        for baud in _other_bauds(bus):
            if not left:
                break
            bus.line.set_baud(baud)
            here = [id for id in left if bus.line.ping(id, attempts=1) is not None]
            if here:
                found[baud] = here
                left = [id for id in left if id not in here]
    finally:
        if bus.is_open:
            bus.line.set_baud(bus.baud)
    return found


# -- one servo -------------------------------------------------------------------------------


def _check_servo(bus: InspectableBus, report: PreflightReport, joint: int, role: Role) -> None:
    facts = report.servos[bus.ids[joint]]
    if not facts.registers:
        return
    _check_supply(bus, report, facts)
    _check_state(bus, report, facts, role)
    if role is Role.FOLLOWER:
        _check_range(bus, report, joint)


def _check_settings(bus: InspectableBus, report: PreflightReport, role: Role) -> None:
    """Compare settings; servos that differ in the same register share one finding."""
    differing: dict[Setting, list[str]] = {}
    concerned: dict[Setting, list[int]] = {}
    for joint, id in enumerate(bus.ids):
        facts = report.servos.get(id)
        if facts is None or not facts.registers:
            continue
        for setting in bus.settings(joint):
            holds = facts.registers[setting.register]
            if holds != setting.value:
                differing.setdefault(setting, []).append(f"{holds} in id {id}")
                concerned.setdefault(setting, []).append(id)
    for setting, values in differing.items():
        text = f"is {', '.join(values)}; expected {setting.value}: {setting.why}"
        ids = tuple(concerned[setting])
        if setting.ours or bus.options.reset_geometry:
            report.add(Severity.FIXED, setting.register, text, ids=ids)
        else:
            report.error(
                setting.register,
                text,
                "Not changed unasked, because it moves the joint's zero or direction: reset it "
                "(parameter reset_geometry), or adapt the robot file",
                ids,
            )


def _check_supply(bus: InspectableBus, report: PreflightReport, facts: ServoFacts) -> None:
    supply = bus.spec.supply
    if supply is None:
        return
    volts = facts.registers["present_input_voltage"] / 10.0
    if not supply.min_voltage <= volts <= supply.max_voltage:
        report.error(
            "voltage",
            f"id {facts.id} ({facts.joint}) sees {volts:.1f} V, expected "
            f"{supply.min_voltage:g} to {supply.max_voltage:g} V",
            "Check the supply and its plug",
            (facts.id,),
        )


def _check_state(
    bus: InspectableBus, report: PreflightReport, facts: ServoFacts, role: Role
) -> None:
    registers = facts.registers
    who = f"id {facts.id} ({facts.joint})"
    bits = registers["hardware_error_status"]
    if bits:
        report.add(
            Severity.ERROR if role is Role.FOLLOWER else Severity.NOTE,
            "hardware error",
            f"{who} has latched {hardware_error_text(bits, bus.hardware_error_bits)}",
            "Remove the cause, then switch the supply off and on (or restart the servo)",
            (facts.id,),
        )
    margin = registers["temperature_limit"] - registers["present_temperature"]
    if margin <= HOT_MARGIN_C:
        report.add(
            Severity.NOTE,
            "temperature",
            f"{who} is at {registers['present_temperature']} °C, {margin} °C below its limit",
            "Let it cool down",
            (facts.id,),
        )
    if registers["torque_enable"]:
        report.add(
            Severity.NOTE,
            "torque",
            f"{who} has torque on, left by another program; it is switched off at start",
            ids=(facts.id,),
        )
    if registers.get("bus_watchdog") == -1:
        report.add(
            Severity.NOTE,
            "watchdog",
            f"{who} was stopped by its bus watchdog; this is cleared at start",
            ids=(facts.id,),
        )


def _check_range(bus: InspectableBus, report: PreflightReport, joint: int) -> None:
    facts = report.servos[bus.ids[joint]]
    low, high = (facts.registers[f"{end}_position_limit"] for end in ("min", "max"))
    if low == high == 0:
        return  # an STS servo without limits (multi-turn)
    present = facts.registers["present_position"]
    if not low - LIMIT_SLACK_COUNTS <= present <= high + LIMIT_SLACK_COUNTS:
        report.error(
            "position",
            f"id {facts.id} ({facts.joint}) stands at count {present}, outside its own position "
            f"limits {low} to {high}",
            "Move the joint inside by hand: no goal can reach it there",
            (facts.id,),
        )
    ends = (
        bus.conversion.raw_from_position(bus.spec.lower),
        bus.conversion.raw_from_position(bus.spec.upper),
    )
    wanted = sorted(int(end[joint]) for end in ends)
    if low > wanted[0] + LIMIT_SLACK_COUNTS or high < wanted[1] - LIMIT_SLACK_COUNTS:
        report.add(
            Severity.NOTE,
            "position limits",
            f"id {facts.id} ({facts.joint}) accepts counts {low} to {high}, the robot file wants "
            f"{wanted[0]} to {wanted[1]}: goals beyond are cut by the servo",
            ids=(facts.id,),
        )


def _check_firmware(bus: InspectableBus, report: PreflightReport) -> None:
    by_version: dict[int, list[int]] = {}
    first = bus.first_firmware_with_watchdog
    if first is None and bus.options.role is Role.FOLLOWER:
        report.add(
            Severity.NOTE,
            "watchdog",
            "these servos have no bus watchdog: if this program dies they go on to the last goal "
            "and stay there, torque on",
        )
    for servo in report.servos.values():
        by_version.setdefault(servo.firmware, []).append(servo.id)
        if first is not None and servo.firmware < first:
            report.add(
                Severity.NOTE,
                "firmware",
                f"id {servo.id} has firmware {servo.firmware}, older than the bus watchdog "
                f"({first}): it will not stop by itself if we die",
                "Update it with the vendor's tool",
                (servo.id,),
            )
    if len(by_version) > 1:
        listing = "; ".join(f"{version}: ids {ids}" for version, ids in sorted(by_version.items()))
        report.add(Severity.NOTE, "firmware", f"versions differ ({listing})")
