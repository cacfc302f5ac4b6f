# SPDX-License-Identifier: Apache-2.0
"""Kinova Gen3: effort surrogate from position alone against joint-torque sensors it never saw."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from na_core.features import Ticks
from na_core.features.rigid import reduced_model
from na_training.classical.regressor import Regressor
from na_training.classical.rigid_body import Payload, fit_payload, fit_rigid_body
from na_training.classical.samples import Samples, differentiated
from na_training.real_data.finding import Finding, RecordingError, Study, lines, relative_rmse
from na_training.real_data.surrogate import SurrogateSettings, surrogate_of, train_surrogate
from na_training.simulator.interface import SimulatorParameters
from na_training.simulator.pinocchio_backend import PinocchioSimulator

Array = NDArray[np.float64]

ROW = 0.9866e-3  # s per row, from position and velocity
KEEP = 8  # every eighth row: 126.7 Hz
JOINTS = tuple(f"joint_{index}" for index in range(1, 8))
TRAIN_SHARE = 0.6
DAMPING = 2.0  # N·m·s/rad in the simulator, taken off again
SMOOTH = 0.15  # s
TRAPEZOIDS = (1, 2, 3, 4, 6, 7)


@dataclass(frozen=True)
class KinovaRun:
    """One recording, every `KEEP`-th row of it.

    Attributes:
        dt: seconds per row.
        q: positions (T, 7) [rad], unwrapped.
        commanded: positions (T, 7) [rad].
        sensor: joint torque (T, 7) [N·m], sign of a torque that the drive puts on the link.
        current: motor current (T, 7) [A].
        motor: the maker's torque from current (T, 7) [N·m].
        temperature: (T, 7) [°C].
    """

    dt: float
    q: Array
    commanded: Array
    sensor: Array
    current: Array
    motor: Array
    temperature: Array


def load_run(path: Path) -> KinovaRun:
    """Read one table; rows with a missing value are interpolated.

    Raises:
        RecordingError: it is absent or lacks a column.
    """
    if not path.is_file():
        raise RecordingError(f"{path}: absent")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        reader = csv.reader(file)
        header = next(reader)
        table = np.array([[float(cell or "nan") for cell in row] for row in reader])
    place = {name: index for index, name in enumerate(header)}

    def channel(name: str) -> Array:
        try:
            columns = table[:, [place[f"{name}{index}"] for index in range(1, 8)]]
        except KeyError as error:
            raise RecordingError(f"{path}: no column {error}") from None
        row = np.arange(len(columns))
        filled = [
            np.interp(row, row[np.isfinite(c)], c[np.isfinite(c)]) if np.isfinite(c).any() else c
            for c in columns.T
        ]
        return np.stack(filled, axis=1)

    # A mean over KEEP rows before thinning, so that noise is not folded down.
    def thin(values: Array) -> Array:
        length = len(values) // KEEP * KEEP
        return np.asarray(values[:length].reshape(-1, KEEP, 7).mean(axis=1))

    q = np.unwrap(channel("Position"), axis=0)
    goal = channel("PositionCmptd")
    goal = q + np.angle(np.exp(1j * (goal - q)))
    return KinovaRun(
        ROW * KEEP,
        thin(q),
        thin(goal),
        thin(channel("TorqueSm")),
        thin(channel("Cur")),
        thin(channel("TorqueCur")),
        thin(channel("Temp")),
    )


def arm_model(folder: Path) -> pin.Model:
    """The arm of the folder's URDF, gripperless, seven joints."""
    urdf = (folder / "gen3.urdf").read_text(encoding="utf-8")
    full = pin.buildModelFromXML(urdf)
    names = tuple(str(name) for name in list(full.names)[1:])
    model = reduced_model(urdf, names[:7]) if full.nq == 7 else _continuous(full)
    return model


def _continuous(full: pin.Model) -> pin.Model:
    """The same chain with unbounded joints (two coordinates each) as plain ones."""
    model = pin.Model()
    model.gravity = full.gravity
    parent = 0
    for index in range(1, 8):
        parent = model.addJoint(
            parent, pin.JointModelRZ(), full.jointPlacements[index], JOINTS[index - 1]
        )
        model.appendBodyToJoint(parent, full.inertias[index], pin.SE3.Identity())
    model.lowerPositionLimit = np.full(7, -np.pi)
    model.upperPositionLimit = np.full(7, np.pi)
    return model


class _GivenModelSimulator(PinocchioSimulator):
    """The pinocchio back end on a model that is in hand already."""

    def __init__(self, model: pin.Model, parameters: SimulatorParameters) -> None:
        import torch

        super(PinocchioSimulator, self).__init__(parameters, torch.float32, "cpu")
        self.model = model.copy()
        self.model.armature = parameters.armature + parameters.dt * parameters.damping
        self.data = self.model.createData()


def with_tool(model: pin.Model, tool: Payload) -> pin.Model:
    """The arm with a point mass for the tool at its last joint."""
    other = model.copy()
    mass = max(tool.mass, 1e-6)
    other.inertias[7] = other.inertias[7] + pin.Inertia(
        mass, tool.moment / mass, 1e-4 * mass * np.eye(3)
    )
    return other


def telemetry(run: KinovaRun) -> Ticks:
    """The recording as our telemetry, supply unknown (zero)."""
    velocity = np.diff(run.q, axis=0, prepend=run.q[:1]) / run.dt
    return Ticks.of(
        position=run.q,
        velocity=velocity,
        goal=run.commanded,
        current=run.current,
        voltage=np.zeros_like(run.q),
        temperature=run.temperature,
    )


def trapezoid_friction(folder: Path, model: pin.Model) -> tuple[Array, Array]:
    """Coulomb [N·m] and viscous [N·m·s/rad] friction (7,) of the motor side; NaN where no run.

    From the runs in which one joint goes back and forth: torque from current less gravity,
    regressed on sign and size of the speed, an offset and a factor on gravity for the tool.
    """
    coulomb, viscous = np.full(7, np.nan), np.full(7, np.nan)
    data = model.createData()
    for joint in TRAPEZOIDS:
        run = load_run(folder / f"joint_{joint}_trapez.csv.gz")
        samples = differentiated(run.q, run.motor, run.dt, SMOOTH)
        j = joint - 1
        gravity = np.array([pin.computeGeneralizedGravity(model, data, q)[j] for q in samples.q])
        moving = np.abs(samples.qd[:, j]) > 0.05
        columns = [np.sign(samples.qd[:, j]), samples.qd[:, j], np.ones(len(samples)), gravity]
        matrix = np.stack(columns, axis=1)[moving]
        solution = np.linalg.lstsq(matrix, samples.effort[moving, j], rcond=None)[0]
        coulomb[j], viscous[j] = solution[:2]
    return coulomb, viscous


def study(folder: Path, seconds: float = 60.0, seed: int = 0) -> Study:
    """Train on the first part of the exciting trajectory, score on the rest.

    Raises:
        RecordingError: a recording is absent.
    """
    run = load_run(folder / "opti_traj_testing1.csv.gz")
    model = arm_model(folder)
    everything = differentiated(run.q, run.sensor, run.dt, SMOOTH)
    cut = int(TRAIN_SHARE * len(everything))
    training, test = everything[:cut], everything[cut:]
    half = (len(run.q) - len(everything)) // 2
    regressor = Regressor(model, np.full(7, 0.02), ("coulomb", "viscous", "offset"))
    tool, _ = fit_payload(regressor, training)
    identified = fit_rigid_body(regressor, training)
    names = (("URDF", model), ("URDF with tool", with_tool(model, tool)))
    others = [load_run(folder / f"joint_{joint}_trapez.csv.gz") for joint in TRAPEZOIDS]
    surrogates = {
        name: _surrogate(run, others, body, cut + half, seconds, seed) for name, body in names
    }
    findings: list[Finding] = []
    rows_of = {
        "exciting run, positions used in training": (half, training),
        "exciting run, last 40 %, not in training": (cut + half, test),
    }
    for data, (first, part) in rows_of.items():
        rows_here = slice(first, first + len(part))
        deviation = part.effort.std(axis=0)
        estimates = {
            f"ours (surrogate from pose, {k})": v[rows_here] for k, v in surrogates.items()
        }
        estimates.update({f"inverse dynamics, {k}": _rnea(body, part) for k, body in names})
        if part is test:
            estimates["identification on the sensor"] = identified.predict(part)
        motor = differentiated(run.q, run.motor, run.dt, SMOOTH).effort
        estimates["maker's torque from current"] = motor[first - half : first - half + len(part)]
        mean = np.broadcast_to(training.effort.mean(axis=0), part.effort.shape)
        findings += lines(
            f"Kinova Gen3, {data}",
            "joint torque, RMSE / deviation, mean of 7",
            "1",
            [(k, relative_rmse(v, part.effort, deviation)) for k, v in estimates.items()],
            ("training mean", relative_rmse(mean, part.effort, deviation)),
            ours=[name for name in estimates if name.startswith("ours")],
        )
    coulomb, viscous = trapezoid_friction(folder, model)
    com = ", ".join(f"{value:.3f}" for value in tool.com)
    return Study(
        "Kinova Gen3",
        tuple(findings),
        "With the right body, the effort that a simulator needs to follow recorded positions is "
        "the effort that joint-torque sensors measured, sensors that took no part in the training.",
        "4.7 s of judged motion, on a high-quality arm. On motion outside the training the network "
        "falls far behind inverse dynamics: three seconds do not cover seven joints. Positions "
        "cannot reveal the unknown tool: that row needs the tool, which is fitted on the sensor of "
        "the training part. The sensor sits behind the drive, so motor friction is not judged.",
        (
            f"tool on the last joint, fitted: {tool.mass:.2f} ± {tool.deviation:.2f} kg, centre at "
            f"({com}) m",
            "motor-side Coulomb friction per joint [N·m]: " + _listed(coulomb),
            "motor-side viscous friction per joint [N·m·s/rad]: " + _listed(viscous),
        ),
    )


def _listed(values: Array) -> str:
    return ", ".join("–" if not np.isfinite(value) else f"{value:.2f}" for value in values)


def _rnea(model: pin.Model, samples: Samples) -> Array:
    data = model.createData()
    rows = zip(samples.q, samples.qd, samples.qdd, strict=True)
    return np.array([pin.rnea(model, data, *row) for row in rows])


def _surrogate(
    run: KinovaRun,
    others: Sequence[KinovaRun],
    model: pin.Model,
    cut: int,
    seconds: float,
    seed: int,
) -> Array:
    """Train on the first rows and on other runs; efforts (T, 7) [N·m] on the whole of `run`."""
    damping = np.full(7, DAMPING)
    simulator = _GivenModelSimulator(
        model, SimulatorParameters(run.dt, damping, np.full(7, 1e-6), np.full(7, 80.0))
    )
    ticks = telemetry(run)
    gravity = np.abs(_gravity(model, run.q)).max(axis=0)
    settings = SurrogateSettings(
        seconds, np.full(7, np.deg2rad(1.0)), np.maximum(gravity, 2.0), 8, seed=seed, longest=32
    )
    recordings = [ticks[:cut], *[telemetry(other) for other in others]]
    network = train_surrogate(recordings, simulator, settings)
    effort = surrogate_of(network, simulator, ticks)
    return np.asarray(effort - damping * np.gradient(run.q, run.dt, axis=0))


def _gravity(model: pin.Model, q: Array) -> Array:
    data = model.createData()
    return np.array([pin.computeGeneralizedGravity(model, data, row) for row in q])
