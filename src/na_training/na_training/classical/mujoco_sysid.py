# SPDX-License-Identifier: Apache-2.0
"""Identification with the toolbox that MuJoCo ships (`mujoco.sysid`): a thin, checked front."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from na_training.classical.samples import FitError

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Unknown:
    """One number that the toolbox may move.

    Attributes:
        name: for the table.
        unit: its unit.
        low, high: bounds.
        guess: where the search starts.
        apply: writes a value into an MjSpec; None for the delay, which belongs to the data.
    """

    name: str
    unit: str
    low: float
    high: float
    guess: float
    apply: Callable[[Any, float], None] | None = None

    def __post_init__(self) -> None:
        if not self.low <= self.guess <= self.high or not self.low < self.high:
            raise FitError(
                f"unknown {self.name}: guess {self.guess:g} {self.unit}, expected a value from "
                f"{self.low:g} to {self.high:g}"
            )


@dataclass(frozen=True)
class Recorded:
    """Controls and joint positions of one run.

    Attributes:
        time: uniform (T,) [s], from 0.
        control: actuator inputs (T, m).
        position: measured (T, n) [rad or m], of the sensors in the model's order.
        start_velocity: at the first row (n,) [per s].
    """

    time: Array
    control: Array
    position: Array
    start_velocity: Array


DELAY = "delay"
"""Name of the unknown that shifts the measured positions [s]."""


def toolbox() -> Any:
    """`mujoco.sysid`; raises FitError when what it needs is not installed."""
    from mujoco import sysid

    if not hasattr(sysid, "optimize"):
        raise FitError(
            "mujoco.sysid lacks its own requirements (colorama, imageio, plotly, tabulate); "
            "requirements/train.txt has them"
        )
    return sysid


def identify(
    spec: Any, runs: Sequence[Recorded], unknowns: Sequence[Unknown]
) -> tuple[dict[str, float], dict[str, float]]:
    """Fit `unknowns` by least squares of open-loop positions.

    Args:
        spec: MjSpec whose sensors are the joint positions, in order.
        runs: recordings.
        unknowns: what may move; the one named `DELAY` shifts the measurement.

    Returns:
        values and their standard deviations, by name.

    Raises:
        FitError: no run, or the toolbox is incomplete.
    """
    if not runs:
        raise FitError("mujoco.sysid: no runs to fit")
    sysid = toolbox()
    parameters = sysid.ParameterDict()
    for unknown in unknowns:
        parameters.add(_parameter(sysid, unknown))
    model = spec.copy().compile()
    delays = [unknown for unknown in unknowns if unknown.name == DELAY]
    starts, controls, measured = [], [], []
    for run in runs:
        starts.append(
            sysid.create_initial_state(
                model, run.position[0], run.start_velocity, np.zeros(model.na)
            )
        )
        controls.append(sysid.TimeSeries(run.time, run.control))
        measured.append(sysid.TimeSeries.from_names(run.time, run.position, model))
    sequence = sysid.ModelSequences(
        "arm", spec, [f"run{i}" for i in range(len(runs))], starts, controls, measured
    )
    latest = delays[0].high if delays else 0.0
    residual = sysid.build_residual_fn(
        models_sequences=[sequence], modify_residual=_difference(sysid, latest)
    )
    with contextlib.redirect_stdout(io.StringIO()):  # it prints every iteration
        found, result = sysid.optimize(
            initial_params=parameters,
            residual_fn=residual,
            optimizer="scipy",
            x_scale="jac",
            max_iters=60,
        )
    values = {unknown.name: float(found[unknown.name].value[0]) for unknown in unknowns}
    return values, _deviations(result, unknowns)


def _parameter(sysid: Any, unknown: Unknown) -> Any:
    options: dict[str, Any] = {}
    if unknown.apply is not None:
        write = unknown.apply

        def modify(spec: Any, parameter: Any) -> None:
            write(spec, float(parameter.value[0]))

        options["modifier"] = modify
    out = sysid.Parameter(
        unknown.name, nominal=unknown.guess, min_value=unknown.low, max_value=unknown.high,
        **options,
    )  # fmt: skip
    out.value[:] = unknown.guess
    return out


def _difference(sysid: Any, latest: float) -> Callable[..., Any]:
    """Residual between the measurement and the prediction of `DELAY` seconds ago.

    MuJoCo's sensors are evaluated before the step, and the toolbox stamps them after it: one step
    is taken off again.
    """

    def modify(
        params: Any, predicted: Any, measured: Any, model: Any, return_pred_all: bool, **_: Any
    ) -> Any:
        shift = float(params[DELAY].value[0]) if DELAY in params else 0.0
        stamps = predicted.times - model.opt.timestep
        keep = (measured.times >= latest + stamps[0]) & (measured.times <= stamps[-1])
        times = measured.times[keep]
        columns = [
            np.interp(times - shift, stamps, predicted.data[:, j])
            for j in range(predicted.data.shape[1])
        ]
        ahead = sysid.TimeSeries(times, np.stack(columns, axis=1), predicted.signal_mapping)
        seen = sysid.TimeSeries(times, measured.data[keep], measured.signal_mapping)
        difference = seen.data - ahead.data
        return difference.ravel() / np.sqrt(difference.size), ahead, seen

    return modify


def _deviations(result: Any, unknowns: Sequence[Unknown]) -> dict[str, float]:
    jacobian = np.asarray(getattr(result, "jac", np.zeros((0, len(unknowns)))), dtype=float)
    names = [unknown.name for unknown in unknowns]
    if jacobian.ndim != 2 or jacobian.shape[1] != len(names) or len(jacobian) <= len(names):
        return dict.fromkeys(names, float("nan"))
    residual = np.asarray(result.fun, dtype=float).ravel()
    variance = float(residual @ residual) / (len(residual) - len(names))
    covariance = np.linalg.pinv(jacobian.T @ jacobian) * variance
    spread = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    return {name: float(value) for name, value in zip(names, spread, strict=True)}


def joint_setter(joint: str, field: str) -> Callable[[Any, float], None]:
    """Writes a joint's `damping`, `frictionloss`, `armature` or `stiffness`."""

    def apply(spec: Any, value: float) -> None:
        target = spec.joint(joint)
        current = getattr(target, field)
        if np.ndim(current):
            current[0] = value
        else:
            setattr(target, field, value)

    return apply


def body_mass_setter(body: str) -> Callable[[Any, float], None]:
    """Writes a body's mass [kg]."""

    def apply(spec: Any, value: float) -> None:
        spec.body(body).mass = value

    return apply


PENDULUM = """<mujoco><option timestep="0.002" integrator="implicitfast">
  <flag contact="disable"/></option>
  <worldbody><body name="rod"><joint name="joint1" type="hinge" axis="0 -1 0" armature="{armature}"
    damping="{damping}" frictionloss="{friction}"/>
    <inertial pos="0 0 -{length}" mass="{mass}" diaginertia="1e-6 1e-6 1e-6"/></body></worldbody>
  <actuator><motor name="motor" joint="joint1"/></actuator>
  <sensor><jointpos name="position" joint="joint1"/></sensor></mujoco>"""
"""A weight on a rod, driven by a torque."""


def pendulum(values: Mapping[str, float]) -> Any:
    """MjSpec of `PENDULUM` with armature, damping, friction, length and mass filled in."""
    return mujoco.MjSpec.from_string(PENDULUM.format(**values))


def simulate(spec: Any, time: Array, control: Array, delay: float = 0.0) -> Recorded:
    """Positions of a model under controls (T, m), seen `delay` seconds late."""
    model = spec.copy().compile()
    data = mujoco.MjData(model)
    steps = round(float(time[1] - time[0]) / model.opt.timestep)
    rows = []
    for row in control:
        rows.append(data.qpos.copy())
        data.ctrl[:] = row
        for _ in range(max(steps, 1)):
            mujoco.mj_step(model, data)
    position = np.array(rows)
    late = [np.interp(time - delay, time, column) for column in position.T]
    return Recorded(time, control, np.stack(late, axis=1), np.zeros(model.nv))
