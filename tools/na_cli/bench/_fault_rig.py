# SPDX-License-Identifier: Apache-2.0
"""A follower on emulated servos whose time is set by hand, and one fault injected into it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from na_cli.bench._fault_cases import FAMILIES, Case
from na_core.raw_si import JointConversion
from na_core.robot_spec import load_robot_spec
from na_sim.emulated_servos import emulated_bus, kinematic_plant, servo_configs
from na_sim.faults import Effect, FaultInjector, FaultRunner, FaultTarget
from na_sim.faults.catalogue import make_fault
from na_sim.wire.pty_port import PtyPort
from na_sim.wire.testing import FakeClock
from na_teleop.buses.dynamixel import DynamixelBus, DynamixelOptions
from na_teleop.buses.errors import BusError
from na_teleop.buses.feetech import FeetechBus, FeetechOptions
from na_teleop.follower_config import FollowerConfig
from na_teleop.follower_control import State
from na_teleop.follower_loop import FollowerLoop, FollowerTick
from na_teleop.preflight import PreflightError, require_preflight

DT = 1.0 / 60.0
CONFIG = FollowerConfig(ramp_s=1.0, park_timeout_s=6.0)
LATENCY_S = 0.04  # the emulated servos answer from a thread of this, perhaps busy, machine
STARTS = 4  # tries to bring an arm into the phase, on a machine too busy to answer in time
FAULT_S = 2.5  # how long a fault lasts
RECOVERY_S = 8.0
AMPLITUDE = 0.35  # rad of the servo
FREQUENCY = 0.5  # Hz
HANG_S = 3.0  # a tick that takes longer hangs
STEP_MARGIN = 1.4  # speed beyond the joint's limit that counts as unexpected
STOP_RAD = 0.25  # of the servo: way that a joint may go on after a fault was declared
GOING = (State.RAMPING, State.FOLLOWING)


@dataclass
class Cell:
    """What one fault in one phase led to."""

    family: str
    fault: str
    phase: str
    detected_ms: float | None = None
    detected_by: str = ""
    arm_state_after: str = ""
    torque_after: str = ""
    fresh_while_stale: int = 0
    lying_samples: int = 0
    recovered_after_clear: str = "no"
    message: str = ""
    outcome: str = ""
    seconds: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """Return the cell for JSON."""
        return asdict(self)


class Rig:
    """Emulator, bus and loop of one arm, and the leader that drives it."""

    def __init__(self, family: str, folder: Path) -> None:
        self.spec = load_robot_spec(FAMILIES[family])
        self.clock = FakeClock()
        self.conversion = JointConversion(self.spec)
        home = self.conversion.raw_from_position(self.spec.home).astype(np.int64)
        self.plant = kinematic_plant(self.spec, home)
        self.injector = FaultInjector()
        self.emulator = emulated_bus(
            servo_configs(self.spec), self.plant, clock=self.clock, faults=self.injector
        )
        self.port = PtyPort(self.emulator, folder / "servos", realistic_timing=False)
        self.port.open()
        self.runner = FaultRunner(self.injector, FaultTarget(self.emulator, self.port))
        self.bus: DynamixelBus | FeetechBus
        if family == "feetech":
            options = FeetechOptions(latency_s=LATENCY_S)
            self.bus = FeetechBus(self.spec, self.port.path, options, clock=self.clock)
        else:
            chosen = DynamixelOptions(latency_s=LATENCY_S)
            self.bus = DynamixelBus(self.spec, self.port.path, chosen, clock=self.clock)
        self.loop = FollowerLoop(self.bus, CONFIG, recheck=self._recheck, clock=self.clock)
        self.ratio = np.abs(np.array([joint.ratio for joint in self.spec.joints]))
        self.began = self.clock()
        self.moving = True
        self.wall = 0.0
        self.changes: list[str] = []
        self.longest_tick = 0.0
        self.allowed_s = self._slept = DT
        self.unexpected = ""
        self._last_true: np.ndarray | None = None
        self._stopped_at: np.ndarray | None = None

    def _recheck(self) -> None:
        require_preflight(self.bus)

    def start(self) -> None:
        """Check the arm and switch torque off, as the node does."""
        require_preflight(self.bus)
        self.loop.start()
        self.began = self.clock()

    def leader(self) -> np.ndarray:
        """Return where the leader is now (n,)."""
        swing = np.sin(2.0 * np.pi * FREQUENCY * (self.clock() - self.began)) if self.moving else 0
        middle = np.clip(
            self.spec.home,
            self.spec.lower + AMPLITUDE * self.ratio,
            self.spec.upper - AMPLITUDE * self.ratio,
        )
        return np.asarray(middle + AMPLITUDE * swing * self.ratio)

    def true_raw(self) -> np.ndarray:
        """Return what each servo would report if it told the truth (n,) [counts]."""
        shafts = np.rint(self.plant.position).astype(int)
        return np.array(
            [s.to_wire(int(shaft)) for s, shaft in zip(self.emulator.servos, shafts, strict=True)]
        )

    def tick(self) -> FollowerTick:
        """Let one control period pass, or as long as the last tick took; note what moved."""
        slept = min(max(DT, self.wall), 0.2)
        self.allowed_s, self._slept = slept + self._slept, slept
        self.clock.sleep(slept)
        before = time.monotonic()
        self.loop.leader_message(self.spec.names, self.leader().tolist())
        result = self.loop.tick()
        self.wall = time.monotonic() - before
        self.longest_tick = max(self.longest_tick, self.wall)
        self.changes += result.changes
        self._watch(result)
        return result

    def _watch(self, result: FollowerTick) -> None:
        """Compare the true motion of this tick with what joint limits and state allow."""
        self.emulator.tick()
        true = self.conversion.position_from_raw(np.rint(self.plant.position))
        if self._last_true is not None:
            step = np.abs(true - self._last_true) / self.ratio
            # What a goal of the tick before asked for is still being walked in this one.
            speed = STEP_MARGIN * self.spec.velocity_limit / self.ratio
            allowed = speed * self.allowed_s + 0.01
            if (step > allowed).any():
                joint = int(np.argmax(step - allowed))
                self.unexpected = f"{self.spec.names[joint]} moved {step[joint]:.2f} rad at once"
        self._last_true = true
        if result.state is not State.FAULT:
            self._stopped_at = None
            return
        if self._stopped_at is None:
            self._stopped_at = true
        gone = np.abs(true - self._stopped_at) / self.ratio
        if (gone > STOP_RAD).any():
            joint = int(np.argmax(gone))
            self.unexpected = f"{self.spec.names[joint]} went on {gone[joint]:.2f} rad in a fault"

    def until(self, condition: Callable[[], bool], within_s: float) -> bool:
        """Tick until the condition holds; False when it did not in time."""
        end = self.clock() + within_s
        while self.clock() < end:
            if condition():
                return True
            self.tick()
        return condition()

    def run(self, seconds: float) -> None:
        """Tick for so long."""
        self.until(lambda: False, seconds)

    @property
    def state(self) -> State:
        """State of the follower."""
        return self.loop.control.state

    def is_in(self, state: State) -> bool:
        """Return whether the follower is in `state`."""
        return self.state is state

    def close(self) -> None:
        """Close everything."""
        self.bus.close()
        self.port.close()


def run_cell(family: str, case: Case, phase: str, folder: Path) -> Cell:
    """Inject one fault in one phase, mend it, clear it, and say what became of the arm."""
    cell = Cell(family, case.name, phase)
    began = time.monotonic()
    rig = _started(family, phase, folder)
    try:
        _run(rig, cell, case, phase, folder)
    except Exception as error:
        cell.outcome = "crash"
        cell.message = f"{type(error).__name__}: {error}"
    finally:
        rig.close()
    if cell.outcome != "crash" and rig.longest_tick > HANG_S:
        cell.outcome, cell.message = "hang", f"a tick took {rig.longest_tick:.1f} s"
    elif cell.outcome != "crash" and rig.unexpected:
        cell.outcome, cell.message = "moved unexpectedly", rig.unexpected
    cell.seconds = time.monotonic() - began
    return cell


def _effects(rig: Rig, case: Case, folder: Path) -> list[Effect]:
    ids = (rig.bus.ids[rig.spec.n // 2],) if case.one else None
    effects = []
    for name, given in case.faults:
        parameters = dict(given)
        if "replug_as" in parameters:
            parameters["replug_as"] = str(folder / parameters["replug_as"])
        effects.append(make_fault(name, ids=ids, **parameters))
    return effects


def _started(family: str, phase: str, folder: Path) -> Rig:
    """Return an arm in the phase asked for; RuntimeError when it cannot be brought there."""
    wanted = State.RAMPING if phase == "ramp" else State.FOLLOWING
    for _ in range(STARTS):
        rig = Rig(family, folder)
        try:
            rig.moving = phase != "rest"
            rig.start()
            if rig.until(partial(rig.is_in, wanted), 6.0):
                rig.run(0.3)
            if rig.state in GOING:
                rig.changes.clear()
                rig.longest_tick = 0.0
                rig.unexpected = ""
                return rig
            reason = f"{rig.state}, {rig.loop.control.reason}"
        except (BusError, PreflightError) as error:
            reason = str(error)
        rig.close()
    raise RuntimeError(f"the {family} arm did not start in {STARTS} tries: {reason}")


def _run(rig: Rig, cell: Cell, case: Case, phase: str, folder: Path) -> None:
    effects = _effects(rig, case, folder)
    for effect in effects:
        rig.runner.begin(effect)
    states = _suffer(rig, cell, case)
    cell.arm_state_after = str(rig.state)
    torque = rig.emulator.torque_enabled()
    on = [id for id, state in torque.items() if state]
    cell.torque_after = "on" if len(on) == len(torque) else ("off" if not on else f"on in {on}")
    for effect in effects:
        rig.runner.end(effect)
    if case.power_cycle:
        rig.emulator.brown_out()
    rig.moving = False
    rig.run(0.5)
    refusal = _recover(rig)
    going = rig.state in GOING and all(rig.emulator.torque_enabled().values())
    cell.recovered_after_clear = "yes" if going else "no"
    notes = [text for text in rig.changes if not _usual(text)]
    cell.message = (notes[0] if notes else refusal) or "no message"
    if not going:
        cell.outcome = "parked" if rig.state is State.PARKED else "refused"
        cell.message += f" | {refusal}"
    elif State.PARKING in states or State.PARKED in states:
        cell.outcome = "parked"
    elif State.FAULT in states or State.HOLDING in states:
        cell.outcome = "held"
    else:
        cell.outcome = "recovered"


def _usual(text: str) -> bool:
    """Whether a line of the log says nothing but that the arm goes on as it should."""
    return text.startswith(("ramping", "following"))


def _suffer(rig: Rig, cell: Cell, case: Case) -> set[State]:
    """Tick while the fault lasts; note when it was noticed and what was claimed meanwhile."""
    begin = rig.clock()
    states: set[State] = set()
    late = rig.loop.counters.late_ticks
    while rig.clock() - begin < FAULT_S:
        seen = len(rig.changes)
        result = rig.tick()
        states.add(result.state)
        wrong = np.abs(result.sample.raw_position - rig.true_raw()) > 1
        if result.sample.fresh and wrong.any():
            if case.lies:
                cell.lying_samples += 1
            else:
                cell.fresh_while_stale += 1
        if cell.detected_ms is None:
            signs = {
                "fault": result.state is State.FAULT,
                "stale": result.telemetry.stale,
                "log": any(not _usual(text) for text in rig.changes[seen:]),
                "late tick": rig.loop.counters.late_ticks > late,
            }
            found = [name for name, shown in signs.items() if shown]
            if found:
                cell.detected_ms = 1e3 * (rig.clock() - begin)
                cell.detected_by = found[0]
    return states


def _recover(rig: Rig) -> str:
    """Do what a person does: clear the fault, try again; return the last refusal."""
    refusal = ""
    end = rig.clock() + RECOVERY_S
    while rig.clock() < end and rig.state not in (State.FOLLOWING,):
        if rig.state is State.FAULT:
            ok, text = rig.loop.clear_fault()
            refusal = "" if ok else text
        rig.run(0.6)
    return refusal or (rig.loop.control.reason if rig.state is State.FAULT else "")
