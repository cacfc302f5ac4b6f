# SPDX-License-Identifier: Apache-2.0
"""Tables of the reality checks: pendulum runs, reference servos, hysteresis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from na_sim.hysteresis import Reading, push_cycle
from na_sim.identify.fit import FitResult
from na_sim.identify.model import ServoModelUnderTest
from na_sim.identify.recordings import PendulumRun
from na_sim.servo.catalogue import nominal
from na_sim.servo.rig import Pendulum, simulate

if TYPE_CHECKING:
    from na_core.robot_spec import RobotSpec


@dataclass(frozen=True)
class RunError:
    """Mean absolute position errors [rad] of several models on one run."""

    trajectory: str
    gain: float
    held_out: bool
    errors: dict[str, float]


def compare(
    runs: Sequence[PendulumRun],
    models: Sequence[ServoModelUnderTest],
    held_out: Sequence[str] = (),
) -> list[RunError]:
    """Errors of every model on every run; `held_out` names the runs that no fit has seen."""
    return [
        RunError(
            run.trajectory,
            run.gain,
            run.name in held_out,
            {model.name: model.mean_absolute_error(run) for model in models},
        )
        for run in runs
    ]


def ratios(rows: Sequence[RunError], reference: str, *, held_out: bool = False) -> dict[str, float]:
    """Mean error of each model over that of `reference`, over all rows or those held out."""
    chosen = [row for row in rows if row.held_out or not held_out]
    if not chosen:
        return {}
    means = {
        name: float(np.mean([row.errors[name] for row in chosen])) for name in chosen[0].errors
    }
    return {name: mean / means[reference] for name, mean in means.items()}


def fit_record(result: FitResult) -> dict[str, Any]:
    """What is kept of a fit (JSON), with units and bounds beside every value."""
    return {
        "family": result.family,
        "seed": result.seed,
        "cost_rad": result.cost,
        "evaluations": result.evaluations,
        "converged": result.converged,
        "message": result.message,
        "condition": result.condition,
        "training": list(result.training),
        "parameters": {
            p.name: {
                "value": result.values[p.name],
                "unit": p.unit,
                "low": p.low,
                "high": p.high,
                "deviation": _or_none(result.deviation[p.name]),
                "on_bound": p.name in result.on_bounds,
            }
            for p in result.parameters
        },
    }


def _or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None


@dataclass(frozen=True)
class ServoFacts:
    """What a servo model does in simple tests, beside the data sheet.

    Attributes:
        name: servo model.
        volts: supply [V].
        no_load_speed: [rad/s].
        stall_torque: Kt V / R without friction [N m].
        stall_current: [A].
        breakaway: torque at which the unpowered output starts to turn [N m].
    """

    name: str
    volts: float
    no_load_speed: float
    stall_torque: float
    stall_current: float
    breakaway: float


def servo_facts(name: str, volts: float) -> ServoFacts:
    """Run the rig of servo `name` without load and read what a data sheet would state."""
    p = nominal(name)
    flywheel = Pendulum(1e-4, 0.0)
    full = np.full(3000, float(p["pwm_full"]))
    free = simulate(p, flywheel, full, np.full(3000, volts), mode=16)
    current = float(p["max_duty"]) * volts / float(p["resistance"])
    low, high = 0.0, 2.0
    for _ in range(18):  # weight of a pendulum lying level at which it starts to fall
        weight = 0.5 * (low + high)
        level = Pendulum(1e-3, weight, offset=math.pi / 2.0)
        drop = simulate(
            p, level, np.zeros(150), np.full(150, volts), mode=16, enables=np.zeros(150, np.int64)
        )
        if abs(drop.position[-1]) > 1e-4:
            high = weight
        else:
            low = weight
    return ServoFacts(
        name,
        volts,
        float(free.velocity[-1]),
        current * float(p["torque_constant"]),
        current,
        0.5 * (low + high),
    )


def hysteresis_rows(
    robot: RobotSpec, pose: Sequence[float], arm: int = 0
) -> list[tuple[str, list[Reading]]]:
    """Push cycles along all six directions; (direction, readings)."""
    q = np.array(pose, dtype=np.float64)
    if q.shape != (robot.n,):
        raise ValueError(f"pose of {len(q)} numbers; expected {robot.n}, one per joint")
    axes = ("-z", "+z", "+x", "-x", "+y", "-y")
    return [(axis, push_cycle(robot, q, axis, arm=arm)) for axis in axes]


def reading_record(reading: Reading) -> dict[str, Any]:
    """A hysteresis reading as JSON."""
    return asdict(reading)
