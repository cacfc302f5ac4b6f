# SPDX-License-Identifier: Apache-2.0
"""How differently the same static push reads while loading and while unloading."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from na_sim.forces import KIND_FORCE
from na_sim.gains import holding_command
from na_sim.plant_core import PlantCore
from na_sim.servo.sensors import NOISE_CHANNELS, read_registers
from na_sim.unit_parameters import draw_unit

if TYPE_CHECKING:
    from na_core.robot_spec import RobotSpec

SETTLE = 4.0  # s at rest before the push
RAMP = 0.8  # s per step of the force
DWELL = 1.5  # s at each force before it is read
PEAK = 3.0  # N
LEVELS = (1.0, 3.0)  # N, forces at which a reading is taken
READINGS = 60  # register readings averaged (one second)


@dataclass(frozen=True)
class Reading:
    """Averages at one static force.

    Attributes:
        axis: direction of the push in base axes, "+x" .. "-z".
        force: size of the push [N].
        branch: "rest", "loading" or "unloading".
        current: register current per joint (n,) [A], joint direction.
        moved: joint motion since rest per joint (n,) [rad or m].
        counts: change of the position register per joint (n,) [counts].
    """

    axis: str
    force: float
    branch: str
    current: tuple[float, ...]
    moved: tuple[float, ...]
    counts: tuple[float, ...]


def _average(core: PlantCore, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    p = core.parameters[0]
    amperes, counts = [], []
    for _ in range(READINGS):
        core.advance(17)
        noise = rng.standard_normal((NOISE_CHANNELS, core.n))
        registers = read_registers(p, core.state[0], core.supply[0], noise)
        amperes.append(registers["present_current"] * p["current_unit"] * p["sign"])
        counts.append(registers["present_position"])
    return np.mean(amperes, axis=0), np.mean(counts, axis=0)


def _go(core: PlantCore, direction: np.ndarray, start: float, end: float) -> None:
    f = core.forces[0, 0]
    f["value"] = direction * start
    f["rate"] = direction * (end - start) / RAMP
    core.advance(round(RAMP / core.dt))
    f["value"] = direction * end
    f["rate"] = 0.0
    core.advance(round(DWELL / core.dt))


def push_cycle(
    robot: RobotSpec, pose: np.ndarray, axis: str, *, arm: int = 0, seed: int = 0
) -> list[Reading]:
    """Push the resting end effector along `axis` to 1, 3 and back over 1 to 0 N.

    `pose` (n,) is held by the servos with the robot's own gains; the push is ideal (no contact).
    """
    core = PlantCore(robot, [draw_unit(robot, arm)])
    core.reset(0, pose)
    core.command[0] = holding_command(robot, core.parameters[0], pose)
    rng = np.random.default_rng(seed)
    direction = np.zeros(3)
    direction["xyz".index(axis[1])] = 1.0 if axis[0] == "+" else -1.0
    core.advance(round(SETTLE / core.dt))
    f = core.forces[0, 0]
    f["kind"], f["body"], f["on_tip"] = KIND_FORCE, core.scene.end_effector, 1
    start = core.positions()[0]
    current, count = _average(core, rng)
    zero = np.zeros(core.n)
    out = [Reading(axis, 0.0, "rest", tuple(current), tuple(zero), tuple(zero))]
    now = 0.0
    plan = [(level, "loading") for level in LEVELS]
    plan += [(level, "unloading") for level in reversed(LEVELS[:-1])] + [(0.0, "unloading")]
    for level, branch in plan:
        _go(core, direction, now, level)
        now = level
        moved = core.positions()[0] - start
        amperes, counts = _average(core, rng)
        out.append(
            Reading(axis, level, branch, tuple(amperes), tuple(moved), tuple(counts - count))
        )
    return out
