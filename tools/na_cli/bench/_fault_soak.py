# SPDX-License-Identifier: Apache-2.0
"""Damaged bytes for minutes: how many samples are valid, whether a wrong value gets through."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from na_cli.bench._fault_cases import FAMILIES
from na_cli.report import print_table

RATES = (0.01, 0.05)  # share of damaged bytes, both directions
CONTROL_RATE = 60.0  # Hz
SWING = 300  # counts, motion of the shafts while they are read


def run_all(families: list[str], seconds: float) -> list[dict[str, Any]]:
    """Soak each family at each rate for `seconds` [s]; print a table, return the figures."""
    results = [soak(family, rate, seconds) for family in families for rate in RATES]
    print_table(
        f"Damaged bytes in both directions, {seconds:.0f} s each (emulated)",
        [
            "family",
            "bytes damaged %",
            "samples valid %",
            "ticks complete %",
            "wrong values accepted",
            "loop rate Hz",
            "damaged packets seen",
        ],
        [
            [
                r["family"],
                100.0 * r["rate"],
                r["valid_percent"],
                r["complete_percent"],
                r["wrong_values"],
                r["loop_rate"],
                r["damaged_packets"],
            ]
            for r in results
        ],
    )
    return results


def soak(family: str, rate: float, seconds: float) -> dict[str, Any]:
    """Read moving servos at 60 Hz through a wire that damages bytes; compare with the truth.

    Shafts stand still within a tick and move from tick to tick, so that every field of every
    sample is known exactly. Goals are written as well; they are damaged too.
    """
    from na_core.robot_spec import load_robot_spec
    from na_sim.emulated_servos import emulated_bus, kinematic_plant, servo_configs
    from na_sim.faults import FaultInjector
    from na_sim.faults.catalogue import make_fault
    from na_sim.wire.pty_port import PtyPort
    from na_sim.wire.testing import FakeClock
    from na_teleop.arm_start import ArmParameters, make_bus
    from na_teleop.buses.dynamixel_settings import Role

    spec = load_robot_spec(FAMILIES[family])
    clock = FakeClock(time.monotonic())
    plant = kinematic_plant(spec, np.full(spec.n, 2048, dtype=np.int64))
    injector = FaultInjector()
    emulator = emulated_bus(servo_configs(spec), plant, clock=clock, faults=injector)
    random = np.random.default_rng(7)
    ticks = valid = complete = wrong = 0
    with tempfile.TemporaryDirectory(prefix="na_soak") as folder:
        port = PtyPort(emulator, Path(folder) / "servos", realistic_timing=False)
        port.open()
        bus = make_bus(spec, ArmParameters(spec.robot, port.path, 0, 0.0, 0.0), Role.FOLLOWER)
        bus._clock = clock
        bus.open()
        bus.configure()
        for _ in range(60):  # the bus learns how fast answers come on this line
            clock.now = time.monotonic()
            bus.read()
        injector.add(make_fault("corrupt_bytes", rate=rate, seed=11))
        began = next_tick = time.monotonic()
        try:
            while time.monotonic() - began < seconds:
                time.sleep(max(0.0, next_tick - time.monotonic()))
                next_tick = max(next_tick + 1.0 / CONTROL_RATE, time.monotonic())
                clock.now = time.monotonic()
                for joint in range(spec.n):
                    plant.place(joint, 2048 + int(random.integers(-SWING, SWING)))
                sample = bus.read()
                shafts = np.rint(plant.position).astype(int)
                truth = np.array(
                    [s.to_wire(int(c)) for s, c in zip(emulator.servos, shafts, strict=True)]
                )
                lies = sample.raw_position != truth
                lies |= np.abs(sample.voltage - plant.voltage / 10.0) > 1e-6
                lies |= sample.temperature != plant.temperature
                lies |= sample.velocity != 0.0
                ticks += 1
                valid += int(sample.valid.sum())
                complete += bool(sample.valid.all())
                wrong += int(np.count_nonzero(lies & sample.valid & ~sample.repeated))
                bus.write_goal(bus.conversion.position_from_raw(np.full(spec.n, 2048)))
            elapsed = time.monotonic() - began
        finally:
            bus.close()
            port.close()
    return {
        "family": family,
        "rate": rate,
        "seconds": elapsed,
        "ticks": ticks,
        "valid_percent": 100.0 * valid / (ticks * spec.n),
        "complete_percent": 100.0 * complete / ticks,
        "wrong_values": wrong,
        "loop_rate": ticks / elapsed,
        "damaged_packets": bus.counters.damaged_packets,
    }
