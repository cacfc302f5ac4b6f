# SPDX-License-Identifier: Apache-2.0
"""Fault scripts are checked as they are read, begin and end on time, and are felt on the wire."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from na_core.robot_spec import load_robot_spec
from na_sim.dynamixel.testing import InProcessController
from na_sim.emulated_servos import emulated_bus, kinematic_plant, servo_configs
from na_sim.faults import (
    FaultInjector,
    FaultRunner,
    FaultScriptError,
    FaultTarget,
    load_script,
    parse_script,
)
from na_sim.faults.catalogue import FAULTS, make_fault, parameters_of
from na_sim.wire.pty_port import PtyPort
from na_sim.wire.testing import FakeClock

RESULT_FAIL = 1


class Rig:
    """An emulated arm without a port, a controller in the same process, and faults."""

    def __init__(self, robot: str = "omx", script: str = "") -> None:
        self.spec = load_robot_spec(robot)
        self.clock = FakeClock()
        self.plant = kinematic_plant(self.spec)
        self.injector = FaultInjector()
        self.bus = emulated_bus(
            servo_configs(self.spec), self.plant, clock=self.clock, faults=self.injector
        )
        parsed = parse_script("schema: 1\nfaults:\n" + script) if script else None
        self.runner = FaultRunner(self.injector, FaultTarget(self.bus), parsed)
        self.controller = InProcessController(self.bus)  # type: ignore[arg-type]

    def run(self, seconds: float) -> list[str]:
        """Let time pass in steps of 10 ms; return what began and ended."""
        news: list[str] = []
        for _ in range(round(seconds / 0.01)):
            news += self.runner.step()
            self.clock.sleep(0.01)
            self.bus.tick()
        return news

    def heard(self, data: bytes) -> bytes:
        """Return what of an answer reaches the controller."""
        return b"".join(t.data for t in self.injector.outgoing(11, data, self.clock()))


@pytest.fixture
def rig() -> Rig:
    return Rig()


# -- scripts ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[]", "schema: 1"),
        ("schema: 2\nfaults: [{fault: silent, at: 1}]", "schema: 1"),
        ("schema: 1\nfaults: []", "a list `faults`"),
        ("schema: 1\nfaults: [{at: 1}]", "fault 1: expected a mapping with the name"),
        ("schema: 1\nfaults: [{fault: silent}]", "either `at`"),
        ("schema: 1\nfaults: [{fault: silent, at: 1, when: moving}]", "not both"),
        ("schema: 1\nfaults: [{fault: silent, when: noon}]", "'noon', expected one of torque_on"),
        ("schema: 1\nfaults: [{fault: gremlin, at: 1}]", "no fault 'gremlin'; there are corrupt"),
        ("schema: 1\nfaults: [{fault: silent, at: 1, rate: 1}]", "has no parameter rate; it takes"),
        ("schema: 1\nfaults: [{fault: drop_bytes, at: 1, rate: 2}]", "rate 2: expected a prob"),
        ("schema: 1\nfaults: [{fault: silent, at: -1}]", "at -1, expected seconds"),
        ("schema: 1\nfaults: [{fault: silent, at: 1, ids: 11}]", "ids 11, expected a list"),
        ("a: [", "not YAML"),
    ],
)
def test_a_bad_script_is_refused_with_the_entry_and_what_was_expected(
    text: str, words: str
) -> None:
    with pytest.raises(FaultScriptError) as caught:
        parse_script(text, "some.yaml")
    assert words in str(caught.value) and "some.yaml" in str(caught.value)


def test_a_script_file_is_read_and_a_missing_one_is_named(tmp_path: Path) -> None:
    path = tmp_path / "faults.yaml"
    path.write_text(
        "schema: 1\nseed: 4\nfaults:\n  - {fault: silent, at: 2.0, for: 1, ids: [13]}\n"
    )
    (entry,) = load_script(path).entries
    assert (entry.name, entry.at, entry.duration, entry.effect.ids) == ("silent", 2.0, 1.0, (13,))
    assert entry.effect.seed == 4
    with pytest.raises(FaultScriptError, match=r"nowhere\.yaml cannot be read"):
        load_script(tmp_path / "nowhere.yaml")


def test_every_fault_of_the_catalogue_can_be_made_and_tells_its_parameters() -> None:
    for name in FAULTS:
        assert {"ids", "seed"} <= set(parameters_of(name))
        make_fault(name, ids=(11,))


# -- timing ----------------------------------------------------------------------------------


def test_a_fault_begins_and_ends_on_time() -> None:
    rig = Rig(script="  - {fault: silent, ids: [13], at: 0.5, for: 0.3}\n")
    rig.run(0.45)
    assert not rig.injector.silent(13, 0.0)
    assert rig.run(0.1) == ["fault silent begins"]
    assert rig.injector.silent(13, 0.0) and not rig.injector.silent(12, 0.0)
    assert rig.run(0.4) == ["fault silent ends"]
    assert not rig.injector.silent(13, 0.0)


def test_a_trigger_starts_the_clock_of_its_fault() -> None:
    rig = Rig(script="  - {fault: brown_out, when: torque_on, after: 0.2}\n")
    assert rig.run(1.0) == []
    rig.controller.write(12, "torque_enable", 1)
    assert rig.run(0.1) == []
    assert rig.run(0.2) == ["fault brown_out begins"]
    assert not any(rig.bus.torque_enabled().values())


def test_motion_triggers() -> None:
    rig = Rig(script="  - {fault: silent, when: moving}\n")
    rig.controller.write(12, "torque_enable", 1)
    assert rig.run(0.2) == []
    rig.controller.write(12, "goal_position", 3000)
    assert rig.run(0.2) == ["fault silent begins"]


def test_an_id_that_is_not_there_is_named(rig: Rig) -> None:
    with pytest.raises(KeyError, match="no servo 99"):
        rig.runner.begin(make_fault("overload", ids=(99,)))


# -- bytes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "length", "share"),
    [
        ("corrupt_bytes", 10_000, 0.1),
        ("drop_bytes", 9_000, None),
        ("duplicate_bytes", 11_000, None),
    ],
)
def test_bytes_are_hit_at_the_rate_asked_for(
    rig: Rig, name: str, length: int, share: float | None
) -> None:
    rig.runner.begin(make_fault(name, rate=0.1))
    data = bytes(10_000)
    got = rig.heard(data)
    assert len(got) == pytest.approx(length, rel=0.02)
    if share is not None:
        assert np.count_nonzero(np.frombuffer(got, np.uint8)) / len(got) == pytest.approx(0.1, 0.15)
    assert len(rig.injector.incoming(data, 0.0)) == pytest.approx(length, rel=0.02)


def test_one_direction_leaves_the_other_alone_and_nothing_is_left_behind(rig: Rig) -> None:
    effect = make_fault("corrupt_bytes", rate=1.0, direction="to_servos")
    rig.runner.begin(effect)
    assert rig.heard(b"abc") == b"abc"
    assert all(a != b for a, b in zip(rig.injector.incoming(b"abc", 0.0), b"abc", strict=True))
    rig.runner.end(effect)
    assert rig.injector.incoming(b"abc", 0.0) == b"abc" and rig.injector.active == ()


def test_the_same_seed_damages_the_same_bytes() -> None:
    made = [make_fault("corrupt_bytes", rate=0.2, seed=s) for s in (5, 5, 6)]
    first, same, other = [effect.incoming(bytes(500), 0.0) for effect in made]
    assert first == same != other


def test_a_latency_timer_delays_the_first_answer_of_an_exchange(rig: Rig) -> None:
    rig.runner.begin(make_fault("latency_timer"))
    rig.injector.incoming(b"question", 0.0)
    delays = [rig.injector.outgoing(i, b"x", 0.0)[0].delay for i in (11, 12, 13)]
    assert delays == [0.016, 0.0, 0.0]


def test_delays_of_several_faults_add_up(rig: Rig) -> None:
    for delay in (0.01, 0.02):
        rig.runner.begin(make_fault("delay_bytes", delay=delay, rate=1.0))
    assert rig.injector.outgoing(11, b"x", 0.0)[0].delay == pytest.approx(0.03)


# -- servos ----------------------------------------------------------------------------------


def test_status_errors_carry_no_data_on_a_dynamixel(rig: Rig) -> None:
    rig.runner.begin(make_fault("status_error", ids=(12,), code=RESULT_FAIL))
    answers = rig.controller.broadcast(0x82, bytes((132, 0, 4, 0, 11, 12)))
    assert [(a.id, a.error, len(a.data)) for a in answers] == [(11, 0, 4), (12, 1, 0)]


def test_latches_stay_after_the_cause_is_gone(rig: Rig) -> None:
    rig.controller.write(12, "torque_enable", 1)
    effect = make_fault("overload", ids=(12,))
    rig.runner.begin(effect)
    rig.runner.end(effect)
    assert rig.controller.read(12, "hardware_error_status") == 0x20
    assert not rig.bus.torque_enabled()[12]


@pytest.mark.parametrize("name", ["encoder_wrap", "multi_turn", "power_on_turn"])
@pytest.mark.parametrize("robot", ["omx", "so101"])
def test_an_encoder_reports_another_turn_and_the_shaft_stays(name: str, robot: str) -> None:
    rig = Rig(robot)
    servo = rig.bus.servos[2]
    before = servo.registers.get("present_position")
    effect = make_fault(name, ids=(servo.id,))
    rig.runner.begin(effect)
    rig.run(0.5)
    turns = effect.turns  # type: ignore[attr-defined]
    assert servo.registers.get("present_position") == before + 4096 * turns
    assert rig.plant.position[2] == 2048
    rig.runner.end(effect)
    rig.run(0.05)
    assert servo.registers.get("present_position") == before


def test_a_stuck_encoder_holds_one_position_while_the_clock_goes_on(rig: Rig) -> None:
    rig.runner.begin(make_fault("stuck_encoder", ids=(13,)))
    rig.run(0.02)
    tick = rig.bus.servo(13).registers.get("realtime_tick")
    rig.plant.place(2, 2500)
    rig.plant.place(3, 2500)
    rig.run(0.1)
    assert rig.controller.read(13, "present_position") == 2048
    assert rig.controller.read(14, "present_position") == 2500
    assert rig.bus.servo(13).registers.get("realtime_tick") > tick


def test_repeated_values_repeat_the_clock_too(rig: Rig) -> None:
    rig.runner.begin(make_fault("repeated_values", ids=(13,)))

    def block(id: int) -> bytes:
        return rig.controller.one(id, 0x02, bytes((120, 0, 27, 0))).data

    first, other = block(13), block(14)
    rig.run(0.1)
    assert block(13) == first and block(14) != other


def test_a_locked_eeprom_refuses_settings_and_takes_goals(rig: Rig) -> None:
    rig.runner.begin(make_fault("eeprom_locked"))
    assert rig.controller.write(12, "return_delay_time", 10) & 0x7F == 7
    assert rig.controller.write(12, "goal_position", 2100) == 0


def test_old_firmware_ignores_fast_sync_read(rig: Rig) -> None:
    rig.runner.begin(make_fault("no_fast_reads", ids=(11,)))
    packet: Any = rig.controller
    assert packet.broadcast(0x8A, bytes((132, 0, 4, 0, 11, 12))) == []


def test_the_return_delay_is_the_factorys(rig: Rig) -> None:
    rig.runner.begin(make_fault("return_delay"))
    assert all(servo.return_delay == pytest.approx(500e-6) for servo in rig.bus.servos)


def test_a_pulled_cable_comes_back_under_another_name(tmp_path: Path) -> None:
    rig = Rig()
    port = PtyPort(rig.bus, tmp_path / "one")
    runner = FaultRunner(rig.injector, FaultTarget(rig.bus, port))
    port.open()
    try:
        effect = make_fault("cable_pulled", replug_as=str(tmp_path / "two"))
        runner.begin(effect)
        assert not (tmp_path / "one").exists()
        runner.end(effect)
        assert (tmp_path / "two").exists() and not (tmp_path / "one").exists()
    finally:
        port.close()
    with pytest.raises(ValueError, match="served on a port"):
        rig.runner.begin(make_fault("cable_pulled"))
