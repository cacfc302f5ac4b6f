# SPDX-License-Identifier: Apache-2.0
"""Emulated arms, healthy and broken in ways that are known from real ones, for `./na doctor`."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from na_cli.registry import UsageError

SETUPS = {
    "healthy": "as it should be",
    "missing-servo": "the third servo's cable is out",
    "low-voltage": "the supply gives 70 % of the least that the robot allows",
    "stray-servo": "a replaced servo that was never given its id",
    "held-port": "another program holds the port",
}


@contextlib.contextmanager
def emulated_setup(robot: str, setup: str) -> Iterator[str]:
    """Yield the port of an emulated follower of `robot` in one of SETUPS."""
    from na_core.robot_spec import load_robot_spec
    from na_sim.emulated_servos import emulated_bus, servo_configs
    from na_sim.wire.kinematic_plant import KinematicPlant
    from na_sim.wire.pty_port import PtyPort

    spec = load_robot_spec(robot)
    if spec.supply is None:
        raise UsageError(f"robot {robot} has no servos to emulate")
    configs = list(servo_configs(spec))
    if setup == "missing-servo":
        configs[2] = replace(configs[2], connected=False)
    if setup == "stray-servo":
        configs[1] = replace(configs[1], id=1 if spec.servo_ids[0] != 1 else 99)
    plant = KinematicPlant(spec.n)
    supply = spec.supply
    volts = 0.7 * supply.min_voltage if setup == "low-voltage" else supply.nominal_voltage
    plant.voltage[:] = round(10.0 * volts)
    with tempfile.TemporaryDirectory(prefix="na-doctor-") as folder:
        path = str(Path(folder) / "follower")
        port = PtyPort(emulated_bus(tuple(configs), plant), path, realistic_timing=False)
        with port:
            if setup != "held-port":
                yield port.path
                return
            from na_teleop.buses.port import SerialPort

            other = SerialPort(port.path, 1_000_000)
            other.openPort()
            try:
                yield port.path
            finally:
                other.closePort()
