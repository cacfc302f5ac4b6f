# SPDX-License-Identifier: Apache-2.0
"""Compile the physics once, ahead of time: numba keeps the result beside the sources."""

from __future__ import annotations

from na_core.robot_spec import load_robot_spec
from na_sim.arm_plant import ArmPlant
from na_sim.plant_interface import ServoCommands


def compile_physics(robot: str = "omx") -> None:
    """Advance an emulated arm by one step, which compiles (or loads) all that a live arm runs."""
    plant = ArmPlant(load_robot_spec(robot))
    plant.advance(0.01, ServoCommands.zeros(plant.n))
    plant.readings()


if __name__ == "__main__":
    compile_physics()
